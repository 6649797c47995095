"""The numbers that flow through a point of the model being built, small enough to be a thumbnail.

If the configuration is that of the run being looked at, they are the run's, at every snapshot; otherwise those of a
model fresh from its seed, reading an example.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

import core
from app import gallery
from app.problem import Problem
from core.config import Config
from core.models import takes_two

SIDE, HEADS = 64, 16  # of a thumbnail: rows and columns, and how many heads
LARGEST = 3_000_000  # parameters of a model that is built for it
SEED = 0


def flow(config: Config, point: str, run: str | None, problem: Problem | None, time: int, target_time: int):
    """(header, arrays): `values` is (snapshot, head, row, column)."""
    if run is not None and problem is not None and gallery.open_run(run).run.model.config == config:
        return _of_run(run, problem, point)
    size = sum(weight.numel() for weight in core.build(config, device="meta").parameters())
    if size > LARGEST:
        raise core.InputError(
            f"With {size:,} parameters it is only drawn, not run: no tensor to show.",
            f"参数多达 {size:,} 个，只画结构而不运行：没有张量可显示。",
        )
    return _untrained(config, point, time, target_time)


def _of_run(name: str, problem: Problem, point: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    run = gallery.open_run(name).run
    tapes = run.replay(*problem.batch.inputs, point)
    shape = list(tapes[0][point].shape)
    header = {
        "of": "run", "steps": [snapshot.step for snapshot in run.snapshots], "shape": shape,
        "source": problem.source, "given": problem.given,
    }  # fmt: skip
    return header, {"values": np.stack([small(tape[point]) for tape in tapes])}


def _untrained(
    config: Config, point: str, time: int, target_time: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model = core.build(config).eval()
        lengths = (time, target_time) if takes_two(model) else (time,)
        inputs = [torch.randint(1, config.vocab_size, (1, min(n, config.max_len))) for n in lengths]
    with torch.no_grad(), core.capture(model, point) as tape:
        model(*inputs)
    names = [[str(i) for i in ids[0].tolist()] for ids in inputs]
    header = {
        "of": "untrained", "steps": [0], "shape": list(tape[point].shape), "source": names[0],
        "given": names[1] if len(names) > 1 else [],
    }  # fmt: skip
    return header, {"values": small(tape[point])[None]}


def small(value: Tensor) -> np.ndarray:
    """The first of the batch as (head, row, column), as much of it as a thumbnail shows."""
    first = value[0].float()
    while first.dim() < 3:
        first = first[None]
    return first[:HEADS, :SIDE, :SIDE].numpy()
