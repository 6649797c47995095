"""Packing of a padded batch: only the valid positions, as rows, so that nothing is computed for padding.

First comes the first position of every sequence, then every second, …, the longest sequence first. The sequences that
have a position t are then the first rows of those at t − 1 (as in torch's `PackedSequence`).
"""

from __future__ import annotations

import torch
from torch import Tensor


class PackedBatch:
    """The index of each row in the padded batch. Read backwards, a sequence's first position is its last token."""

    def __init__(self, batch: int, time: int, lengths: Tensor | None, backward: bool):
        self.batch, self.time = batch, time
        self.order: Tensor | None = None  # (batch,): sequences by descending length; None: all fill their row
        self.indices: Tensor | None = None  # (row,): each row's index in (time · batch); None: 0, 1, 2, …
        if lengths is None:
            self.sizes = [batch] * time  # rows at each position
            if backward:
                self.indices = torch.arange(batch * time).unflatten(0, (time, batch)).flip(0).flatten()
            return
        sorted_lengths, self.order = lengths.sort(descending=True, stable=True)
        positions = torch.arange(time)[:, None]
        valid = positions < sorted_lengths  # (time, batch)
        tokens = sorted_lengths - 1 - positions if backward else positions
        self.indices = (tokens * batch + self.order).masked_select(valid)
        counts = valid.sum(1)
        self.sizes = [size for size in counts.tolist() if size]
        begins = counts.cumsum(0) - counts  # (time,): the first row of each position
        self.last_rows = begins.index_select(0, lengths - 1) + self.order.argsort()  # (batch,)

    def pack(self, x: Tensor) -> Tensor:
        """(batch, time, …) → (row, …)"""
        x = x.transpose(0, 1).flatten(0, 1)
        return x if self.indices is None else x.index_select(0, self.indices)

    def sort(self, state: Tensor) -> Tensor:
        """(batch, …) → (batch, …) in the order of the rows"""
        return state if self.order is None else state.index_select(0, self.order)

    def unpack(self, rows: Tensor) -> Tensor:
        """(row, …) → (batch, time, …), 0 where there is padding"""
        if self.indices is not None:
            blank = rows.new_zeros(self.time * self.batch, rows.shape[1])
            rows = blank.index_add(0, self.indices, rows)
        return rows.unflatten(0, (self.time, self.batch)).transpose(0, 1)

    def last(self, rows: Tensor) -> Tensor:
        """(row, …) → (batch, …): each sequence's last position"""
        return rows[-self.batch :] if self.order is None else rows.index_select(0, self.last_rows)
