"""Figures in a line, for notebooks: each returns a live figure that shows itself wherever Plotly does.

    figures.attention(tape)            every head's map; attention(tape, layer=1, head=0): one of them
    figures.attention(run.replay(…))   the same with a slider over the snapshots of training
    figures.training(run)              loss and accuracy over the steps

Tensors are taken as they come: anything that `numpy.asarray` reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.figures.attention import all_heads, one_head
from app.figures.attention_view import AttentionView
from app.figures.expressions import Array
from app.figures.live import Live
from app.figures.training import TrainingView, timeline

WEIGHTS = re.compile(r"(?P<stack>.*?)blocks\.(?P<layer>\d+)\.(?P<kind>attn|cross)\.weights")
Tape = Mapping[str, Any]  # `core.Tape`: point → tensor (batch, …)


def attention(
    tapes: Tape | Sequence[Tape],
    tokens: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    stack: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    example: int = 0,
) -> Live:
    """Attention on one tape, or on one for each snapshot: all heads, or the map of one.

    tokens, keys: of queries and keys (keys: the same, where a sequence looks at itself); numbers where none are given.
    stack: "blocks", "encoder.blocks", "decoder.blocks" or "decoder.cross", where there are several. example: of the batch.
    """
    several: list[Tape] = [tapes] if isinstance(tapes, Mapping) else list(tapes)
    points = _attention_points(several[0])
    name = stack or next(iter(points))
    if name not in points:
        raise ValueError(f"There is no attention {name!r} on this tape; there is {', '.join(points)}.")
    weights = np.stack(
        [np.stack([np.asarray(tape[point])[example] for point in points[name]]) for tape in several]
    ).astype(np.float32)  # (snapshot, layer, head, query, key)
    rows = [str(token) for token in tokens] if tokens is not None else list(map(str, range(weights.shape[-2])))
    columns = [str(token) for token in keys] if keys is not None else rows
    if weights.shape[-1] != len(columns):
        columns = list(map(str, range(weights.shape[-1])))
    if len(rows) != weights.shape[-2]:
        raise ValueError(f"There are {weights.shape[-2]} queries, but {len(rows)} tokens.")
    view = AttentionView(name, Array(f"{name}.weights", weights), {}, list(range(len(several))), rows, columns)
    if layer is None and head is None:
        return all_heads(view)
    return one_head(view).fixed(layer=layer or 0, head=head or 0)


def _attention_points(tape: Tape) -> dict[str, list[str]]:
    """Stack → its points in the order of the layers."""
    points: dict[str, list[tuple[int, str]]] = {}
    for point in tape:
        match = WEIGHTS.fullmatch(point)
        if match:
            kind = "cross" if match["kind"] == "cross" else "blocks"
            points.setdefault(f"{match['stack']}{kind}", []).append((int(match["layer"]), point))
    if not points:
        raise ValueError('There is no attention on this tape: capture "*.weights" of a model that has some.')
    return {name: [point for _, point in sorted(of)] for name, of in points.items()}


def training(run: Any) -> Live:
    """A run's loss and accuracy over the steps of its training (`core.Run`)."""
    return timeline(
        TrainingView(
            [step.index for step in run.steps],
            [step.loss for step in run.steps],
            [step.accuracy for step in run.steps],
            [snapshot.step for snapshot in run.snapshots],
            chance=run.task.chance,
        )
    )
