"""The numbers that flow through a point of the model being built, small enough to be a thumbnail.

If the configuration is that of the run being looked at, they are the run's, at every snapshot; otherwise those of a
model fresh from its seed, reading an example.
"""

from __future__ import annotations

from collections.abc import Sequence
from glob import escape
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import core
from app.service.inputs import ModelInput
from app.service.runs import run_registry
from core.analysis.costs import parameter_count
from core.config.families import Config
from core.models import is_encoder_decoder
from core.seeding import seeded

SIDE, HEADS = 64, 16  # of a thumbnail: rows and columns, and how many heads
LARGEST = 3_000_000  # parameters of a model that is built for it
SEED = 0


def flow(config: Config, point: str, run: str | None, problem: ModelInput | None, time: int, target_time: int):
    """(header, arrays): `values` is (snapshot, head, row, column)."""
    if run is not None and problem is not None and run_registry.open_run(run).run.model.config == config:
        return _of_run(run, problem, point)
    size = parameter_count(config)
    if size > LARGEST:
        raise core.InputError(
            "With {size:,} parameters it is only drawn, not run: no tensor to show.",
            size=size,
        )
    return _untrained(config, point, time, target_time)


def _of_run(name: str, problem: ModelInput, point: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    run = run_registry.open_run(name).run
    seen = [_seen(model, problem.batch.inputs, point) for _, model in run.views()]
    header = {
        "of": "run", "steps": [snapshot.step for snapshot in run.snapshots], "shape": seen[0][0],
        "source": problem.source, "given": problem.decoder_tokens,
    }  # fmt: skip
    return header, {"values": np.stack([values for _, values in seen])}


def _untrained(
    config: Config, point: str, time: int, target_time: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with seeded(SEED):
        model = core.build(config).eval()
        lengths = (time, target_time) if is_encoder_decoder(model) else (time,)
        inputs = [torch.randint(1, config.vocab_size, (1, min(n, config.max_len))) for n in lengths]
    shape, values = _seen(model, inputs, point)
    names = [[str(i) for i in ids[0].tolist()] for ids in inputs]
    header = {
        "of": "untrained", "steps": [0], "shape": shape, "source": names[0],
        "given": names[1] if len(names) > 1 else [],
    }  # fmt: skip
    return header, {"values": values[None]}


@torch.no_grad()
def _seen(model: nn.Module, inputs: Sequence[Tensor], point: str) -> tuple[list[int], np.ndarray]:
    """The shape of what passes a point, and the part of it that is shown; only that is held."""
    shape: list[int] = []

    def keep(name: str, value: Tensor) -> Tensor:
        shape[:] = value.shape
        return small(value)

    with core.capture(model, escape(point), keep=keep) as tape:  # a name, never a pattern
        model(*inputs)
    if point not in tape:
        raise core.InputError("The model has no station called {point!r}.", point=point[:60])
    return shape, tape[point].numpy()


def small(value: Tensor) -> Tensor:
    """The first of the batch as (head, row, column), as much of it as a thumbnail shows."""
    first = value[0]
    while first.dim() < 3:
        first = first[None]
    return first[:HEADS, :SIDE, :SIDE].to(torch.float32, copy=True)
