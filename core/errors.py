"""Errors that are shown to people: each carries its message and values as a `Text`, translated where it is shown.

`str(error)` is English. All of them can cross a process boundary (pickle).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from core.translatable import Text


class InputError(ValueError):
    """An input that cannot be read: too long, empty, or with tokens or lengths out of range."""

    def __init__(self, message: str | Text, /, **values: Any):
        self.text = message if isinstance(message, Text) else Text(message, **values)
        super().__init__(str(self.text))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text,)


class ConfigError(ValueError):
    """An option with an impossible value: its name, the value, why it is impossible, and a remedy."""

    def __init__(self, option: str, value: Any, why: Text, remedy: Text):
        self.option, self.value, self.why, self.remedy = option, value, why, remedy
        self.text = Text(
            "{option} = {value}: {why} {remedy}", option=option, value=repr(value), why=why, remedy=remedy
        )
        super().__init__(str(self.text))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.option, self.value, self.why, self.remedy)


def unknown_name(option: str, value: Any, why: Text, known: Iterable[str], name: str | None = None) -> ConfigError:
    """The error for a name that is not among those known: lists them, and suggests the nearest.

    `name` is the unknown name where it is not the option's value (an unknown option).
    """
    known = list(known)
    if not known:
        return ConfigError(option, value, why, Text("There is none to choose."))
    nearest = _nearest(str(value) if name is None else name, known)
    if nearest is None:
        return ConfigError(option, value, why, Text("Choose one of: {known}.", known=known))
    remedy = Text("Choose one of: {known}. Did you mean {nearest}?", known=known, nearest=nearest)
    return ConfigError(option, value, why, remedy)


def _nearest(name: str, known: list[str]) -> str | None:
    """The known name with the same initials (lr, learning_rate), the same last word, or a similar spelling."""
    name = name.lower()
    same_initials = [other for other in known if name == _initials(other) or other == _initials(name)]
    same_last_word = [other for other in known if other.split("_")[-1] == name and other != name]
    return next(iter(same_initials or same_last_word or difflib.get_close_matches(name, known, n=1)), None)


def _initials(name: str) -> str | None:
    words = name.split("_")
    return "".join(word[:1] for word in words) if len(words) > 1 else None
