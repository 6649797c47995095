"""Live figures (`app.figures`) and live sentences as Gradio components: they follow the page's state without a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from app import payload
from app.components.page_state import on_load
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

    While the state differs from what the value is `of` (`plot_values`), the figure has the class `waiting`; `stale` if it is
    of another run or input.
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
            js_on_load=on_load("livePlot", keep=list(keep), classes=classes, when=dict(when or {})),
            apply_default_css=False,
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
            js_on_load=on_load("liveText", tag=tag, classes=classes, role=role, when=dict(when or {})),
            apply_default_css=False,
            **options,
        )

    def get_block_name(self) -> str:
        return "html"


@dataclass(frozen=True)
class PackedPlots:
    """Descriptions and packed arrays of figures: what can be kept for the next time they are asked for."""

    specs: dict[str, Any]
    data: bytes
    about: Any

    @property
    def nbytes(self) -> int:
        return len(self.data)

    def values(self, of: Mapping[str, Any] | None = None, only: Mapping[str, Any] | None = None) -> dict[str, Value]:
        """As `plot_values`."""
        address = array_store.address(self.data) if self.data else None
        more = {"of": dict(of or {}), **({"only": dict(only)} if only else {})}
        return {
            name: {"spec": spec, "arrays": address, "about": self.about, **more} for name, spec in self.specs.items()
        }


def pack_plots(figures: Mapping[str, Live], about: Any = "", derived: Any = None) -> PackedPlots:
    """Figures with all their arrays, and those of expressions for `derived_value`."""
    specs, arrays = figure_parts(figures)
    arrays |= arrays_of(derived)
    units = {name: array.unit for name, array in arrays.items() if array.unit != 1}
    packed = payload.pack({}, {name: array.values for name, array in arrays.items()}, units) if arrays else b""
    return PackedPlots(specs, packed, _json(about))


def plot_values(
    figures: Mapping[str, Live],
    about: Any = "",
    of: Mapping[str, Any] | None = None,
    only: Mapping[str, Any] | None = None,
) -> dict[str, Value]:
    """By name, values for `LivePlot`s; the arrays of all travel together. about: an expression, what the pictures are of, for
    their files. of: keys of the state, as they were when the question was asked. only: the value is shown while these keys
    are so; at other times the one before it.
    """
    return pack_plots(figures, about).values(of, only)


def by_state(key: str, among: Mapping[Any, Value]) -> Value:
    """A value for a `LivePlot`: the one that a key of the state names, chosen without a request; each may be such a choice."""
    return {"by": key, "among": dict(among)}


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


def derived_value(expressions: Mapping[str, Any], arrays: str | None) -> dict[str, Any]:
    """A value for `Derived`: keys of the state and expressions for them, of the arrays at an address."""
    return {"set": _json(dict(expressions)), "arrays": arrays}
