"""Serialisation of a run: JSON facts for the file's header and named tensors; every part is checked before restoring.

Files are not trusted. A digest shows whether the bytes are those that were written; the checks below also reject files
without a digest (older ones, or written by other programs) and files whose content matches the digest but is no run.

Tensors: `snapshot/<step>/<parameter>` float16, `model/<parameter>`, `average/<parameter>`,
`optimiser/<index>/<field of Adam>`, `random/data` and `random/noise` (states of generators), `file/text` (UTF-8).
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

TEXT = "file/text"  # the tensor with the text of a custom task's file
ADAM = ("step", "exp_avg", "exp_avg_sq")  # the optimiser's state of each parameter
TensorType = tuple[torch.dtype, tuple[int, ...]]  # with its shape


class InvalidRunFile(ValueError):
    """Facts or tensors that are not those of a run."""


def pack(run: Run) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Everything of a run but its recipe and seed: facts for the header, and tensors."""
    state = run.trainer.state_dict()
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
    """Load the stored state into an uninitialised run; `InvalidRunFile` if it does not belong to such a run."""
    check_facts(run, facts)
    check_tensors(run, facts, tensors)

    def with_prefix(prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}

    optimiser = run.trainer.optimiser.state_dict()
    for name, tensor in with_prefix("optimiser/").items():
        index, field = name.split("/")
        optimiser["state"].setdefault(int(index), {})[field] = tensor
    average = None if facts["averaged"] is None else (facts["averaged"], with_prefix("average/"))
    run.trainer.load_state_dict(
        {
            **{name: facts[name] for name in ("index", "curriculum", "watch")},
            "model": with_prefix("model/"),
            "optimiser": optimiser,
            "average": average,
            "data": tensors["random/data"],
            "noise": tensors["random/noise"],
        }
    )
    run.steps = [Step(*values) for values in facts["steps"]]
    run.snapshots.entries = [Snapshot(step, with_prefix(f"snapshot/{step}/")) for step in facts["snapshots"]]


def digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of the names, types, shapes and bytes."""
    sha256 = hashlib.sha256()
    for name in sorted(tensors):
        array = tensors[name].numpy(force=True)
        sha256.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return sha256.hexdigest()


def check_facts(run: Run, facts: Mapping[str, Any]) -> None:
    """`InvalidRunFile` unless steps, snapshots and training state have the types and ranges of such a run."""
    trainer, steps, snapshots = run.trainer, facts["steps"], facts["snapshots"]
    _require("steps", isinstance(steps, list) and all(_is_step(i, row) for i, row in enumerate(steps, 1)))
    _require("index", type(facts["index"]) is int and facts["index"] == len(steps) <= run.recipe.training.steps)
    _require("snapshots", isinstance(snapshots, list) and bool(snapshots) and all(map(_is_count, snapshots)))
    _require("order of snapshots", snapshots == sorted(set(snapshots)) and snapshots[-1] <= len(steps))
    _require("average", facts["averaged"] is None if trainer.average is None else _is_count(facts["averaged"]))
    fresh_states = {
        "curriculum": trainer.curriculum.state_dict() if trainer.curriculum else None,
        "watch": trainer.divergence.state_dict(),
    }
    for name, fresh in fresh_states.items():
        state = facts[name]
        if fresh is None:
            _require(name, state is None)
            continue
        _require(name, isinstance(state, dict) and set(fresh) <= set(state) and all(map(_is_number, state.values())))
    if trainer.curriculum:
        _require("curriculum", 1 <= facts["curriculum"]["limit"] <= trainer.curriculum.longest)
    _require("watch", 0 <= facts["watch"]["excess"] < math.inf)


def check_tensors(run: Run, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """`InvalidRunFile` unless there are exactly the tensors of such a run, each of its type and shape.

    A parameter has all fields of Adam's state or none.
    """
    types = {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()}
    adam_types = {name: kind for name, kind in types.items() if name.startswith("optimiser/")}
    expected = dict(_expected_types(run, facts))
    wrong = {name for name in expected if types.get(name) != expected[name]}
    if wrong:
        raise InvalidRunFile(f"not as in this model: {sorted(wrong)[:3]}")
    expected_adam = dict(_expected_adam_types(run, {name.split("/")[1] for name in adam_types}))
    if adam_types != expected_adam:
        raise InvalidRunFile("not as in this optimiser")
    if unknown := set(types) - set(expected) - set(expected_adam) - {TEXT}:
        raise InvalidRunFile(f"no part of a run: {sorted(unknown)[:3]}")


def _expected_types(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, TensorType]]:
    rng_state = run.trainer.dropout_rng_state
    yield from ((f"random/{name}", (rng_state.dtype, tuple(rng_state.shape))) for name in ("data", "noise"))
    for name, weights in run.model.named_parameters():
        shape = tuple(weights.shape)
        yield f"model/{name}", (weights.dtype, shape)
        if run.trainer.average is not None:
            yield f"average/{name}", (weights.dtype, shape)
        yield from ((f"snapshot/{step}/{name}", (torch.float16, shape)) for step in facts["snapshots"])


def _expected_adam_types(run: Run, indices: set[str]) -> Iterator[tuple[str, TensorType]]:
    parameters = [weights for group in run.trainer.optimiser.param_groups for weights in group["params"]]
    for index, weights in enumerate(parameters):
        if str(index) in indices:  # a parameter that had no gradient has no state
            for field in ADAM:
                shape = () if field == "step" else tuple(weights.shape)
                yield f"optimiser/{index}/{field}", (torch.float32, shape)


def _require(name: str, condition: bool) -> None:
    if not condition:
        raise InvalidRunFile(name)


def _is_step(index: int, row: Any) -> bool:
    """Whether the row is a `Step` of this index as a list."""
    match row:
        case [int(row_index), loss, accuracy, lr, norm, int(tokens), None | int()]:
            numbers = [loss, accuracy, lr, norm]
            return (
                row_index == index and _is_count(tokens) and all(_is_number(x) and math.isfinite(x) for x in numbers)
            )
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
