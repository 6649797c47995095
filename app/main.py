"""Start the app: `python -m app.main --port 7860`."""

from __future__ import annotations

import argparse
import os
import threading
import webbrowser
from pathlib import Path

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before gradio is imported: it works without a network

import gradio as gr
import plotly.graph_objects as go
import uvicorn
from fastapi import FastAPI

from app import shipped
from app.figures import attention
from app.i18n import WORDS, language_of, say, translations
from app.looking import look
from core import InputError
from core.allocator import keep_freed_memory
from core.measures import count_parameters

STATIC = Path(__file__).resolve().parents[1] / "static"
FIRST_INPUT = "q k d f m x a r q k d f m x a r"
FIRST_HEAD = "1.0"


def place_of(head: str) -> tuple[int, int]:
    """ "1.0" → layer 1, head 0"""
    layer, column = head.split(".")
    return int(layer), int(column)


def build(ready: shipped.Shipped, i18n: gr.I18n) -> gr.Blocks:
    config = ready.model.config
    heads = [f"{layer}.{head}" for layer in range(config.n_layers) for head in range(config.n_heads)]

    def draw_all(text: str, head: str) -> go.Figure | dict:
        """All heads small; an input that cannot be read leaves them as they are."""
        try:
            return attention.all_heads(look(ready, text).weights, place_of(head))
        except InputError:
            return gr.skip()

    def draw_one(text: str, head: str, request: gr.Request) -> tuple:
        """One head large and what it does; an input that cannot be read leaves them, and the reason is said."""
        language = language_of(request)
        try:
            seen = look(ready, text)
        except InputError as error:
            why = f"{error.text(language)} {say(language, 'still')}"
            return gr.skip(), gr.skip(), gr.update(value=why, visible=True)
        layer, column = place_of(head)
        role, share = seen.role(layer, column)
        counts = {"repeats": seen.repeats, "length": len(seen.tokens)}
        return (
            attention.one_head(seen.weights[layer, column], seen.tokens, WORDS[language]),
            say(language, f"role_{role}", head=head, share=share, **counts),
            gr.update(value="", visible=False),
        )

    def introduce(request: gr.Request) -> str:
        return say(
            language_of(request),
            "about",
            layers=config.n_layers,
            heads=config.n_heads,
            parameters=sum(count_parameters(ready.model).values()),
            accuracy=ready.accuracy,
        )

    with gr.Blocks(title="InnerView", fill_width=True) as page:
        gr.Markdown("# Inner<span>View</span>", elem_id="title")
        gr.Markdown(i18n("lead"), elem_id="lead")
        with gr.Row():
            with gr.Column(scale=5):
                about = gr.Markdown(elem_id="about")
                text = gr.Textbox(FIRST_INPUT, label=i18n("input"), elem_id="input")
                problem = gr.Textbox(
                    visible=False, interactive=False, show_label=False, elem_id="problem", max_lines=4
                )
                grid = gr.Plot(label=i18n("all_heads"), elem_id="all-heads")
            with gr.Column(scale=6):
                chosen = gr.Radio(heads, value=FIRST_HEAD, label=i18n("head"), elem_id="head")
                caption = gr.Markdown(elem_id="caption")
                large = gr.Plot(show_label=False, elem_id="one-head")
        changes = {"triggers": [text.change, chosen.change, page.load], "show_progress": "hidden"}
        latest = {"trigger_mode": "always_last", "concurrency_limit": None}
        gr.on(fn=draw_one, inputs=[text, chosen], outputs=[large, caption, problem], **changes, **latest)
        gr.on(fn=draw_all, inputs=[text, chosen], outputs=grid, **changes, **latest)
        page.load(introduce, outputs=about, show_progress="hidden")
    return page


def make_app() -> FastAPI:
    i18n = translations()
    theme = gr.themes.Base(
        primary_hue="teal", neutral_hue="slate", font=["system-ui", "sans-serif"], font_mono=["monospace"]
    )
    return gr.mount_gradio_app(
        FastAPI(),
        build(shipped.load(), i18n),
        path="/",
        i18n=i18n,
        theme=theme,
        css_paths=[STATIC / "style.css"],
        favicon_path=str(STATIC / "icons/favicon.svg"),
        footer_links=[],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="InnerView: see inside sequence models.")
    parser.add_argument("--port", type=int, default=7860)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    options = parser.parse_args()
    keep_freed_memory()
    address = f"http://{options.host}:{options.port}"
    if not options.no_open:
        threading.Timer(1.5, webbrowser.open, [address]).start()
    print(f"InnerView runs at {address}", flush=True)
    uvicorn.run(make_app(), host=options.host, port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
