"""The page as Gradio blocks: run and input in the sidebar, a tab per kind of view, the timeline of training below."""

from __future__ import annotations

import gradio as gr

from app.components.script_view import ScriptView
from app.components.words import word
from app.tabs.attention import attention_tab
from app.tabs.build import build_tab
from app.tabs.generate import generate_tab
from app.tabs.train import train_tab

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
                    if name == "build":
                        build_tab(tab)
                    elif name == "train":
                        train_tab()
                    elif name == "attention":
                        with gr.Column(elem_id="attention", elem_classes="view-attention"):
                            attention_tab()
                    elif name == "generate":
                        generate_tab()
                    else:
                        ScriptView(name)
        ScriptView("timeline")
    return page
