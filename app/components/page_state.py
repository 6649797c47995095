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


def on_load(function: str, module: str = MODULE, /, **constants: Any) -> str:
    """The page's half of a component whose value alone changes. Constants are written into the script: as props of `gr.HTML`
    they are gone after an update without a value (Gradio replaces all props), as `gr.skip()` and every refusal are.
    """
    written = "".join(f", {name}: {json.dumps(value)}" for name, value in constants.items())
    props = f"{{ get value() {{ return props.value; }}{written} }}"  # a quoted name would be an event's, to Gradio
    return f"{module}.then(({{ {function} }}) => {function}(element, {props}, watch))"


class Controls(gr.HTML):
    """Ties native controls to keys of the page's state, both ways and without a request.

        controls = Controls(layer=layer, head=head)     # after the controls have been made
        ask(…, outputs=[controls, plot])                # an event may set keys and offer other choices: see `told`

    A control that a person uses sets its key (`.input`); when the key changes otherwise (a click in a picture, an arrow key,
    the address), the control follows. A key that the state does not have begins with its control's value. Names of choices
    made by `words.chips` follow the language. value: what it is told from the start.
    """

    def __init__(self, value: dict[str, Any] | None = None, *, render: bool = True, **controls: Any):
        names = {key: choice_names(control) for key, control in controls.items()}
        super().__init__(
            value=value,
            html_template="<i hidden></i>",
            js_on_load=f"{MODULE}.then(({{ controls }}) => controls(element, props, trigger, watch))",
            apply_default_css=False,
            elem_classes=["page-state"],
            keys=list(controls),
            names=names,
            first={key: control.value for key, control in controls.items()},
            identifier=self.next_identifier(),
            render=render,
        )
        if not render:
            return
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
    of: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A value for `Controls` from an event: keys to set in the page's state, choices on offer (pairs of a name, which may
    be a dictionary by language, and a value), and which controls are shown. of: of a value given from the start, the state
    for which it holds.
    """
    return {"state": state or {}, "choices": choices or {}, "visible": visible or {}, "of": of or {}}


class Question(gr.HTML):
    """Some keys of the page's state as the input of an event: `question.change(answer, [question], …)` is called when one of
    them has changed, while its tab is open; when it is opened, if they have changed since. The value is a dictionary.

    when: keys of the state and the values with which it is asked; also: keys that are told besides, whose changes ask
    nothing; rest: ms without a change before it is asked; value: what has been answered already.
    """

    def __init__(
        self,
        keys: Sequence[str],
        *,
        when: Mapping[str, Sequence[Any]] | None = None,
        also: Sequence[str] = (),
        rest: int = 0,
        value: Mapping[str, Any] | None = None,
    ):
        super().__init__(
            value=dict(value or {}),
            html_template="<i hidden></i>",
            js_on_load=f"{MODULE}.then(({{ question }}) => question(element, props))",
            apply_default_css=False,
            elem_classes=["page-state"],
            keys=list(keys),
            when=dict(when or {}),
            also=list(also),
            rest=rest,
        )

    def get_block_name(self) -> str:
        return "html"


class Derived(gr.HTML):
    """Keys of the state that are computed from others when these change, without a request. Its value is made by
    `derived_value`; what is set together with the others stays as it was set.
    """

    def __init__(self, keys: Sequence[str], value: dict[str, Any] | None = None):
        super().__init__(
            value=value,
            html_template="<i hidden></i>",
            js_on_load=f"{MODULE}.then(({{ derived }}) => derived(element, props))",
            apply_default_css=False,
            elem_classes=["page-state"],
            keys=list(keys),
        )

    def get_block_name(self) -> str:
        return "html"


def show_by(key: str, blocks: Mapping[Any, gr.blocks.Block]) -> None:
    """Shows the one of these blocks that a key of the state names, without a request; the others are hidden."""
    chosen = Question([key])
    for block in blocks.values():
        block.elem_classes.append("shown-by")
    shown = "({ __type__: 'update', visible: Object.values(state)[0] === value || 'hidden' })"
    js = f"(state) => {json.dumps(list(blocks))}.map((value) => {shown})"
    chosen.change(None, [chosen], list(blocks.values()), js=js, api_visibility="private")


CHOOSE_RUN = (
    "(name) => import(new URL('ours/js/session.js', document.baseURI)).then((session) => session.chooseRun(name))"
)
