"""Start the app: `python -m app.main --port 7860`."""

from __future__ import annotations

import argparse
import os
import threading
import webbrowser
from pathlib import Path

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before gradio is imported: it works without a network

import gradio as gr
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


def build(ready: shipped.Shipped, i18n: gr.I18n) -> gr.Blocks:
    config = ready.model.config
    heads = [f"{layer}.{head}" for layer in range(config.n_layers) for head in range(config.n_heads)]

    def draw(text: str, head: str, request: gr.Request) -> tuple:
        """Both pictures and the caption; an unreadable input leaves them as they are and says why."""
        language = language_of(request)
        try:
            seen = look(ready, text)
            if len(seen.tokens) < 2:
                raise InputError(say("en", "too_short"), say("zh", "too_short"))
        except InputError as error:
            return gr.skip(), gr.skip(), gr.skip(), gr.update(value=error.text(language), visible=True)
        layer, column = map(int, head.split("."))
        role, share = seen.role(layer, column)
        return (
            attention.all_heads(seen.weights, (layer, column)),
            attention.one_head(seen.weights[layer, column], seen.tokens, WORDS[language]),
            say(language, f"role_{role}", head=head, share=share),
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
                text = gr.Textbox(FIRST_INPUT, label=i18n("input"), elem_id="input", max_length=200)
                problem = gr.Textbox(visible=False, interactive=False, show_label=False, elem_id="problem")
                grid = gr.Plot(label=i18n("all_heads"), elem_id="all-heads")
            with gr.Column(scale=6):
                chosen = gr.Radio(heads, value=FIRST_HEAD, label=i18n("head"), elem_id="head")
                large = gr.Plot(show_label=False, elem_id="one-head")
                caption = gr.Textbox(show_label=False, interactive=False, elem_id="caption", lines=1, max_lines=3)
        pictures = {
            "fn": draw,
            "inputs": [text, chosen],
            "outputs": [grid, large, caption, problem],
            "show_progress": "hidden",
            "trigger_mode": "always_last",
            "concurrency_limit": None,
        }
        text.change(**pictures)
        chosen.change(**pictures)
        page.load(**{key: value for key, value in pictures.items() if key != "trigger_mode"})
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
