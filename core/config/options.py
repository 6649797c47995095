"""`Option` (kind, range or choices, default, help of one option) and `Options`, the base of all configurations."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from core.errors import ConfigError, unknown_name
from core.translatable import Text

KIND_ERRORS = {
    int: Text("it must be a whole number."),
    float: Text("it must be a number."),
    bool: Text("it must be True or False."),
}


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option. `kind` is int, float, bool or str (a choice); an `optional` one may be None = automatic."""

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
        for option in self.options():
            value = to_python_number(getattr(self, option.name))
            if option.kind is str and isinstance(value, str) and value not in option.choices:
                others = [other.name for other in self.options() if value in other.choices]
                if others:
                    raise _value_of_others(option, value, others)
            option.check(value)
            if option.kind is float and value is not None:
                value = float(value)  # 1 and 1.0 are the same run
            object.__setattr__(self, option.name, value)
        self.check()

    def check(self) -> None:
        """Refuse combinations of options that cannot work together."""

    @classmethod
    def title(cls) -> str:
        """The name of what is configured, for error messages."""
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

    def to_stored_dict(self) -> dict[str, Any]:
        """As `to_dict`, without options added later that are at their default: keys of stored runs depend on it."""
        later = {field.name: field.default for field in fields(self) if field.metadata.get("added_later")}
        return {name: value for name, value in self.to_dict().items() if name not in later or value != later[name]}


def to_python_number(value: Any) -> Any:
    """Numbers of NumPy and other libraries as Python's bool, int or float; anything else as it is."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _value_of_others(option: Option, value: str, others: list[str]) -> ConfigError:
    """The error for a value of other options; suggests one of them if it is related (norm_placement for norm)."""
    listed = ", ".join(others)
    why = Text("that is a value of {listed}.", listed=listed)
    for other in others:
        if other.startswith(f"{option.name}_"):
            remedy = Text("Use {other} = {value!r}.", other=other, value=value)
            return ConfigError(option.name, value, why, remedy)
    return unknown_name(option.name, value, why, option.choices)
