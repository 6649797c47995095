"""From a run and a problem to plain arrays: every attention map and every gate, at every snapshot of the training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

import core
from app.service import payload
from app.service.attention_maps import MAPS, Heads, see, stacks_of
from app.service.generation.predictions import answer
from app.service.inputs import Problem
from core import InputError
from core.analysis.training_events import ROLE_THRESHOLD
from core.capture.point_names import RECURRENT_POINT
from core.capture.tape import Keep, Tape
from core.runs.run import Run

EXACT_STATES = 24_000_000  # bytes: up to here gates and states travel as they are, beyond that in half as many
MOST_STATES = 80_000_000  # bytes of those in half precision


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
    downsample: int = 1  # source tokens that a decoder sees as one

    def pack(self) -> bytes:
        arrays, groups, layers = {}, [], []
        for heads in self.heads:
            arrays[f"{heads.name}.weights"] = heads.weights.numpy()
            if heads.allowed is not None and not heads.pooled:
                arrays[f"{heads.name}.allowed"] = heads.allowed.numpy().astype(np.uint8)
            if heads.rollout is not None:
                arrays[f"{heads.name}.rollout.weights"] = heads.rollout.numpy()
            for measure, values in heads.measures.items():
                arrays[f"{heads.name}.{measure}"] = values.numpy()
            groups.append(
                {
                    "name": heads.name,
                    "points": heads.points,
                    "queries": heads.queries,
                    "keys": heads.keys,
                    "measures": list(heads.measures),
                    "rollout": heads.rollout is not None,
                    "pooled": heads.pooled,
                    "shape": list(heads.shape),
                }
            )
        for cells in self.cells:
            for point, values in cells.points.items():
                arrays[f"{cells.name}.{point}"] = values.numpy()
            layers.append({"name": cells.name, "axis": cells.axis, "points": list(cells.points)})
        header = {
            "text": self.problem.text,
            "axes": axes_of(self.problem, self.downsample),
            "known": self.problem.known,
            "alignment": self.problem.alignment,
            "steps": self.steps,
            "heads": groups,
            "cells": layers,
            "answers": self.answers,
            "clear": ROLE_THRESHOLD,
        }
        return payload.pack(header, arrays)


def look(run: Run, problem: Problem) -> Look:
    """Attention maps are read layer by layer while the model runs: together they may be gigabytes."""
    heads = stacks_of(run.model, problem, len(run.snapshots))
    states, answers = [], []
    for index, (_, model) in enumerate(run.snapshot_models()):
        tape = _taped(model, problem, lambda name, value, at=index: see(heads, at, name, value))
        found = {name: tape[name] for name in tape.names() if RECURRENT_POINT.fullmatch(name)}
        states.append(shortened(found, len(run.snapshots), problem))
        answers.append(answer(run, problem, tape, model.head))
        del tape
    steps = [snapshot.step for snapshot in run.snapshots]
    downsample = getattr(run.model.config, "downsample", 1)
    return Look(problem, steps, [stack for stack in heads if stack.seen], cells_of(states), answers, downsample)


def shortened(states: dict[str, Tensor], snapshots: int, problem: Problem) -> dict[str, Tensor]:
    """One snapshot's gates and states, in half precision where those of all snapshots are many; too many are refused."""
    numbers = snapshots * sum(values.numel() for values in states.values())
    if numbers * 4 <= EXACT_STATES:
        return states
    if numbers * 2 > MOST_STATES:
        tokens = max(len(problem.source), len(problem.given))
        most = tokens * MOST_STATES // (numbers * 2)
        raise InputError(
            "The input has {tokens} tokens; with all gates at {snapshots} moments of this run's "
            "training, at most {most} can be shown.",
            tokens=tokens,
            snapshots=snapshots,
            most=most,
        )
    largest = torch.finfo(torch.float16).max  # beyond it lie states without a bound, of a run that has diverged
    return {name: values.clamp(-largest, largest).half() for name, values in states.items()}


@torch.no_grad()
def _taped(model: nn.Module, problem: Problem, see_map: Keep) -> Tape:
    rest = "*layers.*", "logits", "next_sentence"
    with core.capture(model, *rest) as tape, core.capture(model, *MAPS, keep=see_map):
        model(*problem.batch.inputs)
    return tape


def axes_of(problem: Problem, side: int) -> dict[str, list[str]]:
    """The tokens on each axis; a pooled source has one name for every few tokens."""
    axes = {"source": problem.source, "given": problem.given, "written": problem.written}
    if side > 1:
        axes["pooled"] = [" ".join(problem.source[at : at + side]) for at in range(0, len(problem.source), side)]
    return axes


def cells_of(tapes: list[Mapping[str, Tensor]]) -> list[Cells]:
    """All recurrent layers on these tapes, one per snapshot."""
    grouped: dict[str, Cells] = {}
    for name in tapes[0]:
        found = RECURRENT_POINT.fullmatch(name)
        if found:
            layer = f"{found['stack']}layers.{found['layer']}.{found['direction']}"
            axis = "given" if layer.startswith("decoder") else "source"
            cells = grouped.setdefault(layer, Cells(layer, axis, {}))
            cells.points[found["point"]] = torch.stack([tape[name][0] for tape in tapes])
    return list(grouped.values())
