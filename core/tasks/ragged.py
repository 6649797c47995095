"""What a file held, compactly: rows of different lengths behind one another."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import torch
from torch import Tensor

from core.tasks.base import problem_hash

HELD_OUT_SHARE = 1 / 8


@dataclass(frozen=True)
class Ragged:
    flat: Tensor  # int32
    starts: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, rows: Iterable[list[int]], lengths: list[int]) -> Ragged:
        flat = torch.frombuffer(array("i", chain.from_iterable(rows)), dtype=torch.int32)
        sizes = torch.tensor(lengths)
        return cls(flat, sizes.cumsum(0) - sizes, sizes)

    def rows(self, picked: Tensor) -> tuple[Tensor, Tensor]:
        """(n, longest) padded with 0, and the lengths"""
        lengths = self.lengths[picked]
        place = torch.arange(int(lengths.max()))
        valid = place < lengths[:, None]
        return self.flat[(self.starts[picked, None] + place) * valid].long() * valid, lengths

    def hashes(self) -> Tensor:
        every = torch.arange(len(self.lengths)).split(8192)
        return torch.cat([problem_hash(self.rows(picked)[0]) for picked in every])


@dataclass(frozen=True)
class Data:
    """Tokens, problems as ids, answers, and which examples are kept for evaluation."""

    tokens: list[str]
    problems: Ragged
    answers: Ragged | Tensor | None  # None: the problems themselves are to be written
    labels: list[str]

    @cached_property
    def hashes(self) -> Tensor:
        return self.problems.hashes()

    @cached_property
    def last_held_out(self) -> int:
        """The eighth of the different problems with the lowest hashes is held out; this is the last of them."""
        different = self.hashes.unique()
        return int(different[int(len(different) * HELD_OUT_SHARE + 0.999) - 1])

    @cached_property
    def held_out(self) -> Tensor:
        """(n,)"""
        return self.hashes <= self.last_held_out
