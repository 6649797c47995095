"""Small views of made-up attention and training, for the tests of figures."""

from __future__ import annotations

import numpy as np

from app.figures.attention_view import AttentionView
from app.figures.expressions import Array, Format
from app.figures.training import Event, TrainingView

TOKENS = ["a", "b", "a", "c"]


def attention_view(tokens: list[str] = TOKENS, snapshots: int = 3, layers: int = 2, heads: int = 3) -> AttentionView:
    n, rng = len(tokens), np.random.default_rng(0)
    weights = rng.random((snapshots, layers, heads, n, n)) * np.tril(np.ones((n, n)))
    weights = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    names = ("entropy", "previous", "own", "first", "induction")
    measures = {
        name: Array(f"blocks.{name}", rng.random((snapshots, layers, heads)).astype(np.float32)) for name in names
    }
    return AttentionView(
        "blocks", Array("blocks.weights", weights), measures, [0, 10, 100][:snapshots], tokens, tokens,
        allowed=np.tril(np.ones((n, n), bool)),
    )  # fmt: skip


def training_view() -> TrainingView:
    steps = list(range(1, 101))
    accuracy = [min(1.0, step / 60) for step in steps]
    loss = [1.0 - value + 0.01 for value in accuracy]
    return TrainingView(
        steps, loss, accuracy, [0, 10, 50, 100], [Event(30, Format("accuracy leaves chance"))], 0.1, 0.99
    )
