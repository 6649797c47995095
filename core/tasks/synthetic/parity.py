"""The parity task: is the sum of a sequence odd? One label per sequence, or one tag per prefix.

Solving it takes one bit of state that is carried over the whole sequence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.tasks.base import Batch, Examples
from core.tasks.layouts import random_rows
from core.tasks.length_range import LengthRange
from core.tasks.shared_options import N_SYMBOLS, option
from core.translatable import Text

FIRST = 2  # 0 is padding, 1 is reserved


@dataclass(frozen=True, kw_only=True)
class Parity(LengthRange):
    name = "parity"
    help = Text("Is the sum of the numbers even or odd?")
    forms = ("label", "tags")

    n_symbols: int = option(N_SYMBOLS, 2)

    @property
    def tokens(self) -> list[str]:
        return ["·", "<s>", *(str(i) for i in range(FIRST, FIRST + self.n_symbols))]

    @property
    def label_names(self) -> list[Text]:
        return [Text("even"), Text("odd")]

    @property
    def chance(self) -> float:
        """With as many even as odd numbers, both answers are equally frequent at every length."""
        return super().chance if self.n_symbols % 2 else 0.5

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        low, high = self.length_bounds(low, high)
        rows, lengths = random_rows(n, low, high, FIRST, self.vocab_size, rng)
        return Examples(rows, lengths, rows.sum(1) % 2)

    def held_out(self, examples: Examples) -> Tensor:
        """Problems shorter than `min_len`, with which a curriculum starts, are few: all of them are trained on."""
        return super().held_out(examples) & (examples.source_lengths >= self.min_len)

    def lay_out(self, examples: Examples, form: str) -> Batch:
        """As tags: the parity of every prefix."""
        if form == "tags":
            examples = replace(examples, target=examples.source.cumsum(1) % 2)
        return super().lay_out(examples, form)

    def solve(self, source: list[int]) -> int:
        return sum(source) % 2
