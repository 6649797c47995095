"""A padded batch as rows: only the valid steps, first every sequence's first, then every second, …, the longest first.

Whatever sequences run at a step are then the first of those at the step before, and nothing is computed for padding.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Rows:
    """Which row is which step. Read backwards, a sequence's first step is its last token."""

    def __init__(self, batch: int, time: int, lengths: Tensor | None, backward: bool):
        self.batch, self.time = batch, time
        self.order = self.taken = None
        if lengths is None:
            self.sizes = [batch] * time
            if backward:
                self.taken = torch.arange(batch * time).unflatten(0, (time, batch)).flip(0).flatten()
            return
        ordered, self.order = lengths.sort(descending=True, stable=True)
        steps = torch.arange(time)[:, None]
        valid = steps < ordered  # (time, batch)
        tokens = ordered - 1 - steps if backward else steps
        self.taken = (tokens * batch + self.order).masked_select(valid)  # (row,): where it stands in (time · batch)
        running = valid.sum(1)
        self.sizes = [size for size in running.tolist() if size]
        begins = running.cumsum(0) - running  # (time,): the first row of each step
        self.last = begins.index_select(0, lengths - 1) + self.order.argsort()  # (batch,): where each sequence ends

    def gather(self, x: Tensor) -> Tensor:
        """(batch, time, …) → (row, …)"""
        x = x.transpose(0, 1).flatten(0, 1)
        return x if self.taken is None else x.index_select(0, self.taken)

    def sort(self, state: Tensor) -> Tensor:
        """(batch, …) → (batch, …) in the order of the rows"""
        return state if self.order is None else state.index_select(0, self.order)

    def spread(self, rows: Tensor) -> Tensor:
        """(row, …) → (batch, time, …), 0 where there is padding"""
        if self.taken is not None:
            blank = rows.new_zeros(self.time * self.batch, rows.shape[1])
            rows = blank.index_add(0, self.taken, rows)
        return rows.unflatten(0, (self.time, self.batch)).transpose(0, 1)

    def ends(self, rows: Tensor) -> Tensor:
        """(row, …) → (batch, …): each sequence's last step"""
        return rows[-self.batch :] if self.order is None else rows.index_select(0, self.last)
