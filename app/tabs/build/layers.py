"""The table of one layer of each kind, below the model."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app.i18n import TRANSLATIONS, translate
from app.service.build.layer_table import layer_caption, layer_table
from app.service.runs.model_slots import MODEL_SLOTS
from core.analysis.layer_costs import LayerCost, compare_layers
from core.translatable import Text

LANGUAGE = "async () => [(await import(new URL('ours/js/words.js', document.baseURI))).language, null]"
CSV = """async ({ headers, data }) => {
    const { save } = await import(new URL("ours/js/live/exports.js", document.baseURI));
    const quoted = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const lines = [headers, ...data].map((cells) => cells.map(quoted).join(","));
    save("innerview-layers.csv", new Blob([lines.join("\\n") + "\\n"], { type: "text/csv" }));
}"""


def layers_section(tab: gr.Tab) -> None:
    """The table and its buttons; `tab` is the one around them."""
    with gr.Column(elem_id="layers", elem_classes="view"):
        measured = gr.State([])  # of LayerCost, in this session
        language = gr.Textbox("en", visible=False)
        with gr.Row(elem_classes="figure-head"):
            title = gr.Markdown("### One layer of each kind", elem_id="layers-title")
            button = gr.Button("Measure here", elem_id="measure-layers", min_width=0, scale=0)
        table = gr.Dataframe(
            layer_table([], "en"), interactive=False, show_label=False, buttons=[], wrap=False, elem_id="layers-table"
        )
        caption = gr.Markdown(layer_caption([], "en"), elem_id="layers-caption")
        keep = gr.Button("CSV", elem_id="layers-csv", min_width=0, scale=0)
    shown = [title, button, table, caption]
    tab.select(
        show_layers, [language, measured], shown, js=LANGUAGE, show_progress="hidden", api_visibility="private"
    )
    button.click(
        measure_layers, [language, measured], [*shown, measured], js=LANGUAGE, show_progress="minimal",
        show_progress_on=[table], concurrency_limit=2, api_visibility="private",
    )  # fmt: skip
    keep.click(None, [table], None, js=CSV, api_visibility="private")


def show_layers(language: str, measured: list[LayerCost]) -> list[Any]:
    language = language if language in TRANSLATIONS else "en"
    title = translate(Text("One layer of each kind"), language)
    return [
        f"### {title}",
        translate(Text("Measure here"), language),
        layer_table(measured, language),
        layer_caption(measured, language),
    ]


def measure_layers(language: str, measured: list[LayerCost]) -> list[Any]:
    """Measured anew; what was measured before is replaced."""
    with MODEL_SLOTS:
        measured = compare_layers()
    return [*show_layers(language, measured), measured]
