"""Parity with a scratchpad: the answer so far stands behind every bit, so the next one needs only the last two tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.layers.task_heads.heads import IGNORE
from core.messages import Text
from core.tasks.base import Batch, Examples
from core.tasks.synthetic.copying import FIRST, RunningParity

EVEN = FIRST + 2  # behind the two bits; EVEN + 1 is odd


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
        """Both answers are equally common at every place."""
        return 0.5

    def answer(self, rows: Tensor, lengths: Tensor) -> Tensor:
        return super().answer(rows, lengths) + 2 * (rows != 0)

    def lay_out(self, examples: Examples, form: str) -> Batch:
        """bit answer bit answer …: of each next token, only the answers are asked for"""
        row = torch.stack([examples.source, examples.target], dim=2).flatten(1)  # (n, 2 · time)
        lengths = 2 * examples.source_lengths - 1  # behind the last bit there is nothing left to read
        width = int(lengths.max())
        return Batch((row[:, :width], lengths), row.masked_fill(row < EVEN, IGNORE)[:, 1 : width + 1], lengths)

    def alignment(self, source: list[int], target: list[int]) -> None:
        """Nobody looks from one sequence into another."""
