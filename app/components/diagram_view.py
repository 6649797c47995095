"""The diagram of a model as a Gradio component: the page folds, unfolds and selects its parts without an event."""

from __future__ import annotations

from typing import Any

import gradio as gr

MODULE = "import(new URL('ours/js/build_diagram.js', document.baseURI))"


class DiagramView(gr.HTML):
    """An SVG of `app.figures.diagram`. Its value: a `title`, the `question` that draws it (a body of `/api/build/diagram`),
    the answer (`drawn`) with only the first level unfolded, and ids of parts that are marked (`differs`); None: nothing.

    side: which of two configurations; first: whether it says so while nothing has been drawn yet
    """

    def __init__(self, side: str, *, first: bool = False, value: dict[str, Any] | None = None, **options: Any):
        super().__init__(
            value=value,
            html_template='<div class="view"></div>',
            js_on_load=f"{MODULE}.then(({{ diagramView }}) => diagramView(element, props, watch))",
            apply_default_css=False,
            side=side,
            first=first,
            **options,
        )

    def get_block_name(self) -> str:
        return "html"
