"""From a head of one run to the heads like it of another: a skill seen in a toy, looked for in a real model.

Both read the same text, each in its own tokens; what is compared is what their heads do with it (`core.analysis.head_similarity`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

import core
from app.service import attention_maps, payload
from app.service.attention_maps import MAPS
from app.service.inputs import Problem
from core import InputError
from core.analysis.head_similarity import FEATURE_WEIGHTS, FEWEST_TOKENS, SIMILAR, head_profile, head_similarity
from core.capture.point_names import INPUT_SELF_ATTENTION_WEIGHTS
from core.capture.tape import Keep
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run
from core.tasks.base import SPECIAL

BEST = 5
AROUND = ("[CLS]", "[SEP]")


@dataclass
class Seen:
    """All heads of a run that read the input: their points, and name → (layer, head). Holds nothing of the model."""

    problem: Problem
    points: list[str]
    profile: dict[str, Tensor]
    outside: Tensor  # (layer, head): the share of weight on tokens that are left out
    left_out: list[str]  # those tokens, each once

    @property
    def nbytes(self) -> int:
        return sum(values.nbytes for values in (*self.profile.values(), self.outside, self.problem.ids))

    def one(self, layer: int, head: int) -> dict[str, Tensor]:
        return {name: values[layer, head] for name, values in self.profile.items()}


def left_out(run: Run | PretrainedRun, ids: Tensor) -> Tensor:
    """(time,): True for tokens that are no part of a text: padding, start, end, [CLS], [SEP]."""
    special = getattr(run.task, "special", None)
    if special is None:
        special = {*range(len(SPECIAL)), *(run.task.ids[name] for name in AROUND if name in run.task.ids)}
    return torch.tensor([int(i) in special for i in ids])


def look_over(run: Run | PretrainedRun, problem: Problem, step: int) -> Seen:
    """Every head that reads the input at one step of training, layer by layer."""
    ids, outside = problem.ids, left_out(run, problem.ids)
    if int((~outside).sum()) < FEWEST_TOKENS:
        raise InputError(
            "Heads are compared on {fewest_tokens} tokens or more; type a longer input.",
            fewest_tokens=FEWEST_TOKENS,
        )
    points, found, rest, masks = [], [], [], {}

    def visit(name: str, value: Tensor) -> None:
        if name.endswith(".mask"):
            masks[name.removesuffix(".mask")] = value[0, 0].expand(len(ids), len(ids))
        elif reads := INPUT_SELF_ATTENTION_WEIGHTS.fullmatch(name):
            points.append(reads["module"])
            found.append(head_profile(value[0], ids, outside, masks.get(reads["module"])))
            rest.append(value[0][..., outside].sum(-1)[:, ~outside].mean(-1))

    _run(run, problem, step, visit)
    if not points:
        raise InputError("This model has no attention among the tokens of its input.")
    stacked = {name: torch.stack([one[name] for one in found]) for name in found[0]}
    names = dict.fromkeys(name for name, out in zip(problem.source, outside.tolist(), strict=True) if out)
    return Seen(problem, points, stacked, torch.stack(rest), list(names))


@torch.no_grad()
def _run(run: Run | PretrainedRun, problem: Problem, step: int, see_map: Keep) -> None:
    found = next(run.snapshot_models(step), None)
    if found is None:
        raise InputError("There is no snapshot of step {step}.", step=step)
    with core.capture(found[1], *MAPS, keep=see_map):
        found[1](*problem.batch.inputs)


def find(
    run: Run | PretrainedRun,
    problem: Problem,
    step: int,
    point: str,
    head: int,
    other: Run | PretrainedRun,
    there: Seen,
) -> bytes:
    """The head in focus and the five of the other run that are most like it, with their maps."""
    if not INPUT_SELF_ATTENTION_WEIGHTS.fullmatch(f"{point}.weights"):
        raise InputError(
            "Only heads that look from the input at the input can be compared; choose one of those.",
        )
    here = look_over(run, problem, step)
    if point not in here.points or not 0 <= head < here.outside.shape[1]:
        raise InputError("The model has no such head.")
    layer = here.points.index(point)
    last = other.snapshots[-1].step
    alike = head_similarity(here.one(layer, head), there.profile)  # (layer, head)
    itself = (layer, head) if other is run and step == last else None  # nobody is more like it
    order = alike.flatten().argsort(descending=True).tolist()
    others = [place for i in order if (place := divmod(i, alike.shape[1])) != itself]
    if not others:
        raise InputError("This model has no other head.")
    best = others[:BEST]
    header = {
        "of": _told(here, layer, head) | {"tokens": problem.source, "left_out": here.left_out},
        "best": [_told(there, *place) | {"likeness": float(alike[place])} for place in best],
        "tokens": there.problem.source,
        "left_out": there.left_out,
        "step": last,
        "heads": len(others),
        "median": float(torch.stack([alike[place] for place in others]).median()),
        "alike": SIMILAR,
        "measures": [name for name in FEATURE_WEIGHTS if name in here.profile and name in there.profile],
    }
    own, found = maps_of(run, here, [(layer, head)], step), maps_of(other, there, best, last)
    return payload.pack(header | {"pooled": [own[1], found[1]]}, {"of.weights": own[0], "best.weights": found[0]})


def maps_of(run: Run | PretrainedRun, seen: Seen, places: list[tuple[int, int]], step: int) -> tuple[np.ndarray, int]:
    """(place, query, key) of these heads, pooled where they are large, and by how much."""
    kept: dict[tuple[int, int], Tensor] = {}
    side = attention_maps.tile_side((len(places), len(seen.problem.source), len(seen.problem.source)))

    def visit(name: str, value: Tensor) -> None:
        for layer, head in places:
            if name == f"{seen.points[layer]}.weights":
                kept[layer, head] = attention_maps.pool(value[0, head][None], side)[0].clone()

    _run(run, seen.problem, step, visit)
    return torch.stack([kept[place] for place in places]).numpy(), side


def _told(seen: Seen, layer: int, head: int) -> dict[str, Any]:
    point = seen.points[layer]
    return {
        "group": point.rsplit(".", 2)[0],
        "layer": int(point.split(".")[-2]),
        "head": head,
        "profile": {name: float(value) for name, value in seen.one(layer, head).items()},
        "outside": float(seen.outside[layer, head]),
    }
