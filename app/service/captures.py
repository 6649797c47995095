"""Captured tensors of a run on one input, by the name of their point, within a limit of memory."""

from __future__ import annotations

import torch
from torch import Tensor

import core
from app.service.generation.generation import model_at_step
from app.service.inputs import AnyRun, ModelInput
from core import InputError, Text
from core.errors import unknown_name

MAX_CAPTURE_BYTES = 100_000_000
MAX_POINTS_NAMED = 12  # in an error


@torch.no_grad()
def capture_points(run: AnyRun, model_input: ModelInput, pattern: str, step: int) -> dict[str, Tensor]:
    """The tensors whose points match the pattern, with the weights of the snapshot at a step."""
    model, size = model_at_step(run, step), 0

    def keep(name: str, value: Tensor) -> Tensor:
        nonlocal size
        size += value.nbytes
        if size > MAX_CAPTURE_BYTES:
            raise InputError(
                "The tensors at {pattern!r} are larger than {most} MB together; choose fewer, or a shorter input.",
                pattern=pattern,
                most=MAX_CAPTURE_BYTES // 1_000_000,
            )
        return value

    with core.capture(model, pattern, keep=keep) as tape:
        model(*model_input.batch.inputs)
    if not tape.names():
        points = sorted(tape.reached_points)
        named = [*points[:MAX_POINTS_NAMED], *(["…"] if len(points) > MAX_POINTS_NAMED else [])]
        raise InputError(
            "No point of this model matches {pattern!r}; it has {points}.", pattern=pattern, points=named
        )
    return dict(tape)


def snapshot_step(run: AnyRun, step: int | None) -> int:
    steps = [snapshot.step for snapshot in run.snapshots]
    return steps[snapshot_index(steps, step)]


def snapshot_index(steps: list[int], step: int | None) -> int:
    """The index of the snapshot at a step of the training, of those at `steps`; None: the last one."""
    if step is None:
        return len(steps) - 1
    if step not in steps:
        raise unknown_name("step", step, Text("this run has no snapshot there."), map(str, steps))
    return steps.index(step)
