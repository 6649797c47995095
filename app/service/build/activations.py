"""Activations at one capture point of the model on the Build tab, cut to the size of a thumbnail.

If the configuration is that of the selected run, they are the run's on the selected input, at every snapshot;
otherwise those of an untrained model on random tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from glob import escape
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import core
from app.figures.build import ActivationsView
from app.service.inputs import ModelInput
from app.service.runs import run_registry
from core.analysis.costs import parameter_count
from core.architecture.descriptions import axis_names
from core.architecture.meta_model import build_meta
from core.config.families import Config
from core.models import is_encoder_decoder
from core.seeding import seeded

MAX_SIDE, MAX_HEADS = 64, 16  # of a thumbnail: rows and columns, heads
MAX_PARAMETERS = 3_000_000  # of an untrained model
SEED = 0
Payload = tuple[dict[str, Any], dict[str, np.ndarray]]  # header, arrays


def point_activations(
    config: Config, point: str, run: str | None, problem: ModelInput | None, time: int, target_time: int
) -> Payload:
    """Header and arrays; `values` is (snapshot, head, row, column)."""
    if run is not None and problem is not None and run_registry.open_run(run).run.model.config == config:
        return _run_activations(run, problem, point)
    size = parameter_count(config)
    if size > MAX_PARAMETERS:
        raise core.InputError(
            "With {size:,} parameters it is only drawn, not run: no tensor to show.",
            size=size,
        )
    return _untrained_activations(config, point, time, target_time)


def _run_activations(name: str, problem: ModelInput, point: str) -> Payload:
    run = run_registry.open_run(name).run
    snapshots = [_capture_thumbnail(model, problem.batch.inputs, point) for _, model in run.snapshot_models()]
    header = {
        "of": "run", "steps": [snapshot.step for snapshot in run.snapshots], "shape": snapshots[0][0],
        "source": problem.source, "given": problem.decoder_tokens,
    }  # fmt: skip
    return header, {"values": np.stack([values for _, values in snapshots])}


def _untrained_activations(config: Config, point: str, time: int, target_time: int) -> Payload:
    with seeded(SEED):
        model = core.build(config).eval()
        lengths = (time, target_time) if is_encoder_decoder(model) else (time,)
        inputs = [torch.randint(1, config.vocab_size, (1, min(n, config.max_len))) for n in lengths]
    shape, values = _capture_thumbnail(model, inputs, point)
    tokens = [[str(i) for i in ids[0].tolist()] for ids in inputs]
    header = {
        "of": "untrained", "steps": [0], "shape": shape, "source": tokens[0],
        "given": tokens[1] if len(tokens) > 1 else [],
    }  # fmt: skip
    return header, {"values": values[None]}


def activations_view(config: Config, point: str, header: dict[str, Any], values: np.ndarray) -> ActivationsView:
    """For the figure: the point's axes, with tokens where an axis is one of positions."""
    path, _, name = point.rpartition(".")
    axes = list(axis_names(build_meta(config).get_submodule(path), name))
    source, given = header["source"], header["given"]
    own = given if point.startswith("decoder.") else source
    tokens = {"time": own, "query": own, "start": source, "end": source, "key": source if "cross." in point else own}

    def edge(axis: str, count: int) -> list[str]:
        names = tokens.get(axis, [])
        return names[:count] if len(names) >= count else [str(i) for i in range(count)]

    rows, columns = (edge(axis, n) for axis, n in zip((["", "", *axes])[-2:], values.shape[-2:], strict=True))
    steps = header["steps"] if header["of"] == "run" else None
    return ActivationsView(point, values, header["shape"], axes, steps, rows, columns)


@torch.no_grad()
def _capture_thumbnail(model: nn.Module, inputs: Sequence[Tensor], point: str) -> tuple[list[int], np.ndarray]:
    """The shape of the tensor at a capture point, and its thumbnail; the rest of it is not kept."""
    shape: list[int] = []

    def keep(name: str, value: Tensor) -> Tensor:
        shape[:] = value.shape
        return thumbnail(value)

    with core.capture(model, escape(point), keep=keep) as tape:  # the point is a name, not a pattern
        model(*inputs)
    if point not in tape:
        raise core.InputError("The model has no station called {point!r}.", point=point[:60])
    return shape, tape[point].numpy()


def thumbnail(value: Tensor) -> Tensor:
    """A copy of the first sequence of the batch, cut to (head, row, column) of at most (16, 64, 64)."""
    first = value[0]
    while first.dim() < 3:
        first = first[None]
    return first[:MAX_HEADS, :MAX_SIDE, :MAX_SIDE].to(torch.float32, copy=True)
