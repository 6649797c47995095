"""Live figures (`app.figures`) and live sentences as Gradio components: they follow the page's state without a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from app import payload
from app.components.page_state import MODULE
from app.figures.expressions import arrays_of, to_json
from app.figures.live import Live
from app.i18n import TRANSLATIONS, in_all_languages, translate_message
from app.service.array_store import array_store
from app.service.figure_payload import figure_parts
from core.translatable import Text

Value = dict[str, Any] | None


class LivePlot(gr.HTML):
    """A live figure: title, plot, caption, and buttons that keep it as a file. Its value is made by `plot_values`; None
    shows nothing. `keep` lists the files on offer; `when`: keys of the state and the values with which it is shown.
    """

    def __init__(
        self,
        value: Value = None,
        *,
        keep: Sequence[str] = ("png", "svg", "csv", "html"),
        classes: str = "",
        when: Mapping[str, Sequence[Any]] | None = None,
        **options: Any,
    ):
        super().__init__(
            value=value,
            html_template='<div class="view"></div>',
            js_on_load=f"{MODULE}.then(({{ livePlot }}) => livePlot(element, props, watch))",
            apply_default_css=False,
            keep=list(keep),
            classes=classes,
            when=dict(when or {}),
            **options,
        )

    def get_block_name(self) -> str:
        return "html"


class LiveText(gr.HTML):
    """A sentence with **bold** parts that follows state and language. Its value is made by `text_value`; None hides it.

    tag, classes: of the element it is written into; role: of a screen reader ("status", "alert").
    """

    def __init__(
        self,
        value: Value = None,
        *,
        tag: str = "p",
        classes: str = "",
        role: str = "",
        when: Mapping[str, Sequence[Any]] | None = None,
        **options: Any,
    ):
        super().__init__(
            value=value,
            html_template='<div class="view"></div>',
            js_on_load=f"{MODULE}.then(({{ liveText }}) => liveText(element, props, watch))",
            apply_default_css=False,
            tag=tag,
            classes=classes,
            role=role,
            when=dict(when or {}),
            **options,
        )

    def get_block_name(self) -> str:
        return "html"


def plot_values(figures: Mapping[str, Live], about: Any = "") -> dict[str, Value]:
    """By name, values for `LivePlot`s; the arrays of all travel together. about: an expression, what the pictures are of, for
    their files.
    """
    specs, arrays = figure_parts(figures)
    units = {name: array.unit for name, array in arrays.items() if array.unit != 1}
    packed = payload.pack({}, {name: array.values for name, array in arrays.items()}, units)
    address = array_store.address(packed) if arrays else None
    pictured = _json(about)
    return {name: {"spec": spec, "arrays": address, "about": pictured} for name, spec in specs.items()}


def text_value(sentence: Any) -> Value:
    """A value for a `LiveText`: a `Text`, an expression (`app.figures.expressions`) of state and arrays, a list of
    expressions, each of which is shown as a pill, or None.
    """
    if sentence is None:
        return None
    if isinstance(sentence, Text):
        return {"text": {"$": "choose", "by": {"$": "state", "key": "language"}, "among": in_all_languages(sentence)}}
    arrays = arrays_of(sentence)
    units = {name: array.unit for name, array in arrays.items() if array.unit != 1}
    packed = payload.pack({}, {name: array.values for name, array in arrays.items()}, units) if arrays else None
    return {"text": _json(sentence), "arrays": packed and array_store.address(packed)}


def _json(expression: Any) -> Any:
    return to_json(expression, translate_message, list(TRANSLATIONS))
