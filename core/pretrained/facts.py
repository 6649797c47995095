"""A config.json read entry by entry, each of the right kind or refused by name; and the words both sides use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from core.messages import Text
from core.pretrained.errors import PretrainedError

# Theirs → ours. Several of theirs mean the same.
ACTIVATIONS = {
    "relu": "relu", "gelu": "gelu", "gelu_python": "gelu", "silu": "silu", "swish": "silu",
    "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "gelu_fast": "gelu-tanh", "gelu_accurate": "gelu-tanh",
}  # fmt: skip
THEIR_ACTIVATION = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "silu": "silu"}


class Facts:
    """`facts.whole("hidden_size")` is a whole number, or a sentence that names hidden_size."""

    def __init__(self, config: Mapping[str, Any]):
        self.config = config

    def whole(self, name: str, default: int | None = None) -> int:
        value = self._given(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
            raise self._wrong(name, Text("a whole number from 0 on"))
        return value

    def number(self, name: str, default: float | None = None) -> float:
        value = self._given(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self._wrong(name, Text("a number"))
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self._given(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, Text("true or false"))
        return value

    def word(self, name: str, default: str | None = None) -> str:
        value = self._given(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, Text("a text"))
        return value

    def activation(self, name: str, default: str) -> str:
        """In our words."""
        word = self.word(name, default)
        if word not in ACTIVATIONS:
            raise self._wrong(name, Text("one of {activations}", activations=list(ACTIVATIONS)))
        return ACTIVATIONS[word]

    def never(self, *names: str) -> None:
        """Switches that change what the model computes in a way ours does not know."""
        for name in names:
            if self.config.get(name):
                raise PretrainedError(
                    "config.json sets {name} = {value!r}: models here do not compute that.",
                    name=name,
                    value=self.config[name],
                )

    def n_labels(self) -> int:
        names = self.config.get("id2label")
        return len(names) if isinstance(names, dict) and names else self.whole("num_labels", 2)

    def labels(self) -> tuple[str, ...]:
        """What the classes are called, in order; empty if the config does not say."""
        names = self.config.get("id2label")
        if not isinstance(names, dict) or {str(i) for i in range(len(names))} != set(names):
            return ()
        return tuple(str(names[str(i)]) for i in range(len(names)))

    def architecture(self) -> str:
        names = self.config.get("architectures") or [""]
        if not isinstance(names, list) or not isinstance(names[0], str):
            raise self._wrong("architectures", Text("a list of class names"))
        return names[0]

    def _given(self, name: str, default: Any) -> Any:
        value = self.config.get(name)
        if value is None and default is None:
            raise PretrainedError("config.json does not say {name}.", name=name)
        return default if value is None else value

    def _wrong(self, name: str, expected: Text) -> PretrainedError:
        told = repr(self.config.get(name))[:60]
        return PretrainedError(
            "config.json says {name} = {told}; it must be {expected}.", name=name, told=told, expected=expected
        )
