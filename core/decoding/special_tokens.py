"""The ids with which a model begins and ends what it writes, and fills up: one that was loaded brings its own."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from torch import nn

from core.errors import ConfigError
from core.messages import Text

OWN = "own"  # of whatever model it is
Ends = int | tuple[int, ...] | None  # any of several ends a text; None: nothing does


@dataclass(frozen=True)
class SpecialTokens:
    bos: int
    eos: Ends
    pad: int

    @property
    def ends(self) -> tuple[int, ...]:
        return () if self.eos is None else self.eos if isinstance(self.eos, tuple) else (self.eos,)


OURS = SpecialTokens(bos=1, eos=2, pad=0)  # of all tasks here, and of the tokenizers trained here


def special_tokens_of(model: nn.Module) -> SpecialTokens:
    return getattr(model, "signs", OURS)


def resolve_special_tokens(model: nn.Module, **wanted: Any) -> SpecialTokens:
    """The model's own where nothing else is wanted; all of them must be tokens of the model's."""
    own, vocab_size = special_tokens_of(model), model.config.vocab_size
    values = {
        name: getattr(own, name) if isinstance(value, str) and value == OWN else value
        for name, value in wanted.items()
    }
    return SpecialTokens(**{name: _checked(name, value, vocab_size) for name, value in values.items()})


def _checked(name: str, value: Any, vocab_size: int) -> Ends:
    if name == "eos" and value is None:
        return None
    if name == "eos" and isinstance(value, list | tuple):
        return tuple(_checked_token(name, token, vocab_size) for token in value)
    return _checked_token(name, value, vocab_size)


def _checked_token(name: str, token: Any, vocab_size: int) -> int:
    if not isinstance(token, Integral) or isinstance(token, bool) or not 0 <= token < vocab_size:
        most = vocab_size - 1
        remedy = Text("Use a number from 0 to {most}.", most=most)
        if name == "eos":
            remedy = Text("Use a number from 0 to {most}, or None to go on to the last.", most=most)
        raise ConfigError(
            name,
            token,
            Text("that is no token of this model."),
            remedy,
        )
    return int(token)
