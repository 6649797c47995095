"""Majority baseline: the accuracy of the best constant answer, which a model has to beat."""

from __future__ import annotations

import torch
from torch import Tensor

from core.layers.task_heads.heads import IGNORE
from core.tasks.layouts import Batch

MAX_SPANS = 8  # of the best constant set: each further span is right more rarely


def majority_accuracy(batch: Batch, form: str) -> float:
    """Accuracy, counted as in training, of giving at each position the answer most frequent there."""
    if form == "spans":
        return _best_constant_spans(batch.target)
    if form == "answer":  # the most frequent start and the most frequent end
        return sum(_majority_share(column) for column in batch.target.unbind(1)) / 2
    return _majority_share(batch.target) if batch.target.dim() == 1 else _majority_by_position(batch.target)


def _majority_share(labels: Tensor) -> float:
    return int(torch.bincount(labels).max()) / len(labels)


def _majority_by_position(target: Tensor) -> float:
    """target (problem, position). The majority is taken from one half of the problems and scored on the other:
    otherwise a position that few problems reach would count as predictable.
    """
    correct = 0
    for fitted, scored in zip(target[::2].T, target[1::2].T, strict=True):
        counts = torch.bincount(fitted[fitted != IGNORE])
        if len(counts):
            correct += int((scored == counts.argmax()).sum())
    return correct / max(1, int((target[1::2] != IGNORE).sum()))


def _best_constant_spans(target: Tensor) -> float:
    """|predicted ∩ true| / |predicted ∪ true| of the best of the sets of the k most frequent spans, k ≤ MAX_SPANS."""
    rows = len(target)
    counts, total = target.sum(0).flatten(), int(target.sum())
    correct = counts.sort(descending=True).values[:MAX_SPANS].cumsum(0)
    predicted = rows * torch.arange(1, len(correct) + 1)
    return float((correct / (total + predicted - correct)).max())
