"""What a file held, compactly: its words as numbers, in rows of different lengths behind one another."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import torch
from torch import Tensor

from core.tasks.base import SPECIAL, problem_hash

HELD_OUT_SHARE = 1 / 8
UNKNOWN = len(SPECIAL)  # the id of every word that is not told apart


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


def vocabulary(words: Iterable[str], size: int) -> tuple[list[str], dict[str, int]]:
    """The commonest words behind the special tokens, and their ids."""
    special = [*SPECIAL, "<unk>"]
    common = [word for word, _ in Counter(words).most_common(size) if word not in special]
    tokens = [*special, *common]
    return tokens, {word: i for i, word in enumerate(tokens) if i > UNKNOWN}


def ragged(rows: list[list[str]], ids: dict[str, int]) -> Ragged:
    return Ragged.of(([ids.get(word, UNKNOWN) for word in row] for row in rows), [len(row) for row in rows])
