"""The page as Gradio blocks: run and input in the sidebar, a tab per kind of view, the timeline of training below."""

from __future__ import annotations

import gradio as gr

from app.api import add_api
from app.components.script_view import ScriptView
from app.tabs.build import build_tab

TABS = ("build", "train", "attention", "gates", "positions", "generate")


def build_page(i18n: gr.I18n) -> gr.Blocks:
    with gr.Blocks(title="InnerView", fill_width=True) as page:
        ScriptView("header")
        ScriptView("sidebar")
        with gr.Tabs(elem_id="tabs", selected="attention"):
            for name in TABS:
                with gr.Tab(i18n(f"tab_{name}"), id=name, elem_id=f"tab-{name}") as tab:
                    build_tab(tab) if name == "build" else ScriptView(name)
        ScriptView("timeline")
        add_api()
    return page
