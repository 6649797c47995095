"""Is the sum of the numbers even or odd? One bit of memory, held over the whole sequence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.messages import Text
from core.tasks.base import Batch, Examples, Task
from core.tasks.layouts import random_rows
from core.tasks.shared_options import MAX_LEN, MIN_LEN, N_SYMBOLS, option
from core.tasks.synthetic.copying import check_lengths

FIRST = 2  # 0 is padding, 1 is reserved


@dataclass(frozen=True, kw_only=True)
class Parity(Task):
    name = "parity"
    help = Text("Is the sum of the numbers even or odd?")
    forms = ("label", "tags")

    min_len: int = option(MIN_LEN, 4)
    max_len: int = option(MAX_LEN, 20)
    n_symbols: int = option(N_SYMBOLS, 2)

    def check(self) -> None:
        check_lengths(self.min_len, self.max_len)

    @property
    def tokens(self) -> list[str]:
        return ["·", "<s>", *(str(i) for i in range(FIRST, FIRST + self.n_symbols))]

    @property
    def label_names(self) -> list[Text]:
        return [Text("even"), Text("odd")]

    @property
    def chance(self) -> float:
        """With as many even as odd numbers, both answers are equally common at every length."""
        return super().chance if self.n_symbols % 2 else 0.5

    @property
    def longest(self) -> int:
        return self.max_len

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        high = high or self.max_len
        low = min(low or self.min_len, high)
        rows, lengths = random_rows(n, low, high, FIRST, self.vocab_size, rng)
        return Examples(rows, lengths, rows.sum(1) % 2)

    def held_out(self, examples: Examples) -> Tensor:
        """The few problems shorter than `min_len`, where a curriculum starts, are all there to be learnt from."""
        return super().held_out(examples) & (examples.source_lengths >= self.min_len)

    def lay_out(self, examples: Examples, form: str) -> Batch:
        """As tags: the running parity after every step."""
        if form == "tags":
            examples = replace(examples, target=examples.source.cumsum(1) % 2)
        return super().lay_out(examples, form)

    def solve(self, source: list[int]) -> int:
        return sum(source) % 2
