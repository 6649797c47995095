"""What an option is: its kind, its range or its choices, its default and its help."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from core.errors import ConfigError, unknown_name
from core.messages import Text

KIND_ERRORS = {
    int: Text("it must be a whole number."),
    float: Text("it must be a number."),
    bool: Text("it must be True or False."),
}


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
                raise unknown_name(self.name, value, Text("it is not one of the choices."), self.choices)
            return
        if not self._is_kind(value):
            raise ConfigError(self.name, value, KIND_ERRORS[self.kind], self._range_text())
        if not self.low <= value <= self.high:
            raise ConfigError(self.name, value, Text("it is out of range."), self._range_text())

    def _is_kind(self, value: Any) -> bool:
        if self.kind is bool or isinstance(value, bool):
            return self.kind is bool and isinstance(value, bool)
        return isinstance(value, (int, float) if self.kind is float else int)

    def _range_text(self) -> Text:
        if self.kind is bool:
            return Text("Use True or False.")
        low, high = (str(int(b)) if self.kind is int else f"{b:g}" for b in (self.low, self.high))
        if self.optional:
            return Text("Choose from {low} to {high}, or None for automatic.", low=low, high=high)
        return Text("Choose from {low} to {high}.", low=low, high=high)


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
                why = Text("{title} has no such option.", title=cls.title())
                raise unknown_name(name, value, why, known, name)
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
    why = Text("that is a value of {listed}.", listed=listed)
    for other in others:
        if other.startswith(f"{option.name}_"):
            remedy = Text("Use {other} = {value!r}.", other=other, value=value)
            return ConfigError(option.name, value, why, remedy)
    return unknown_name(option.name, value, why, option.choices)
