"""(a + b) mod p. Part of the p × p table is trained on; accuracy on the rest may come long after (grokking).

Power et al., "Grokking: Generalization Beyond Overfitting on Small Algorithmic Datasets", 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.tasks.base import EOS, SPECIAL, Examples, Task, problem_hash
from core.tasks.shared_options import integer, number, option
from core.translatable import Text, verbatim

FIRST = EOS + 1  # id of the first symbol
# fmt: off
MODULUS = integer("modulus", 5, 499, Text("Hours on the clock: the sum starts again at 0 from here."))
TRAIN_SHARE = number("train_share", 0.1, 0.9, Text("Share of the table that is trained on."))
# fmt: on


@dataclass(frozen=True, kw_only=True)
class ModularAddition(Task):
    name = "modular addition"
    help = Text("(a + b) mod p, with part of the table hidden.")
    forms = ("label",)

    modulus: int = option(MODULUS, 59)
    train_share: float = option(TRAIN_SHARE, 0.6)

    @property
    def held_out_share(self) -> float:
        return 1 - self.train_share

    @property
    def tokens(self) -> list[str]:
        return [*SPECIAL, *(str(i) for i in range(self.modulus)), "+", "="]

    @property
    def label_names(self) -> list[Text]:
        return [verbatim(str(i)) for i in range(self.modulus)]

    @property
    def chance(self) -> float:
        """All sums are equally frequent in the table."""
        return 1 / self.modulus

    @property
    def longest(self) -> int:
        return 4

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        """There are always two numbers: `low` and `high` have no effect."""
        return self.problems(torch.randint(self.modulus, (n, 2), generator=rng))

    def table(self) -> Examples:
        """All p² problems."""
        numbers = torch.arange(self.modulus)
        return self.problems(torch.cartesian_prod(numbers, numbers))

    def problems(self, numbers: Tensor) -> Examples:
        """Rows "a + b =" of numbers (n, 2)."""
        plus = torch.full_like(numbers[:, :1], FIRST + self.modulus)
        rows = torch.cat([FIRST + numbers[:, :1], plus, FIRST + numbers[:, 1:], plus + 1], dim=1)
        return Examples(rows, torch.full((len(rows),), 4), numbers.sum(1) % self.modulus)

    def held_out(self, examples: Examples) -> Tensor:
        """a + b and b + a are on the same side of the split."""
        numbers = examples.source[:, [0, 2]].sort(1).values
        return problem_hash(numbers) % 1000 >= round(1000 * self.train_share)

    def solve(self, source: list[int]) -> int | None:
        plus = FIRST + self.modulus
        if len(source) != 4 or source[1] != plus or source[3] != plus + 1 or max(source[0], source[2]) >= plus:
            return None
        return (source[0] + source[2] - 2 * FIRST) % self.modulus

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]]:
        """The answer needs both numbers."""
        return [[0, 2]]
