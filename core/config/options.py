"""What an option is: its kind, its range or its choices, its default and its help in English and 中文."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Self

import numpy as np


@dataclass(frozen=True)
class Text:
    """One sentence in both languages."""

    en: str
    zh: str

    def __str__(self) -> str:
        return self.en


class ConfigError(ValueError):
    """An option that cannot be: names it, its value, why not, and what would work."""

    def __init__(self, option: str, value: Any, why: Text, remedy: Text):
        self.option, self.value, self.why, self.remedy = option, value, why, remedy
        super().__init__(self.text("en"))

    def text(self, language: str) -> str:
        why, remedy = getattr(self.why, language), getattr(self.remedy, language)
        return f"{self.option} = {self.value!r}: {why} {remedy}"

    def __reduce__(self):  # so that it can cross a process boundary
        return type(self), (self.option, self.value, self.why, self.remedy)


def no_such(option: str, value: Any, why: Text, known: Iterable[str], name: str | None = None) -> ConfigError:
    """The error for a name that is none of those known: lists them, and says which one is probably meant.

    The name is the option's value; give it where it is another, as that of the option itself.
    """
    known = list(known)
    if not known:
        return ConfigError(option, value, why, Text("There is none to choose.", "没有可选的。"))
    listed, meant = ", ".join(known), _nearest(str(value) if name is None else name, known)
    meant_en, meant_zh = (f" Did you mean {meant}?", f"您是指 {meant} 吗？") if meant else ("", "")
    remedy = Text(f"Choose one of: {listed}.{meant_en}", f"请选择其一：{listed}。{meant_zh}")
    return ConfigError(option, value, why, remedy)


def _nearest(name: str, known: list[str]) -> str | None:
    """The one spelt almost so, or with the same last word, or with the same initials (lr, learning_rate)."""
    name = name.lower()
    shortened = [other for other in known if name == _initials(other) or other == _initials(name)]
    longer = [other for other in known if other.split("_")[-1] == name and other != name]
    return next(iter(shortened or longer or difflib.get_close_matches(name, known, n=1)), None)


def _initials(name: str) -> str | None:
    words = name.split("_")
    return "".join(word[:1] for word in words) if len(words) > 1 else None


@dataclass(frozen=True, kw_only=True)
class Option:
    """What one option may be. `kind` is int, float, bool or str (a choice); `optional` ones may be None = automatic."""

    name: str
    kind: type
    help: Text
    low: float = -math.inf
    high: float = math.inf
    choices: dict[str, Text] = field(default_factory=dict)
    optional: bool = False
    default: Any = None

    def check(self, value: Any) -> None:
        """Raise `ConfigError` unless the value is of the right kind and in range."""
        if value is None and self.optional:
            return
        if self.kind is str:
            if not isinstance(value, str) or value not in self.choices:
                raise no_such(self.name, value, Text("it is not one of the choices.", "不在可选项中。"), self.choices)
            return
        if not self._is_kind(value):
            kind_en, kind_zh = {
                int: ("a whole number", "整数"),
                float: ("a number", "数"),
                bool: ("True or False", "布尔值"),
            }[self.kind]
            raise ConfigError(
                self.name, value, Text(f"it must be {kind_en}.", f"必须是{kind_zh}。"), self._range_text()
            )
        if not self.low <= value <= self.high:
            raise ConfigError(self.name, value, Text("it is out of range.", "超出范围。"), self._range_text())

    def _is_kind(self, value: Any) -> bool:
        if self.kind is bool or isinstance(value, bool):
            return self.kind is bool and isinstance(value, bool)
        return isinstance(value, (int, float) if self.kind is float else int)

    def _range_text(self) -> Text:
        if self.kind is bool:
            return Text("Use True or False.", "请用 True 或 False。")
        low, high = (str(int(b)) if self.kind is int else f"{b:g}" for b in (self.low, self.high))
        none_en, none_zh = (", or None for automatic", "，或 None（自动）") if self.optional else ("", "")
        return Text(f"Choose from {low} to {high}{none_en}.", f"请在 {low} 到 {high} 之间选择{none_zh}。")


@dataclass(frozen=True, kw_only=True)
class Options:
    """A frozen set of options, each checked alone and then together. Fields are made by `catalogue.option`."""

    def __post_init__(self):
        for known in self.options():
            value = plain(getattr(self, known.name))
            if known.kind is str and isinstance(value, str) and value not in known.choices:
                others = [other.name for other in self.options() if value in other.choices]
                if others:
                    raise _belongs_elsewhere(known, value, others)
            known.check(value)
            same = float(value) if known.kind is float and value is not None else value  # 1 and 1.0 are one run
            object.__setattr__(self, known.name, same)
        self.check()

    def check(self) -> None:
        """Refuse combinations of options that cannot work together."""

    @classmethod
    def title(cls) -> str:
        """What these are options of."""
        return cls.__name__

    @classmethod
    def options(cls) -> list[Option]:
        return [field.metadata["option"] for field in fields(cls)]

    @classmethod
    def make(cls, /, **values: Any) -> Self:
        """As the constructor, but an unknown option is a `ConfigError` too."""
        known = [option.name for option in cls.options()]
        for name, value in values.items():
            if name not in known:
                why = Text(f"{cls.title()} has no such option.", f"{cls.title()} 没有这个选项。")
                raise no_such(name, value, why, known, name)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def told(self) -> dict[str, Any]:
        """As `to_dict`, but options that came later are left out at their default: what was stored keeps its name."""
        later = {field.name: field.default for field in fields(self) if field.metadata.get("later")}
        return {name: value for name, value in self.to_dict().items() if name not in later or value != later[name]}


def plain(value: Any) -> Any:
    """A number of numpy's (or anybody's) as Python's own: the same choice, and the same run."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _belongs_elsewhere(option: Option, value: str, others: list[str]) -> ConfigError:
    """A value of others: of which one is meant only if it is about the same thing, as norm_placement is about norm."""
    listed = ", ".join(others)
    why = Text(f"that is a value of {listed}.", f"这是 {listed} 的取值。")
    for other in others:
        if other.startswith(f"{option.name}_"):
            remedy = Text(f"Use {other} = {value!r}.", f"请用 {other} = {value!r}。")
            return ConfigError(option.name, value, why, remedy)
    return no_such(option.name, value, why, option.choices)
