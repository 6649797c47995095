"""Tokens in a row as a Gradio component: buttons that choose a position, or only to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from app.components.page_state import on_load
from app.figures.expressions import to_json
from app.i18n import TRANSLATIONS, translate_message

MODULE = "import(new URL('ours/js/token_buttons.js', document.baseURI))"


class TokenButtons(gr.HTML):
    """Tokens, each of them right, wrong or not judged. Its value is made by `token_values`; None shows nothing."""

    def __init__(self, value: dict[str, Any] | None = None, *, classes: str = "", **options: Any):
        super().__init__(
            value=value,
            html_template='<div class="view"></div>',
            js_on_load=on_load("tokenButtons", MODULE, classes=classes),
            apply_default_css=False,
            **options,
        )

    def get_block_name(self) -> str:
        return "html"


def token_values(
    tokens: Sequence[str],
    label: Any,
    *,
    marks: Sequence[str] = (),
    lead: Any = "",
    key: str = "",
    also: Mapping[str, Any] | None = None,
    tip: Any = "",
    shown: str = "",
    parents: Sequence[int] | None = None,
) -> dict[str, Any]:
    """A value for `TokenButtons`.

    label    what a screen reader calls the row; lead: words in front of it
    marks    "right", "wrong" or "" of each token
    key      of the page's state, which becomes the position of the chosen token; then the state also becomes `also`, and a
             token is pressed where it has all of these values; tip: of each, an expression with State("at")
    shown    key of the state: how many tokens there are to be seen
    parents  of each token the one before it, −1 for none: only the path to the one that `key` names is shown
    """
    words = {"label": label, "lead": lead, "tip": tip}
    return {
        "tokens": list(tokens),
        "marks": list(marks),
        **to_json(words, translate_message, list(TRANSLATIONS)),
        "key": key,
        "also": dict(also or {}),
        "shown": shown,
        "parents": None if parents is None else list(parents),
    }
