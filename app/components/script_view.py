"""Gradio component whose content is drawn by a script in `static/js`."""

from __future__ import annotations

import gradio as gr

MOUNT = "import(new URL('ours/js/main.js', document.baseURI)).then(({{ mount }}) => mount(element.querySelector('[data-view]'), '{name}'))"


class ScriptView(gr.HTML):
    """An empty `<div data-view=name>` that `main.js` fills when it is mounted; in a hidden tab, when first opened."""

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
