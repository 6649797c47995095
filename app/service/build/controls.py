"""Options as JSON, from which `static/js/controls.js` makes the controls of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from app.i18n import in_all_languages
from app.service.build.option_titles import option_title
from core import Option


def control(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "title": in_all_languages(option_title(option.name)),
        "kind": "choice" if option.kind is str else option.kind.__name__,
        "help": in_all_languages(option.help),
        "low": _finite(option.low),
        "high": _finite(option.high),
        "choices": {value: in_all_languages(text) for value, text in option.choices.items()},
        "optional": option.optional,
        "default": option.default,
    }


def controls(options: Iterable[Option]) -> list[dict[str, Any]]:
    return [control(option) for option in options]


def _finite(bound: float) -> float | None:
    """JSON has no infinity."""
    return bound if math.isfinite(bound) else None
