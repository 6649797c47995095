"""Special tokens: the ids that begin and end a generated text, and that pad it."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from torch import nn

from core.errors import ConfigError
from core.translatable import Text

OWN = "own"  # as an argument: the model's own token
EosIds = int | tuple[int, ...] | None  # any of several ends a text; None: it goes on to max_new


@dataclass(frozen=True)
class SpecialTokens:
    bos: int
    eos: EosIds
    pad: int

    @property
    def eos_ids(self) -> tuple[int, ...]:
        return () if self.eos is None else self.eos if isinstance(self.eos, tuple) else (self.eos,)


DEFAULTS = SpecialTokens(bos=1, eos=2, pad=0)  # of all tasks here, and of the tokenizers trained here


def special_tokens_of(model: nn.Module) -> SpecialTokens:
    """Those a loaded checkpoint came with, else the defaults."""
    return getattr(model, "special_tokens", DEFAULTS)


def resolve_special_tokens(model: nn.Module, vocab_size: int, *, bos: Any, eos: Any, pad: Any) -> SpecialTokens:
    """The given ids, checked against the vocabulary; the model's own in place of `OWN`."""
    own = special_tokens_of(model)
    return SpecialTokens(
        bos=_check_token("bos", own.bos if _is_own(bos) else bos, vocab_size),
        eos=_check_eos(own.eos if _is_own(eos) else eos, vocab_size),
        pad=_check_token("pad", own.pad if _is_own(pad) else pad, vocab_size),
    )


def _is_own(value: Any) -> bool:
    return isinstance(value, str) and value == OWN


def _check_eos(value: Any, vocab_size: int) -> EosIds:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return tuple(_check_token("eos", token, vocab_size) for token in value)
    return _check_token("eos", value, vocab_size)


def _check_token(name: str, token: Any, vocab_size: int) -> int:
    if not isinstance(token, Integral) or isinstance(token, bool) or not 0 <= int(token) < vocab_size:
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
