"""The page as Gradio blocks: run and input in the sidebar, a tab per kind of view, the timeline of training below."""

from __future__ import annotations

import gradio as gr

from app.api import add_api
from app.components.script_view import ScriptView
from app.components.words import word
from app.tabs.attention import attention_tab
from app.tabs.build import build_tab
from app.tabs.generate import generate_tab
from app.tabs.positions import positions_tab

TABS = {
    "build": word("Build"),
    "train": word("Train"),
    "attention": word("Attention"),
    "gates": word("Gates"),
    "positions": word("Positions"),
    "generate": word("Generate"),
}


def build_page() -> gr.Blocks:
    with gr.Blocks(title="InnerView", fill_width=True) as page:
        ScriptView("header")
        ScriptView("sidebar")
        with gr.Tabs(elem_id="tabs", selected="attention"):
            for name, title in TABS.items():
                with gr.Tab(title, id=name, elem_id=f"tab-{name}") as tab:
                    match name:
                        case "build":
                            build_tab(tab)
                        case "attention":
                            with gr.Column(elem_id="attention", elem_classes="view-attention"):
                                attention_tab()
                        case "positions":
                            positions_tab()
                        case "generate":
                            generate_tab()
                        case _:
                            ScriptView(name)
        ScriptView("timeline")
        add_api()
    return page
