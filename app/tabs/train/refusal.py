"""Why a recipe cannot be trained, beside the control of the option that it is about."""

from __future__ import annotations

import gradio as gr

from app.components.page_state import on_load
from app.tabs.train.options import SCRIPT


class Refusal(gr.HTML):
    """Its value is {"option", "text"} (a text by language), or None; key: whose controls (`OptionControls`)."""

    def __init__(self, key: str):
        super().__init__(
            value=None,
            html_template="<i hidden></i>",
            js_on_load=on_load("refusal", SCRIPT, stateKey=key),
            apply_default_css=False,
            elem_classes=["page-state"],
        )

    def get_block_name(self) -> str:
        return "html"
