"""Datasets read from files: rows of different lengths in one flat tensor, vocabularies, and the held-out split."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import torch
from torch import Tensor

from core.tasks.base import HELD_OUT_SHARE, SPECIAL, problem_hash

UNKNOWN = len(SPECIAL)  # the id of every word that is not in the vocabulary


@dataclass(frozen=True)
class RaggedRows:
    flat: Tensor  # int32: all rows, one after the other
    starts: Tensor  # (n,)
    lengths: Tensor  # (n,)

    @classmethod
    def pack(cls, rows: Iterable[list[int]], lengths: list[int]) -> RaggedRows:
        flat = torch.frombuffer(array("i", chain.from_iterable(rows)), dtype=torch.int32)
        sizes = torch.tensor(lengths)
        return cls(flat, sizes.cumsum(0) - sizes, sizes)

    @classmethod
    def encode(cls, rows: list[list[str]], ids: dict[str, int]) -> RaggedRows:
        return cls.pack(([ids.get(word, UNKNOWN) for word in row] for row in rows), [len(row) for row in rows])

    def pad(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """The rows with these indices as (n, longest), padded with 0, and their lengths"""
        lengths = self.lengths[indices]
        position = torch.arange(int(lengths.max()))
        valid = position < lengths[:, None]
        return self.flat[(self.starts[indices, None] + position) * valid].long() * valid, lengths

    def hashes(self) -> Tensor:
        chunks = torch.arange(len(self.lengths)).split(8192)
        return torch.cat([problem_hash(self.pad(indices)[0]) for indices in chunks])


@dataclass(frozen=True)
class Dataset:
    """Vocabulary, problems, answers, and the split into training and held-out examples."""

    tokens: list[str]
    problems: RaggedRows
    answers: RaggedRows | Tensor | None  # target rows or tags; (n,) labels; None: language modelling of the problems
    labels: list[str]

    @property
    def answer_rows(self) -> RaggedRows:
        assert isinstance(self.answers, RaggedRows)
        return self.answers

    @property
    def answer_labels(self) -> Tensor:
        assert isinstance(self.answers, Tensor)
        return self.answers

    @cached_property
    def hashes(self) -> Tensor:
        return self.problems.hashes()

    @cached_property
    def highest_held_out_hash(self) -> int:
        """The HELD_OUT_SHARE of distinct problems with the lowest hashes is held out; this is their highest."""
        distinct = self.hashes.unique()
        return int(distinct[int(len(distinct) * HELD_OUT_SHARE + 0.999) - 1])

    @cached_property
    def held_out(self) -> Tensor:
        """(n,)"""
        return self.hashes <= self.highest_held_out_hash


def build_vocabulary(words: Iterable[str], size: int) -> tuple[list[str], dict[str, int]]:
    """Special tokens and the `size` most frequent words; and the ids of the words."""
    special = [*SPECIAL, "<unk>"]
    frequent = [word for word, _ in Counter(words).most_common(size) if word not in special]
    tokens = [*special, *frequent]
    return tokens, {word: i for i, word in enumerate(tokens) if i > UNKNOWN}
