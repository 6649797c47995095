"""Sequence-to-sequence tasks on random symbols, with the ideal alignment of each: copy, reverse, sort, running parity."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.errors import ConfigError
from core.layers.masks import valid_mask
from core.tasks.base import EOS, SPECIAL, Examples, cached_chance
from core.tasks.layouts import random_rows, reverse_rows
from core.tasks.length_range import LengthRange
from core.tasks.shared_options import MAX_LEN, N_SYMBOLS, UNIQUE, option
from core.translatable import Text

FIRST = EOS + 1  # id of the first symbol
SHUFFLE_CHUNK = 4096  # problems shuffled at a time: each takes n_symbols random numbers of memory


@dataclass(frozen=True, kw_only=True)
class Copy(LengthRange):
    name = "copy"
    help = Text("Write the sequence down again.")
    forms = ("pairs", "stream")

    max_len: int = option(MAX_LEN, 12)
    n_symbols: int = option(N_SYMBOLS, 16)

    @property
    def tokens(self) -> list[str]:
        return [*SPECIAL, *symbol_names(self.n_symbols)]

    @property
    def chance(self) -> float:
        """Up to `min_len` the best constant answer is any symbol: 1 / n_symbols. From there on it is the end token,
        right once per sequence; or still a symbol, where more than n_symbols lengths go on.
        """
        lengths = self.max_len - self.min_len + 1
        ends = sum(max(1, (self.max_len - i) / self.n_symbols) for i in range(self.min_len, self.max_len + 1))
        return (self.min_len * lengths / self.n_symbols + ends) / (lengths * (1 + (self.min_len + self.max_len) / 2))

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        low, high = self.length_bounds(low, high)
        rows, lengths = random_rows(n, low, high, FIRST, FIRST + self.n_symbols, rng)
        return Examples(rows, lengths, self.answer(rows, lengths), lengths)

    def answer(self, rows: Tensor, lengths: Tensor) -> Tensor:
        return rows

    def solve(self, source: list[int]) -> list[int]:
        return self.answer(torch.tensor([source]), torch.tensor([len(source)]))[0].tolist()

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]] | None:
        return [[i] for i in range(len(source))]


@dataclass(frozen=True, kw_only=True)
class Reverse(Copy):
    name = "reverse"
    help = Text("Write the sequence down backwards.")

    def answer(self, rows: Tensor, lengths: Tensor) -> Tensor:
        return reverse_rows(rows, lengths)

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]]:
        return [[i] for i in reversed(range(len(source)))]


@dataclass(frozen=True, kw_only=True)
class DistinctSymbols(Copy):
    """Base of the tasks with the option `unique`: all symbols of a problem differ."""

    unique: bool = option(UNIQUE, True)

    def check(self) -> None:
        super().check()
        if self.unique and self.max_len > self.n_symbols:
            raise ConfigError(
                "max_len",
                self.max_len,
                Text(
                    "{n_symbols} symbols cannot fill it without repeating.",
                    n_symbols=self.n_symbols,
                ),
                Text(
                    "Use at most {n_symbols}, or unique=False.",
                    n_symbols=self.n_symbols,
                ),
            )

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        examples = super().draw(n, rng, low, high)
        if not self.unique:
            return examples
        lengths, width = examples.source_lengths, examples.source.shape[1]
        keys = (
            torch.rand(len(part), max(self.n_symbols, width), generator=rng) for part in lengths.split(SHUFFLE_CHUNK)
        )
        order = torch.cat([key.argsort(1)[:, :width].clone() for key in keys]) % self.n_symbols
        rows = (FIRST + order) * valid_mask(lengths, width)
        return Examples(rows, lengths, self.answer(rows, lengths), lengths)


@dataclass(frozen=True, kw_only=True)
class Sort(DistinctSymbols):
    name = "sort"
    help = Text("Write the symbols down in order.")

    unique: bool = option(UNIQUE, False)

    @property
    def chance(self) -> float:
        """Measured: the smallest symbol of a problem is often one of the first few."""
        return cached_chance(self)

    def answer(self, rows: Tensor, lengths: Tensor) -> Tensor:
        last = rows.max() + 1
        ordered = rows.masked_fill(~valid_mask(lengths, rows.shape[1]), last).sort(1).values
        return ordered * valid_mask(lengths, rows.shape[1])

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]]:
        """Equal symbols are interchangeable: any of their positions is right."""
        return [[i for i, symbol in enumerate(source) if symbol == answer] for answer in target]


@dataclass(frozen=True, kw_only=True)
class RunningParity(Copy):
    """Parity of every prefix: each answer depends on one bit of the source and on the answer before it."""

    name = "running parity"
    help = Text(
        "After every bit: has there been an even or an odd number of ones so far?",
    )

    max_len: int = option(MAX_LEN, 20)
    n_symbols: int = option(replace(N_SYMBOLS, low=2, high=2), 2)

    @property
    def tokens(self) -> list[str]:
        return [*SPECIAL, "0", "1"]

    def answer(self, rows: Tensor, lengths: Tensor) -> Tensor:
        ones = (rows == FIRST + 1).cumsum(1)
        return (FIRST + ones % 2) * valid_mask(lengths, rows.shape[1])


def symbol_names(n: int) -> list[str]:
    """a, b, …, z, A, …, Z, then s52, s53, …"""
    letters = [chr(ord("a") + i) for i in range(26)] + [chr(ord("A") + i) for i in range(26)]
    return [letters[i] if i < len(letters) else f"s{i}" for i in range(n)]
