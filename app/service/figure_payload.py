"""Live figures as the page receives them: their descriptions in a payload's header, their arrays behind it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from app import payload
from app.figures.expressions import Array, Choose, State
from app.figures.live import Live
from app.i18n import TRANSLATIONS, in_all_languages, translate_message
from core.translatable import Text


def figure_parts(figures: Mapping[str, Live]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Descriptions by name, and all arrays they read; arrays of one name are one array."""
    specs = {name: live.spec(translate_message, list(TRANSLATIONS)) for name, live in figures.items()}
    arrays = {name: array for live in figures.values() for name, array in live.arrays().items()}
    return specs, arrays


def pack_figures(
    figures: Mapping[str, Live],
    header: Mapping[str, Any] | None = None,
    arrays: Mapping[str, np.ndarray] | None = None,
    known: Container[str] = (),
) -> bytes:
    """A payload with `figures` in its header, beside what else the page needs; arrays that it has (`known`) are not sent."""
    specs, read = figure_parts(figures)
    units = {name: array.unit for name, array in read.items() if array.unit != 1}
    values = {**(arrays or {}), **{name: array.values for name, array in read.items() if name not in known}}
    return payload.pack({**(header or {}), "figures": specs}, values, units)


def text_expression(text: Text) -> Choose:
    """A message of core within a figure: it is already filled in, so it only follows the language."""
    return Choose(State("language"), in_all_languages(text))
