"""Gradients of the loss through time: of the runs that can read one input, of long problems, and of untrained models."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from app import payload
from app.figures.expressions import Expression, Format
from app.figures.gates_gradients import GradientLine, gradients
from app.service.figure_payload import pack_figures
from app.service.gates import layer_name, page_words
from app.service.inputs import AnyRun
from core import InputError, build
from core.analysis import measures
from core.config.families import Config
from core.layers.recurrent.engine import RecurrentLayer
from core.runs.run import Run
from core.seeding import seeded
from core.tasks.layouts import Batch
from core.training.optimisers import load_parameters

LONG_TOKENS, LONG_EXAMPLES = 50, 16  # of the batch over which the gradient of trained runs is averaged
UNTRAINED_TOKENS = 100  # of that for untrained models
FORGET_BIASES = (0.0, 1.0, 3.0)


def gradients_through_time(run: AnyRun, batch: Batch) -> dict[str, Tensor]:
    """Per layer and direction, (snapshot, time): |∂ loss / ∂ h_t|, in float64 because vanishing ones are tiny."""
    if not any(isinstance(module, RecurrentLayer) for module in run.model.modules()):
        raise InputError(
            "This model has no recurrent layers: there is no gradient through time to show.",
        )
    model = deepcopy(run.model).double().eval()
    gradients = []
    for snapshot in run.snapshots:
        load_parameters(model, snapshot.weights)
        gradients.append(measures.gradient_through_time(model, batch))
    return {name.removesuffix(".hidden"): torch.stack([at[name] for at in gradients]) for name in gradients[0]}


def long_batch(run: Run, length: int) -> Batch:
    """Examples far longer than those of training; the same for all runs of one task."""
    rng = torch.Generator().manual_seed(0)
    return run.task.lay_out(run.task.draw(LONG_EXAMPLES, rng, length, length), run.task.form(run.model))


def untrained_gradients(runs: list[Run]) -> dict[str, Tensor]:
    """Name → (1, time): of the models of these runs as initialised; of an LSTM also with other forget biases."""
    gradients = {}
    for run in runs:
        config: Any = run.recipe.model
        batch = long_batch(run, UNTRAINED_TOKENS)
        biases = FORGET_BIASES if config.family == "lstm" else (None,)
        for bias in biases:
            model = _untrained_model(config if bias is None else replace(config, forget_bias=bias), run.seed)
            name = config.family if bias is None else f"{config.family} {bias:g}"
            (gradients[name],) = (at[None] for at in measures.gradient_through_time(model, batch).values())
    return gradients


def _untrained_model(config: Config, seed: int) -> nn.Module:
    with seeded(seed):
        model = build(config)
    return model.double().eval()


def pack_gradients(steps: list[int], gradients: dict[str, Tensor]) -> bytes:
    """As base-10 logarithms, since float32 cannot hold 10^−60; NaN for 0, where the loss does not depend on a state."""
    arrays = {
        name: values.log10().nan_to_num(torch.nan, neginf=torch.nan).float().numpy()
        for name, values in gradients.items()
    }
    return payload.pack({"steps": steps, "lines": list(gradients)}, arrays)


@dataclass
class RunGradients:
    """One run's answer of `pack_gradients`: line → (snapshot, time), as logarithms."""

    family: str
    steps: list[int]
    logs: dict[str, np.ndarray]

    @classmethod
    def unpack(cls, data: bytes, family: str = "") -> RunGradients:
        header, arrays = payload.unpack(data)
        return cls(family, header["steps"], {name: arrays[name] for name in header["lines"]})

    def at(self, page_steps: list[int]) -> list[int]:
        """Its snapshots at the same shares of its training as those of the run on the page, which may have been longer."""
        share = np.asarray(self.steps) / max(1, self.steps[-1])
        wanted = np.asarray(page_steps) / max(1, page_steps[-1])
        return np.abs(share[None] - wanted[:, None]).argmin(1).tolist()

    def lines(self, page_steps: list[int], stack: str | None) -> list[GradientLine]:
        """stack: "encoder.", "decoder." or "", which read other tokens; None: all"""
        snapshots = self.at(page_steps)
        names = [name for name in self.logs if stack is None or name.startswith(f"{stack}layers.")]
        several = len(names) > 1
        return [
            GradientLine(
                layer_name(name, list(self.logs)) if several else page_words(f"family.{self.family}"),
                self.family,
                10.0 ** self.logs[name][snapshots].astype(np.float64),
                [self.steps[snapshot] for snapshot in snapshots],
                name.endswith("bwd"),
                place,
            )
            for place, name in enumerate(names)
        ]

    def untrained_lines(self) -> list[GradientLine]:
        """By family, an LSTM also by its forget bias."""
        lines = []
        for place, (name, logs) in enumerate(self.logs.items()):
            family, _, bias = name.partition(" ")
            word = page_words(f"family.{family}")
            title: Expression = Format("{family} (forget bias {bias})", family=word, bias=bias) if bias else word
            lines.append(GradientLine(title, family, 10.0 ** logs.astype(np.float64), self.steps, False, place))
        return lines


def pack_gradient_figure(lines: list[GradientLine], of: str, tokens: list[str], axis: str) -> bytes:
    return pack_figures({"gradient": gradients(lines, of, tokens, axis=axis)})
