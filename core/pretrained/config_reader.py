"""Typed access to a checkpoint's config.json, and the names of activations on both sides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from core.pretrained.errors import PretrainedError
from core.translatable import Text

# Hugging Face's name → ours. Several of theirs mean the same.
ACTIVATIONS = {
    "relu": "relu", "gelu": "gelu", "gelu_python": "gelu", "silu": "silu", "swish": "silu",
    "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "gelu_fast": "gelu-tanh", "gelu_accurate": "gelu-tanh",
}  # fmt: skip
HF_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "silu": "silu"}


class ConfigReader:
    """`reader.integer("hidden_size")` is an integer, or a `PretrainedError` that names hidden_size."""

    def __init__(self, config: Mapping[str, Any]):
        self.config = config

    def integer(self, name: str, default: int | None = None) -> int:
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
            raise self._invalid(name, Text("a whole number from 0 on"))
        return value

    def number(self, name: str, default: float | None = None) -> float:
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self._invalid(name, Text("a number"))
        return float(value)

    def boolean(self, name: str, default: bool) -> bool:
        value = self._get(name, default)
        if not isinstance(value, bool):
            raise self._invalid(name, Text("true or false"))
        return value

    def string(self, name: str, default: str | None = None) -> str:
        value = self._get(name, default)
        if not isinstance(value, str):
            raise self._invalid(name, Text("a text"))
        return value

    def activation(self, name: str, default: str) -> str:
        """Our name of it."""
        activation = self.string(name, default)
        if activation not in ACTIVATIONS:
            raise self._invalid(name, Text("one of {activations}", activations=list(ACTIVATIONS)))
        return ACTIVATIONS[activation]

    def reject(self, *names: str) -> None:
        """Refuse switches, if set, that change the computation in a way our models do not have."""
        for name in names:
            if self.config.get(name):
                raise PretrainedError(
                    "config.json sets {name} = {value!r}: models here do not compute that.",
                    name=name,
                    value=self.config[name],
                )

    def n_labels(self) -> int:
        names = self.config.get("id2label")
        return len(names) if isinstance(names, dict) and names else self.integer("num_labels", 2)

    def labels(self) -> tuple[str, ...]:
        """The names of the classes, in order; empty if the config has none."""
        names = self.config.get("id2label")
        if not isinstance(names, dict) or {str(i) for i in range(len(names))} != set(names):
            return ()
        return tuple(str(names[str(i)]) for i in range(len(names)))

    def architecture(self) -> str:
        names = self.config.get("architectures") or [""]
        if not isinstance(names, list) or not isinstance(names[0], str):
            raise self._invalid("architectures", Text("a list of class names"))
        return names[0]

    def _get(self, name: str, default: Any) -> Any:
        value = self.config.get(name)
        if value is None and default is None:
            raise PretrainedError("config.json does not say {name}.", name=name)
        return default if value is None else value

    def _invalid(self, name: str, expected: Text) -> PretrainedError:
        return PretrainedError(
            "config.json says {name} = {told}; it must be {expected}.",
            name=name,
            told=repr(self.config.get(name))[:60],
            expected=expected,
        )
