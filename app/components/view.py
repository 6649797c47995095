"""A part of the page drawn by a script of ours in `static/js`, as a Gradio component."""

from __future__ import annotations

import gradio as gr

MOUNT = "import(new URL('ours/js/main.js', document.baseURI)).then(({{ mount }}) => mount(element.querySelector('[data-view]'), '{name}'))"


class View(gr.HTML):
    """An empty place that `main.js` fills once it is on the page; a hidden tab's comes up when it is first opened."""

    def __init__(self, name: str):
        super().__init__(
            value="",
            html_template=f'<div class="view view-{name}" data-view="{name}"></div>',
            js_on_load=MOUNT.format(name=name),
            elem_id=name,
            apply_default_css=False,
        )

    def get_block_name(self) -> str:
        return "html"
