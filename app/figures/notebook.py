"""Figures in a line, for notebooks: each returns a live figure that shows itself wherever Plotly does.

    figures.attention(tape)            every head's map; attention(tape, layer=1, head=0): one of them
    figures.attention(run.replay(…))   the same with a slider over the snapshots of training
    figures.gates(tape)                every unit of a recurrent layer over the tokens; gate="forget": one of its gates
    figures.positions(table)           a table of position vectors (position, dimension)
    figures.training(run)              loss and accuracy over the steps
    figures.diagram(core.anatomy(model))   the model's parts and what flows between them

Tensors are taken as they come: anything that `numpy.asarray` reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.figures.attention import all_heads, one_head
from app.figures.attention_view import AttentionView
from app.figures.expressions import Array, Fill, Format
from app.figures.gates import units
from app.figures.gates_view import RecurrentView
from app.figures.live import Live
from app.figures.position_schemes.parts import matrix_map
from app.figures.theme import SIGNED
from app.figures.training import TrainingView, timeline

RECURRENT = re.compile(
    r"(?P<layer>.*layers\.\d+\.(fwd|bwd))\.(?P<point>forget|reset|input|update|candidate|output|cell|hidden)"
)
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


def gates(
    tapes: Tape | Sequence[Tape],
    tokens: Sequence[str] | None = None,
    *,
    layer: str | None = None,
    gate: str = "hidden",
    example: int = 0,
) -> Live:
    """Gates and states of a recurrent layer, on one tape or on one for each snapshot: units × tokens.

    layer: "layers.0.fwd", where there are several; gate: "hidden", "cell", "forget", "input", …
    """
    several: list[Tape] = [tapes] if isinstance(tapes, Mapping) else list(tapes)
    points = [match for match in map(RECURRENT.fullmatch, several[0]) if match]
    if not points:
        raise ValueError('There are no gates on this tape: capture "*layers.*" of a model that has some.')
    name = layer or points[0]["layer"]
    values = {
        match["point"]: np.stack([np.asarray(tape[match[0]])[example] for tape in several]).astype(np.float32)
        for match in points
        if match["layer"] == name
    }  # point → (snapshot, time, unit)
    if gate not in values:
        raise ValueError(f"Layer {name!r} has no {gate!r} on this tape; it has {', '.join(values) or 'nothing'}.")
    kind = "lstm" if "forget" in values else "gru" if "update" in values else "rnn"
    words = [str(token) for token in tokens] if tokens is not None else list(map(str, range(values[gate].shape[1])))
    initial = {
        state: np.zeros(values[state][:, 0].shape, np.float32) for state in ("hidden", "cell") if state in values
    }
    view = RecurrentView(name, kind, words, list(range(len(several))), values, initial)
    return units(view).fixed(gate=gate, sort="index")


def positions(table: Any) -> Live:
    """A table of position vectors (position, dimension): `core.layers.positions.Sinusoidal(64, 32).table`, a learned one, …"""
    values = np.asarray(table, np.float32)
    limit = float(np.abs(values).max()) or 1.0
    return matrix_map(
        Array("table", values)[()],
        values.shape,
        limits=(-limit, limit),
        scale=SIGNED,
        ends=(Fill("{x:.2f}", x=-limit), Fill("{x:.2f}", x=limit)),
        names=(Format("position"), Format("dimension")),
        hover=Fill("{p}, {d}: {x}<extra></extra>", p="%{y}", d="%{x}", x="%{z:.4f}"),
        file="positions",
        title=Format("The table"),
        caption=Format("**{length}** positions × **{width}** dimensions.", length=len(values), width=values.shape[1]),
    )


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
