"""The page's state and native components: one small object in the page (`static/js/store.js`) that figures, controls and
the address follow.

A *move* is a control that sets a key of the state: a script in the page, no request. An *event* is a question to Python that
depends on the state. Both are wired here and in `events.py`, nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from app.components.words import choice_names

MODULE = "import(new URL('ours/js/components.js', document.baseURI))"


class Controls(gr.HTML):
    """Ties native controls to keys of the page's state, both ways and without a request.

        controls = Controls(layer=layer, head=head)     # after the controls have been made
        ask(…, outputs=[controls, plot])                # an event may set keys and offer other choices: see `told`

    A control that a person uses sets its key (`.input`); when the key changes otherwise (a click in a picture, an arrow key,
    the address), the control follows. Names of choices made by `words.chips` follow the language.
    """

    def __init__(self, **controls: Any):
        names = {key: choice_names(control) for key, control in controls.items()}
        super().__init__(
            value=None,
            html_template="<i hidden></i>",
            js_on_load=f"{MODULE}.then(({{ controls }}) => controls(element, props, trigger, watch))",
            apply_default_css=False,
            elem_classes=["page-state"],
            keys=list(controls),
            names=names,
            identifier=self.next_identifier(),
        )
        for key, control in controls.items():
            names = f"{json.dumps(key)}, {json.dumps(self.props['identifier'])}"
            control.input(
                None, [control], None, js=f"(value) => innerview.move(value, {names})", api_visibility="private"
            )
        if controls:
            follow = f"() => innerview.follow({json.dumps(self.props['identifier'])})"
            self.change(None, None, list(controls.values()), js=follow, api_visibility="private")

    _made = 0

    @classmethod
    def next_identifier(cls) -> str:
        Controls._made += 1
        return f"controls-{Controls._made}"

    def get_block_name(self) -> str:
        return "html"


def told(
    state: Mapping[str, Any] | None = None,
    choices: Mapping[str, list[tuple[Any, Any]]] | None = None,
    visible: Mapping[str, bool] | None = None,
) -> dict[str, Any]:
    """A value for `Controls` from an event: keys to set in the page's state, choices on offer (pairs of a name, which may
    be a dictionary by language, and a value), and which controls are shown.
    """
    return {"state": state or {}, "choices": choices or {}, "visible": visible or {}}


class Question(gr.HTML):
    """Some keys of the page's state as the input of an event: `question.change(answer, [question], …)` is called when one of
    them has changed, while its tab is open; when it is opened, if they have changed since. The value is a dictionary.
    """

    def __init__(self, keys: Sequence[str]):
        super().__init__(
            value={},
            html_template="<i hidden></i>",
            js_on_load=f"{MODULE}.then(({{ question }}) => question(element, props))",
            apply_default_css=False,
            elem_classes=["page-state"],
            keys=list(keys),
        )

    def get_block_name(self) -> str:
        return "html"
