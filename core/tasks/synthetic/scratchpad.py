"""Parity with a scratchpad: the parity so far follows every bit, so each answer depends on the two tokens before it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.layers.task_heads.heads import IGNORE
from core.tasks.base import Batch, Examples
from core.tasks.synthetic.copying import FIRST, RunningParity
from core.translatable import Text

EVEN = FIRST + 2  # after the two bits; EVEN + 1 is odd


@dataclass(frozen=True, kw_only=True)
class ScratchpadParity(RunningParity):
    name = "scratchpad parity"
    help = Text(
        "Behind every bit stands whether the ones so far are even or odd in number: read the "
        "last answer, add one bit.",
    )
    forms = ("stream",)

    @property
    def tokens(self) -> list[str]:
        return [*super().tokens, "even", "odd"]

    @property
    def chance(self) -> float:
        """Both answers are equally frequent at every position."""
        return 0.5

    def answer(self, rows: Tensor, lengths: Tensor) -> Tensor:
        return super().answer(rows, lengths) + 2 * (rows != 0)

    def lay_out(self, examples: Examples, form: str) -> Batch:
        """bit answer bit answer …: next-token prediction with loss on the answers only"""
        rows = torch.stack([examples.source, examples.target], dim=2).flatten(1)  # (n, 2 · time)
        lengths = 2 * examples.source_lengths - 1  # the last answer is only a target
        width = int(lengths.max())
        return Batch((rows[:, :width], lengths), rows.masked_fill(rows < EVEN, IGNORE)[:, 1 : width + 1], lengths)

    def alignment(self, source: list[int], target: list[int]) -> None:
        """There is one sequence only."""
