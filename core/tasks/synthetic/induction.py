"""A random sequence, said twice: the second time every token can be known from what followed it the first time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.messages import Text
from core.tasks.base import Batch, Examples
from core.tasks.layouts import concatenate, next_tokens
from core.tasks.shared_options import MAX_LEN, MIN_LEN, N_SYMBOLS, option
from core.tasks.synthetic.copying import Distinct


@dataclass(frozen=True, kw_only=True)
class Induction(Distinct):
    name = "induction"
    help = Text("Go on with a sequence that has begun to repeat itself.")
    forms = ("stream",)

    min_len: int = option(replace(MIN_LEN, low=2), 8)  # the first token of the repetition is never asked for
    max_len: int = option(replace(MAX_LEN, low=2), 16)
    n_symbols: int = option(N_SYMBOLS, 32)

    @property
    def chance(self) -> float:
        """All symbols are equally common, and there is no end token to guess."""
        return 1 / self.n_symbols

    def lay_out(self, examples: Examples, form: str) -> Batch:
        """The sequence and the sequence again; the first token of the repetition cannot be known."""
        lengths = examples.source_lengths
        ids, total = concatenate(examples.source, lengths, examples.source, lengths)
        return next_tokens(ids, total, first_asked=lengths + 1)

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]]:
        """At each token of the repetition: the token after its first occurrence."""
        return [[i + 1] for i in range(len(source) - 1)]

    def stream(self, source: Tensor) -> Tensor:
        """(time,) → (2 · time,): what the model reads for one problem"""
        return torch.cat([source, source])
