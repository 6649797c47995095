"""Delayed recall: a value, a delay filled with distractors, a cue; the label is the value.

A long time lag as in Hochreiter & Schmidhuber, "Long Short-Term Memory", 1997.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from core.layers.masks import valid_mask
from core.tasks.base import EOS, SPECIAL, Examples
from core.tasks.layouts import append_token
from core.tasks.length_range import LengthRange
from core.tasks.shared_options import integer, option
from core.tasks.synthetic.copying import symbol_names
from core.translatable import Text, verbatim

FIRST = EOS + 1  # id of the first symbol
# fmt: off
MIN_DELAY = integer("min_len", 1, 512, Text("The shortest delay."))
MAX_DELAY = integer("max_len", 1, 512, Text("The longest delay in training."))
N_VALUES = integer("n_values", 2, 52, Text("How many different values there are to be remembered."))
N_DISTRACTORS = integer("n_distractors", 1, 100, Text("How many different distractors fill the delay."))
# fmt: on


@dataclass(frozen=True, kw_only=True)
class Recall(LengthRange):
    name = "recall"
    help = Text("Which value came before the long delay?")
    forms = ("label",)

    min_len: int = option(MIN_DELAY, 4)
    max_len: int = option(MAX_DELAY, 20)
    n_values: int = option(N_VALUES, 8)
    n_distractors: int = option(N_DISTRACTORS, 8)

    @property
    def tokens(self) -> list[str]:
        distractors = [f"d{i}" for i in range(1, self.n_distractors + 1)]
        return [*SPECIAL, *symbol_names(self.n_values), *distractors, "?"]

    @property
    def label_names(self) -> list[Text]:
        return [verbatim(name) for name in symbol_names(self.n_values)]

    @property
    def chance(self) -> float:
        """All values are equally frequent."""
        return 1 / self.n_values

    def max_tokens(self, form: str) -> int:
        return self.max_len + 2

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        low, high = self.length_bounds(low, high)
        values = torch.randint(self.n_values, (n,), generator=rng)
        delays = torch.randint(low, high + 1, (n,), generator=rng)
        first = FIRST + self.n_values
        distractors = torch.randint(first, first + self.n_distractors, (n, high), generator=rng)
        rows = torch.cat([FIRST + values[:, None], distractors * valid_mask(delays, high)], dim=1)
        return Examples(append_token(rows, delays + 1, self.vocab_size - 1), delays + 2, values)

    def held_out(self, examples: Examples) -> torch.Tensor:
        """Problems shorter than `min_len`, with which a curriculum starts, are few: all of them are trained on."""
        return super().held_out(examples) & (examples.source_lengths >= self.min_len + 2)

    def solve(self, source: list[int]) -> int | None:
        value = source[0] - FIRST
        return value if 0 <= value < self.n_values else None

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]]:
        """The answer depends on the first token."""
        return [[0]]
