"""A random sequence, said twice: the second time every token can be known from what followed it the first time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.layers.masks import valid_mask
from core.options import ConfigError, Text
from core.tasks.base import Batch, Examples
from core.tasks.copying import FIRST, Copy
from core.tasks.knobs import MAX_LEN, MIN_LEN, N_SYMBOLS, UNIQUE, option
from core.tasks.layouts import concatenate, next_tokens


@dataclass(frozen=True, kw_only=True)
class Induction(Copy):
    name = "induction"
    help = Text("Go on with a sequence that has begun to repeat itself.", "续写一个开始重复的序列。")
    forms = ("stream",)

    min_len: int = option(replace(MIN_LEN, low=2), 8)  # the first token of the repetition is never asked for
    max_len: int = option(replace(MAX_LEN, low=2), 16)
    n_symbols: int = option(N_SYMBOLS, 32)
    unique: bool = option(UNIQUE, True)

    def check(self) -> None:
        super().check()
        if self.unique and self.max_len > self.n_symbols:
            raise ConfigError(
                "max_len",
                self.max_len,
                Text(
                    f"{self.n_symbols} symbols cannot fill it without repeating.",
                    f"{self.n_symbols} 个符号无法不重复地填满。",
                ),
                Text(
                    f"Use at most {self.n_symbols}, or unique=False.",
                    f"请不超过 {self.n_symbols}，或用 unique=False。",
                ),
            )

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        examples = super().draw(n, rng, low, high)
        if not self.unique:
            return examples
        width = examples.source.shape[1]
        order = torch.rand(n, max(self.n_symbols, width), generator=rng).argsort(1)[:, :width] % self.n_symbols
        rows = (FIRST + order) * valid_mask(examples.source_lengths, width)
        return Examples(rows, examples.source_lengths, rows, examples.source_lengths)

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
