"""GlobalPointer and its loss against the formulas, span by span."""

from __future__ import annotations

import cmath
import math

import pytest
import torch
from torch import Tensor

from core.layers.task_heads.global_pointer import GlobalPointer, decode_spans, span_loss
from tests.core.reference.equality import assert_equal, padded_batch, randomise


def turned(vector: list[float], position: int) -> list[complex]:
    """Pairs as complex numbers, pair i turned by position / 10000^(2i/d)."""
    d = len(vector)
    return [
        complex(vector[2 * i], vector[2 * i + 1]) * cmath.exp(1j * position / 10_000 ** (2 * i / d))
        for i in range(d // 2)
    ]


def score_by_hand(q: list[float], start: int, k: list[float], end: int) -> float:
    pairs = zip(turned(q, start), turned(k, end), strict=True)
    return sum((a * b.conjugate()).real for a, b in pairs) / math.sqrt(len(q))


@pytest.mark.parametrize("n_types, d_model, d_head, time", [(1, 4, 2, 1), (2, 6, 4, 5), (3, 8, 64, 7)])
@pytest.mark.parametrize("padded", [True, False], ids=["padded", "full"])
def test_scores(n_types, d_model, d_head, time, padded):
    pointer = randomise(GlobalPointer(d_model, n_types, time, d_head))
    x, lengths = torch.randn(3, time, d_model), padded_batch(3, time, 10)[1]
    scores = pointer(x, lengths if padded else None).detach()
    q = pointer.q_proj(x).unflatten(-1, (n_types, d_head)).tolist()  # (batch, time, type, d_head)
    k = pointer.k_proj(x).unflatten(-1, (n_types, d_head)).tolist()
    by_hand = torch.full((3, n_types, time, time), float("-inf"))
    for row in range(3):
        for kind in range(n_types):
            for end in range(int(lengths[row]) if padded else time):
                for start in range(end + 1):
                    by_hand[row, kind, start, end] = score_by_hand(q[row][start][kind], start, k[row][end][kind], end)
    impossible = by_hand.isneginf()
    assert torch.equal(scores.isneginf(), impossible)
    assert_equal(scores[~impossible], by_hand[~impossible], 1e-5, "scores")


def loss_by_hand(scores: Tensor, spans: Tensor) -> float:
    losses = []
    for row in range(scores.shape[0]):
        for kind in range(scores.shape[1]):
            cells = list(zip(scores[row, kind].flatten().tolist(), spans[row, kind].flatten().tolist(), strict=True))
            absent = sum(math.exp(score) for score, present in cells if not present)
            present = sum(math.exp(-score) for score, present in cells if present)
            losses.append(math.log(1 + absent) + math.log(1 + present))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("seed", range(5))
def test_loss(seed):
    torch.manual_seed(seed)
    scores = 2 * torch.randn(4, 3, 6, 6)
    possible = torch.ones(6, 6, dtype=torch.bool).triu()
    scores = scores.masked_fill(~possible, float("-inf")).requires_grad_()
    spans = (torch.rand(4, 3, 6, 6) < 0.2) & possible
    spans[0, 0] = False  # a type without any span
    loss = span_loss(scores, spans)
    assert_equal(loss, torch.tensor(loss_by_hand(scores.detach(), spans)), 1e-5, "loss")

    (slope,) = torch.autograd.grad(loss, scores)
    assert not slope.isnan().any()
    kind, start, end = 1, 2, 4
    nudge = torch.zeros_like(scores)
    nudge[0, kind, start, end] = 1e-3
    up, down = (loss_by_hand((scores + step * nudge).detach(), spans) for step in (1, -1))
    assert abs(float(slope[0, kind, start, end]) - (up - down) / 2e-3) < 1e-4


def test_decode_spans():
    scores = torch.full((2, 2, 3, 3), -1.0)
    scores[0, 1, 0, 2] = scores[0, 0, 1, 1] = 0.5
    assert decode_spans(scores) == [[(0, 1, 1), (1, 0, 2)], []]
