"""Small maps for a page from the tape of one problem: attention of some heads, gates and states over time.

Values become bytes in steps of 1/255, row by row, in base64.
"""

from __future__ import annotations

import base64
import re
from typing import TypedDict

import torch
from torch import Tensor, nn

from core.capture.point_names import ATTENTION_WEIGHTS, RECURRENT_POINT
from core.capture.tape import Tape
from core.tasks import Task
from core.tasks.layouts import Batch

MOST_HEADS, MOST_SIDE = 12, 32  # maps, and their largest side
MOST_GATES, MOST_UNITS, MOST_TIME = 6, 32, 48
GATES = ("forget", "update", "input", "reset", "output", "hidden", "cell", "candidate")  # the most telling first
RANGES = {"hidden": (-1.0, 1.0), "candidate": (-1.0, 1.0)}  # of a tanh; gates are from 0 to 1
WHITESPACE = {" ": "␣", "\n": "⏎", "\t": "⇥"}


class HeadMap(TypedDict):
    """Attention weights of one head, (rows, columns) = (query, key)."""

    name: str  # "decoder.blocks.1.cross"
    layer: int
    head: int
    rows: int
    columns: int
    queries: list[str]  # tokens; none where the map is pooled
    keys: list[str]
    pooled: int  # each value is the maximum of so many queries × keys; 0: not pooled
    bytes: str


class GateMap(TypedDict):
    """One gate or state of a recurrent layer, (time, unit), from `low` (byte 0) to `high` (byte 255)."""

    name: str  # "encoder.layers.0.fwd"
    point: str  # "forget"
    time: int
    units: int
    low: float
    high: float
    tokens: list[str]
    bytes: str


def head_maps(tape: Tape, task: Task, batch: Batch, form: str) -> list[HeadMap]:
    """Every head of the first problem in the batch, or `MOST_HEADS` of them, evenly spaced."""
    heads = [
        (match, head)
        for name in tape.names()
        if (match := ATTENTION_WEIGHTS.fullmatch(name))
        for head in range(tape[name].shape[1])
    ]
    if len(heads) > MOST_HEADS:
        heads = [heads[round(i * (len(heads) - 1) / (MOST_HEADS - 1))] for i in range(MOST_HEADS)]
    return [_head_map(match, head, tape[match.string][0, head], task, batch, form) for match, head in heads]


def _head_map(match: re.Match[str], head: int, weights: Tensor, task: Task, batch: Batch, form: str) -> HeadMap:
    in_decoder = match["stack"].startswith("decoder")
    recurrent_attention = form == "pairs" and match["layer"] is None  # a recurrent decoder's, over the source
    is_cross = match["kind"] == "cross" or recurrent_attention
    queries = batch.target[0] if is_cross else batch.inputs[1 if in_decoder else 0][0]
    keys = batch.inputs[0 if is_cross or not in_decoder else 1][0]
    query_tokens, key_tokens = (visible(task.show(ids.clamp(min=0).tolist())) for ids in (queries, keys))
    weights = weights.float().cpu()
    pooled = -(-max(weights.shape) // MOST_SIDE)
    if pooled > 1:
        weights = nn.functional.max_pool2d(weights[None], pooled, ceil_mode=True)[0]
    return {
        "name": match["module"],
        "layer": int(match["layer"] or 0),
        "head": head,
        "rows": weights.shape[0],
        "columns": weights.shape[1],
        "queries": query_tokens if pooled == 1 else [],
        "keys": key_tokens if pooled == 1 and len(key_tokens) == weights.shape[1] else [],
        "pooled": pooled if pooled > 1 else 0,
        "bytes": _encode(weights),
    }


def gate_maps(tape: Tape, task: Task, batch: Batch) -> list[GateMap]:
    """Gates and states of the first problem in the batch, at most `MOST_GATES`."""
    matches = [
        match for name in tape.names() if (match := RECURRENT_POINT.fullmatch(name)) and match["point"] in GATES
    ]
    matches.sort(key=lambda match: GATES.index(match["point"]))
    return [_gate_map(match, tape[match.string][0], task, batch) for match in matches[:MOST_GATES]]


def _gate_map(match: re.Match[str], values: Tensor, task: Task, batch: Batch) -> GateMap:
    values = values.float().cpu()[:MOST_TIME, :MOST_UNITS]
    largest = max(1e-6, float(values.abs().max()))
    low, high = (-largest, largest) if match["point"] == "cell" else RANGES.get(match["point"], (0.0, 1.0))
    ids = batch.inputs[1 if match["stack"].startswith("decoder") else 0][0, :MOST_TIME].tolist()
    return {
        "name": match["module"],
        "point": match["point"],
        "time": values.shape[0],
        "units": values.shape[1],
        "low": low,
        "high": high,
        "tokens": visible(task.show(ids)),
        "bytes": _encode((values - low) / (high - low)),
    }


def visible(tokens: list[str]) -> list[str]:
    """Tokens that are whitespace as visible signs."""
    return [WHITESPACE.get(token, token) for token in tokens]


def _encode(values: Tensor) -> str:
    """Values from 0 to 1 as bytes in base64."""
    return base64.b64encode(values.clamp(0, 1).mul(255).round().to(torch.uint8).numpy().tobytes()).decode()
