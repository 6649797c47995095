"""From a run and a problem to plain arrays: every attention map and every gate, at every snapshot of the training."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from app import payload
from app.problem import Problem
from core import measures
from core.layers.heads import IGNORE
from core.run import Run
from core.tape import Tape

CLEAR = 0.4  # the share of a head's weight from which a role is called clear
FEWEST_REPEATS = 0.25  # of the tokens must have occurred before, or induction cannot be judged
EXACT_BYTES = 3_000_000  # below this, weights travel as they are; above, as bytes of 1/255
GRID_SIDE = 128  # inputs longer than this are pooled in the payload; one head's exact map is asked for by itself

ATTENTION = re.compile(r"(?P<stack>.*?)(?:blocks\.(?P<layer>\d+)\.)?(?P<kind>attn|cross)\.weights")
RECURRENT = re.compile(r"(?P<stack>.*?)layers\.(?P<layer>\d+)\.(?P<direction>fwd|bwd)\.(?P<point>\w+)")


@dataclass
class Heads:
    """One stack of attention maps: (snapshot, layer, head, query, key)."""

    name: str  # "blocks", "encoder.blocks", "decoder.blocks", "decoder.cross"
    points: list[str]  # one per layer, as on the tape
    queries: str  # which axis: "source", "given" or "written"
    keys: str
    weights: Tensor
    allowed: Tensor | None  # (query, key): where the model may look
    measures: dict[str, Tensor] = field(default_factory=dict)  # (snapshot, layer, head)
    rollout: Tensor | None = None  # (snapshot, layer, query, key)


@dataclass
class Cells:
    """One recurrent layer in one direction: point → (snapshot, time, unit)."""

    name: str  # "layers.0.fwd"
    axis: str
    points: dict[str, Tensor]


@dataclass
class Look:
    problem: Problem
    steps: list[int]
    heads: list[Heads]
    cells: list[Cells]
    answers: list[dict]  # per snapshot: what the model says and how sure it is

    def pack(self) -> bytes:
        arrays, groups, layers = {}, [], []
        for heads in self.heads:
            weights, pooled = pooled_to(heads.weights, GRID_SIDE)
            arrays[f"{heads.name}.weights"] = compact(weights)
            if heads.allowed is not None and not pooled:
                arrays[f"{heads.name}.allowed"] = heads.allowed.numpy().astype(np.uint8)
            if heads.rollout is not None:
                arrays[f"{heads.name}.rollout.weights"] = compact(pooled_to(heads.rollout, GRID_SIDE)[0])
            for measure, values in heads.measures.items():
                arrays[f"{heads.name}.{measure}"] = values.float().numpy()
            groups.append(
                {
                    "name": heads.name,
                    "points": heads.points,
                    "queries": heads.queries,
                    "keys": heads.keys,
                    "measures": list(heads.measures),
                    "rollout": heads.rollout is not None,
                    "pooled": pooled,
                    "shape": list(heads.weights.shape),
                }
            )
        for cells in self.cells:
            for point, values in cells.points.items():
                arrays[f"{cells.name}.{point}"] = values.numpy()
            layers.append({"name": cells.name, "axis": cells.axis, "points": list(cells.points)})
        header = {
            "text": self.problem.text,
            "axes": axes_of(self.problem, self.heads),
            "known": self.problem.known,
            "alignment": self.problem.alignment,
            "steps": self.steps,
            "heads": groups,
            "cells": layers,
            "answers": self.answers,
            "clear": CLEAR,
        }
        return payload.pack(header, arrays)


def look(run: Run, problem: Problem) -> Look:
    tapes = run.replay(*problem.batch.inputs, "*.weights", "*.mask", "*layers.*", "logits")
    return Look(
        problem,
        [snapshot.step for snapshot in run.snapshots],
        attention_of(tapes, problem),
        cells_of(tapes),
        [answer(run, problem, tape["logits"]) for tape in tapes],
    )


def attention_of(tapes: list[Tape], problem: Problem) -> list[Heads]:
    grouped: dict[str, list[str]] = {}
    for name in tapes[0].names():
        found = ATTENTION.fullmatch(name)
        if found:
            kind = "cross" if found["kind"] == "cross" else "blocks"
            grouped.setdefault(f"{found['stack']}{kind}", []).append(name)
    return [_heads(name, points, tapes, problem) for name, points in grouped.items()]


def _heads(name: str, points: list[str], tapes: list[Tape], problem: Problem) -> Heads:
    weights = torch.stack([torch.stack([tape[point][0] for point in points]) for tape in tapes])
    queries = keys = "source"
    if name.startswith("decoder"):
        queries, keys = ("written", "source") if "cross" in name else ("given", "given")
    mask = points[0].replace(".weights", ".mask")
    allowed = tapes[0][mask][0, 0] if mask in tapes[0] else None  # (query, key)
    if allowed is not None:
        allowed = allowed.expand(weights.shape[-2:])
    heads = Heads(name, points, queries, keys, weights, allowed)
    if keys == "source" and weights.shape[-1] < len(problem.source):
        heads.keys = "pooled"  # a model that shortens its memory before the decoder looks at it
    heads.measures = _measures(heads, problem)
    if not name.startswith("decoder"):  # a decoder with cross-attention mixes in tokens that are not its own
        heads.rollout = measures.rollout(weights)
    return heads


def axes_of(problem: Problem, heads: list[Heads]) -> dict[str, list[str]]:
    """The tokens on each axis; a pooled source has one name for every few tokens."""
    axes = {"source": problem.source, "given": problem.given, "written": problem.written}
    for keys in (group.weights.shape[-1] for group in heads if group.keys == "pooled"):
        side = -(-len(problem.source) // keys)
        axes["pooled"] = [" ".join(problem.source[i * side : (i + 1) * side]) for i in range(keys)]
    return axes


def _measures(heads: Heads, problem: Problem) -> dict[str, Tensor]:
    """What each head does on this input: (snapshot, layer, head) each."""
    weights = heads.weights
    found = {"entropy": measures.entropy(weights)}
    if heads.keys != heads.queries:
        if problem.alignment is not None and heads.keys == "source":
            found["agreement"] = measures.agreement(weights, problem.alignment)
        return found
    ids = problem.batch.inputs[1 if heads.queries == "given" else 0][0]
    found |= {
        "distance": measures.distance(weights),
        "previous": measures.previous_token(weights),
        "own": measures.own_token(weights),
        "first": measures.first_token(weights),
    }
    repeats = measures.after_last_occurrence(ids).any(-1).sum()
    if repeats >= FEWEST_REPEATS * len(ids):
        found["induction"] = measures.induction(weights, ids)
    return found


def cells_of(tapes: list[Tape]) -> list[Cells]:
    grouped: dict[str, Cells] = {}
    for name in tapes[0].names():
        found = RECURRENT.fullmatch(name)
        if found:
            layer = f"{found['stack']}layers.{found['layer']}.{found['direction']}"
            axis = "given" if layer.startswith("decoder") else "source"
            cells = grouped.setdefault(layer, Cells(layer, axis, {}))
            cells.points[found["point"]] = torch.stack([tape[name][0] for tape in tapes])
    return list(grouped.values())


@torch.no_grad()
def answer(run: Run, problem: Problem, logits: Tensor) -> dict:
    """What the model says to this problem: tokens or labels, each with its probability, and which are right."""
    form = run.task.form(run.model)
    names = [label.en for label in run.task.label_names], [label.zh for label in run.task.label_names]
    target = problem.batch.target[0]
    if form == "label":
        shares = logits[0].softmax(-1)
        said = int(shares.argmax())
        right = [bool(said == target)] if problem.known else None
        return {"said": [[n[said] for n in names]], "shares": [float(shares[said])], "right": right, "places": None}
    if form in ("pairs", "stream", "masked") or (form == "tags" and logits.dim() == 3):
        shares, said = logits[0].softmax(-1).max(-1)
        asked = target != IGNORE
        if form == "masked" and not problem.known:  # a hole somebody typed
            asked = problem.ids == run.task.ids["[MASK]"]
        places = asked.nonzero().squeeze(1)
        tokens = names if form == "tags" else (run.task.tokens, run.task.tokens)
        right = None
        if problem.known:
            right = (said == target)[places].tolist()
        elif form == "stream":  # typed: what comes next is settled only where the token has stood before
            settled = measures.after_last_occurrence(problem.ids).any(-1)
            hits = zip((said == target).tolist(), settled.tolist(), strict=True)
            right = [hit or (False if was else None) for hit, was in hits]
        return {
            "said": [[t[i] for t in tokens] for i in said[places].tolist()],
            "shares": shares[places].tolist(),
            "right": right,
            "places": places.tolist(),
        }
    return {"said": [], "shares": [], "right": None, "places": []}


def compact(weights: Tensor) -> np.ndarray:
    """As they are while that is small, else in steps of 1/255."""
    if weights.numel() * 4 <= EXACT_BYTES:
        return weights.float().numpy()
    return weights.mul(255).round().to(torch.uint8).numpy()


def pooled_to(weights: Tensor, side: int) -> tuple[Tensor, int]:
    """(…, query, key): the largest weight of each tile, so that at most `side` remain; and how many went into one."""
    factor = -(-max(weights.shape[-2:]) // side)
    if factor == 1:
        return weights, 0
    small = torch.nn.functional.max_pool2d(weights.flatten(0, -3), factor, ceil_mode=True)
    return small.unflatten(0, weights.shape[:-2]), factor
