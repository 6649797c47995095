"""What a guess is worth: the accuracy of the best answer that never looks at the problem."""

from __future__ import annotations

import torch
from torch import Tensor

from core.layers.task_heads.heads import IGNORE
from core.tasks.layouts import Batch

MOST_SPANS = 8  # a constant set of spans need not be larger: each further one is right more rarely


def blind_guess(batch: Batch, form: str) -> float:
    """The share of right answers, counted as in training, of whoever gives the commonest one, place by place."""
    if form == "spans":
        return _constant_spans(batch.target)
    if form == "answer":  # the commonest start and the commonest end
        return sum(_commonest(column) for column in batch.target.unbind(1)) / 2
    return _commonest(batch.target) if batch.target.dim() == 1 else _commonest_by_place(batch.target)


def _commonest(answers: Tensor) -> float:
    return int(torch.bincount(answers).max()) / len(answers)


def _commonest_by_place(target: Tensor) -> float:
    """target (problem, place). What is common is learnt from one half, or rare places would count as known."""
    right = 0
    for known, asked in zip(target[::2].T, target[1::2].T, strict=True):
        counts = torch.bincount(known[known != IGNORE])
        if len(counts):
            right += int((asked == counts.argmax()).sum())
    return right / max(1, int((target[1::2] != IGNORE).sum()))


def _constant_spans(target: Tensor) -> float:
    """Right: spans guessed that are there. Asked: spans guessed or there."""
    rows = len(target)
    counts, total = target.sum(0).flatten(), int(target.sum())
    found = counts.sort(descending=True).values[:MOST_SPANS].cumsum(0)
    guessed = rows * torch.arange(1, len(found) + 1)
    return float((found / (total + guessed - found)).max())
