"""A run as facts and tensors, and back: what is told has to be a run in every particular before any of it is taken.

Nothing here trusts a file. A digest tells whether its bytes are those that were written; where there is none (files
written before, or by somebody), or where the digest is right and the content is not, the checks below find out.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from core.runs.run import Run
from core.training.loop import Step
from core.training.snapshots import Snapshot

TEXT = "file/text"  # the tensor that holds the text of somebody's own file
ADAM = ("step", "exp_avg", "exp_avg_sq")  # what the optimiser keeps of each parameter
Shape = tuple[torch.dtype, tuple[int, ...]]


class InvalidRunFile(ValueError):
    """Something that no run has written."""


def pack(run: Run) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """All that a run has beside its recipe and its seed: facts for the header, and tensors."""
    state = run.trainer.state()
    tensors = {f"snapshot/{s.step}/{name}": w for s in run.snapshots for name, w in s.weights.items()}
    tensors |= {f"model/{name}": w.contiguous() for name, w in state["model"].items()}
    tensors |= {
        f"optimiser/{index}/{field}": torch.as_tensor(value).contiguous()
        for index, fields in state["optimiser"]["state"].items()
        for field, value in fields.items()
    }
    if state["average"]:
        tensors |= {f"average/{name}": w.contiguous() for name, w in state["average"][1].items()}
    tensors |= {"random/data": state["data"], "random/noise": state["noise"]}
    facts = {
        "index": state["index"],
        "curriculum": state["curriculum"],
        "watch": state["watch"],
        "averaged": state["average"] and state["average"][0],
        "snapshots": [s.step for s in run.snapshots],
        "steps": [list(asdict(step).values()) for step in run.steps],
    }
    return facts, tensors


def restore(run: Run, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Give a run that has not begun the state it was stored in; `InvalidRunFile` if that is none of its states."""
    check_facts(run, facts)
    check_tensors(run, facts, tensors)

    def below(prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}

    optimiser = run.trainer.optimiser.state_dict()
    for name, tensor in below("optimiser/").items():
        index, field = name.split("/")
        optimiser["state"].setdefault(int(index), {})[field] = tensor
    average = None if facts["averaged"] is None else (facts["averaged"], below("average/"))
    run.trainer.load(
        {
            **{name: facts[name] for name in ("index", "curriculum", "watch")},
            "model": below("model/"),
            "optimiser": optimiser,
            "average": average,
            "data": tensors["random/data"],
            "noise": tensors["random/noise"],
        }
    )
    run.steps = [Step(*values) for values in facts["steps"]]
    run.snapshots.kept = [Snapshot(step, below(f"snapshot/{step}/")) for step in facts["snapshots"]]


def digest(tensors: Mapping[str, Tensor]) -> str:
    """Of the names, kinds, shapes and bytes."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        array = tensors[name].numpy(force=True)
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return found.hexdigest()


# What a run's facts and tensors can be


def check_facts(run: Run, facts: Mapping[str, Any]) -> None:
    trainer, steps, snapshots = run.trainer, facts["steps"], facts["snapshots"]
    _agree("steps", isinstance(steps, list) and all(_is_step(i, row) for i, row in enumerate(steps, 1)))
    _agree("index", type(facts["index"]) is int and facts["index"] == len(steps) <= run.recipe.training.steps)
    _agree("snapshots", isinstance(snapshots, list) and bool(snapshots) and all(map(_is_count, snapshots)))
    _agree("order of snapshots", snapshots == sorted(set(snapshots)) and snapshots[-1] <= len(steps))
    _agree("average", facts["averaged"] is None if trainer.average is None else _is_count(facts["averaged"]))
    told = {"curriculum": trainer.curriculum and trainer.curriculum.state(), "watch": trainer.watch.state()}
    for name, fresh in told.items():
        found = facts[name]
        if fresh is None:
            _agree(name, found is None)
            continue
        _agree(name, isinstance(found, dict) and set(fresh) <= set(found) and all(map(_is_number, found.values())))
    if trainer.curriculum:
        _agree("curriculum", 1 <= facts["curriculum"]["limit"] <= trainer.curriculum.longest)
    _agree("watch", 0 <= facts["watch"]["excess"] < math.inf)


def check_tensors(run: Run, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Exactly those there should be, each of its kind and shape; of the optimiser, all or nothing per parameter."""
    found = {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()}
    optimiser = {name: shape for name, shape in found.items() if name.startswith("optimiser/")}
    expected = dict(_expected(run, facts))
    wrong = {name for name in expected if found.get(name) != expected[name]}
    if wrong:
        raise InvalidRunFile(f"not as in this model: {sorted(wrong)[:3]}")
    of_adam = dict(_expected_of_adam(run, {name.split("/")[1] for name in optimiser}))
    if optimiser != of_adam:
        raise InvalidRunFile("not as in this optimiser")
    if strange := set(found) - set(expected) - set(of_adam) - {TEXT}:
        raise InvalidRunFile(f"no part of a run: {sorted(strange)[:3]}")


def _expected(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Shape]]:
    noise = run.trainer.noise
    yield from ((f"random/{name}", (noise.dtype, tuple(noise.shape))) for name in ("data", "noise"))
    for name, weights in run.model.named_parameters():
        shape = tuple(weights.shape)
        yield f"model/{name}", (weights.dtype, shape)
        if run.trainer.average is not None:
            yield f"average/{name}", (weights.dtype, shape)
        yield from ((f"snapshot/{step}/{name}", (torch.float16, shape)) for step in facts["snapshots"])


def _expected_of_adam(run: Run, indices: set[str]) -> Iterator[tuple[str, Shape]]:
    parameters = [weights for group in run.trainer.optimiser.param_groups for weights in group["params"]]
    for index, weights in enumerate(parameters):
        if str(index) in indices:  # a parameter that had no gradient has no state
            for field in ADAM:
                shape = () if field == "step" else tuple(weights.shape)
                yield f"optimiser/{index}/{field}", (torch.float32, shape)


def _agree(what: str, is_so: bool) -> None:
    if not is_so:
        raise InvalidRunFile(what)


def _is_step(index: int, row: Any) -> bool:
    match row:
        case [int(own), loss, accuracy, lr, norm, int(tokens), None | int()]:
            numbers = [loss, accuracy, lr, norm]
            return own == index and _is_count(tokens) and all(_is_number(x) and math.isfinite(x) for x in numbers)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
