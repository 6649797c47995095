"""Options as JSON, from which the page makes or fills its controls."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from app.i18n import in_all_languages
from app.service.build.choice_titles import CHOICE_TITLES
from app.service.build.option_titles import option_title
from core import Option
from core.translatable import verbatim


def control(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "title": in_all_languages(option_title(option.name)),
        "kind": "choice" if option.kind is str else option.kind.__name__,
        "help": in_all_languages(option.help),
        "low": _finite(option.low),
        "high": _finite(option.high),
        "choices": {value: in_all_languages(text) for value, text in option.choices.items()},
        "names": {value: choice_name(value) for value in option.choices},
        "optional": option.optional,
        "default": option.default,
    }


def controls(options: Iterable[Option]) -> list[dict[str, Any]]:
    return [control(option) for option in options]


def choice_name(value: str) -> dict[str, str]:
    """By language, what a choice is called: where it has words for it, they stand before core's own name."""
    titles = in_all_languages(CHOICE_TITLES.get(value, verbatim(value)))
    return {
        language: value if language == "en" or title == value else f"{title} {value}"
        for language, title in titles.items()
    }


def _finite(bound: float) -> float | None:
    """JSON has no infinity."""
    return bound if math.isfinite(bound) else None
