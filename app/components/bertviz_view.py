"""BertViz's views as a Gradio component: a sandboxed frame that gets tensors as messages."""

from __future__ import annotations

from typing import Any

import gradio as gr


class BertVizView(gr.HTML):
    """Drawn by `static/js/bertviz.js`; its value says where the weights are and what is known of each kind of attention."""

    def __init__(self, value: dict[str, Any] | None = None):
        super().__init__(
            value=value,
            html_template='<div class="view"></div>',
            js_on_load="import(new URL('ours/js/bertviz.js', document.baseURI)).then(({ bertViz }) => bertViz(element, props, watch))",
            apply_default_css=False,
        )

    def get_block_name(self) -> str:
        return "html"
