"""The page: what is being looked at on the left, the ways to look as tabs, the run's learning at the foot."""

from __future__ import annotations

import gradio as gr

from app.components.view import View

TABS = ("build", "train", "attention", "gates", "positions", "generate")


def build_page(i18n: gr.I18n) -> gr.Blocks:
    with gr.Blocks(title="InnerView", fill_width=True) as page:
        View("header")
        View("sidebar")
        with gr.Tabs(elem_id="tabs", selected="attention"):
            for name in TABS:
                with gr.Tab(i18n(f"tab_{name}"), id=name, elem_id=f"tab-{name}"):
                    View(name)
        View("timeline")
    return page
