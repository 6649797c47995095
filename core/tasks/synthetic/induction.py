"""Induction: a random sequence, twice. In the repetition each token follows from its first occurrence.

What an induction head learns: find the earlier occurrence of the current token, predict the token after it
(Olsson et al., "In-context learning and induction heads", 2022).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.tasks.base import Batch, Examples
from core.tasks.layouts import concatenate, next_token_batch
from core.tasks.shared_options import MAX_LEN, MIN_LEN, N_SYMBOLS, option
from core.tasks.synthetic.copying import DistinctSymbols
from core.translatable import Text


@dataclass(frozen=True, kw_only=True)
class Induction(DistinctSymbols):
    name = "induction"
    help = Text("Go on with a sequence that has begun to repeat itself.")
    forms = ("stream",)

    min_len: int = option(replace(MIN_LEN, low=2), 8)  # the first token of the repetition has no loss
    max_len: int = option(replace(MAX_LEN, low=2), 16)
    n_symbols: int = option(N_SYMBOLS, 32)

    @property
    def chance(self) -> float:
        """All symbols are equally frequent, and there is no end token."""
        return 1 / self.n_symbols

    def lay_out(self, examples: Examples, form: str) -> Batch:
        """The sequence twice; the first token of the repetition cannot be predicted and has no loss."""
        lengths = examples.source_lengths
        ids, total = concatenate(examples.source, lengths, examples.source, lengths)
        return next_token_batch(ids, total, first_target=lengths + 1)

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]]:
        """For each token of the repetition: the token after its first occurrence."""
        return [[i + 1] for i in range(len(source) - 1)]
