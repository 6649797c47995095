"""What the Gates tab needs beyond a look: the sums behind each gate, what units do, where the state goes, gradients.

Everything comes as (snapshot, …) arrays, so that the page can move through the training by itself.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from app.service import payload
from app.service.inputs import Problem
from app.service.snapshot_arrays import Cells, cells_of
from core import InputError, build
from core.analysis import measures
from core.capture.point_names import RECURRENT_POINT
from core.capture.tape import Tape
from core.layers.recurrent.engine import RecurrentLayer
from core.runs.run import Run
from core.seeding import seeded
from core.tasks.layouts import Batch
from core.training.optimisers import load_parameters

GATES = {  # in the order in which torch keeps their weights
    "lstm": ("input", "forget", "candidate", "output"),
    "gru": ("reset", "update", "candidate"),
    "rnn": ("hidden",),
}
KEEPER = {"lstm": "forget", "gru": "update"}  # the gate that keeps the old state
STATES = ("hidden", "cell")
LONG, PROBLEMS = 50, 16  # tokens of the long problems, and how many of them the gradient is averaged over
UNTRAINED = 100  # tokens
FORGET_BIASES = (0.0, 1.0, 3.0)


@dataclass
class Workings:
    """One recurrent layer in one direction."""

    cells: Cells
    kind: str  # "lstm", "gru" or "rnn"
    activation: str  # of the state: "tanh", or "relu" in some RNNs
    read: Tensor  # (snapshot, time, gates · unit): W_x x_t + b_x
    kept: Tensor  # (snapshot, time, gates · unit): W_h h_before + b_h
    first: dict[str, Tensor]  # state → (snapshot, unit): before the first step that is read

    @property
    def backwards(self) -> bool:
        return self.cells.name.endswith("bwd")

    def arrays(self) -> dict[str, Tensor]:
        named = {}
        for part, sums in (("read", self.read), ("kept", self.kept)):
            for gate, values in zip(GATES[self.kind], sums.chunk(len(GATES[self.kind]), -1), strict=True):
                named[f"{gate}.{part}"] = values
        for state, values in self.first.items():
            named[f"{state}.first"] = values
        for point, values in self.cells.points.items():
            if self.activation == "tanh":
                gate = as_gate(point, values)  # (snapshot, time, unit)
                named[f"{point}.saturation"] = torch.stack([measures.saturation(at[None]) for at in gate])
        if self.kind in KEEPER:
            keeper = self.cells.points[KEEPER[self.kind]]
            named["half_life"] = torch.stack([measures.half_life(at[None]) for at in keeper])
        for state in self.first:
            places, shares = path(self.cells.points[state], self.first[state])
            named |= {f"{state}.path": places, f"{state}.shares": shares}
        return named


def as_gate(point: str, values: Tensor) -> Tensor:
    """0…1 for every point: a tanh is a sigmoid too, tanh x = 2 σ(2x) − 1; of a cell, what the output gate sees."""
    if point == "cell":
        return (1 + values.tanh()) / 2
    return (1 + values) / 2 if point in ("candidate", "hidden") else values


def path(states: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """(snapshot, time + 1, 2) and (snapshot, 2): states in the plane in which those at the end of training differ most.

    The state before the first step leads. The shares are those of each snapshot's variance that the plane shows.
    """
    states, first = states.double(), first.double()  # what grows without bound must not be infinite when squared
    finite = [at for at in states if at.isfinite().all()] or [torch.zeros_like(states[-1])]
    centre, axes, _ = measures.principal_axes(finite[-1], 2)
    whole = torch.cat([first[:, None], states], 1)  # (snapshot, time + 1, unit)
    places = (whole - centre) @ axes.T
    total = states.var(1, unbiased=False).sum(-1, keepdim=True)  # (snapshot, 1)
    shares = places[:, 1:].var(1, unbiased=False) / total.clamp(min=1e-12)
    return places.float(), shares.float()


def workings_of(run: Run, problem: Problem) -> list[Workings]:
    tapes = run.replay(*problem.batch.inputs, "*embed", "*layers.*", "*cross.context")
    return [_workings(run, tapes, cells) for cells in cells_of(tapes)]


def _workings(run: Run, tapes: list[Tape], cells: Cells) -> Workings:
    module = run.model.get_submodule(cells.name)
    kind = next(kind for kind in GATES if GATES[kind][0] in cells.points)
    states = [state for state in STATES if state in cells.points]
    first = {state: torch.stack([_first(tape, cells.name, state) for tape in tapes]) for state in states}
    read, kept = [], []
    for i, (snapshot, tape) in enumerate(zip(run.snapshots, tapes, strict=True)):
        w_x, w_h, b_x, b_h = (
            snapshot.weights[f"{cells.name}.{name}"].float() for name, _ in module.named_parameters()
        )
        hidden, start = cells.points["hidden"][i], first["hidden"][i][None]  # (time, unit), (1, unit)
        backwards = cells.name.endswith("bwd")
        before = torch.cat([hidden[1:], start]) if backwards else torch.cat([start, hidden[:-1]])
        read.append(F.linear(_input(tape, cells.name, module.input_size), w_x, b_x))
        kept.append(F.linear(before, w_h, b_h))
    activation = getattr(module, "nonlinearity", "tanh")
    return Workings(cells, kind, activation, torch.stack(read), torch.stack(kept), first)


def _input(tape: Tape, name: str, width: int) -> Tensor:
    """(time, d_in): what a layer reads: the tokens, beside them what a decoder looked up; or the layer below."""
    found = RECURRENT_POINT.fullmatch(f"{name}.hidden")
    stack, layer = found["stack"], int(found["layer"])
    if layer:
        below = [f"{stack}layers.{layer - 1}.{direction}.hidden" for direction in ("fwd", "bwd")]
        return torch.cat([tape[point][0] for point in below if point in tape], -1)
    tokens = tape[f"{stack}embed"][0]
    return tokens if tokens.shape[-1] == width else torch.cat([tokens, tape[f"{stack}cross.context"][0, 0]], -1)


def _first(tape: Tape, name: str, state: str) -> Tensor:
    """(unit,): nothing, or for a decoder the states in which the encoder ended, both directions joined."""
    if not name.startswith("decoder"):
        return torch.zeros_like(tape[f"{name}.{state}"][0, 0])
    above = name.replace("decoder", "encoder").removesuffix("fwd")
    ends = {f"{above}fwd.{state}": -1, f"{above}bwd.{state}": 0}
    return torch.cat([tape[point][0, end] for point, end in ends.items() if point in tape])


def signals_of(tokens: list[str]) -> dict[str, list[float]]:
    """What a unit might follow, by name: one number per token."""
    found = {}
    if all(token.isascii() and token.isdigit() for token in tokens):
        found["parity"] = (np.cumsum([int(token) for token in tokens]) % 2).tolist()
    found["position"] = list(range(len(tokens)))
    for token in dict.fromkeys(tokens):
        found[f"token {token}"] = [int(other == token) for other in tokens]
    return {name: values for name, values in found.items() if len(set(values)) > 1}


def pack_workings(run: Run, problem: Problem, peers: list[str], trio: list[str]) -> bytes:
    arrays, layers = {}, []
    for layer in workings_of(run, problem):
        name = layer.cells.name
        arrays |= {f"{name}.{key}": values.float().numpy() for key, values in layer.arrays().items()}
        layers.append(
            {"name": name, "kind": layer.kind, "activation": layer.activation, "backwards": layer.backwards}
        )
    axes = {"source": problem.source, "given": problem.given}
    signals = {axis: signals_of(tokens) for axis, tokens in axes.items()}
    return payload.pack({"layers": layers, "signals": signals, "peers": peers, "trio": trio}, arrays)


def gradients_of(run: Run, batch: Batch) -> dict[str, Tensor]:
    """Per layer and direction, (snapshot, time): |∂ loss / ∂ h_t|; in double, since what vanishes is small."""
    if not any(isinstance(module, RecurrentLayer) for module in run.model.modules()):
        raise InputError(
            "This model has no recurrent layers: there is no gradient through time to show.",
        )
    viewer = deepcopy(run.model).double().eval()
    taken = []
    for snapshot in run.snapshots:
        load_parameters(viewer, snapshot.weights)
        taken.append(measures.gradient_through_time(viewer, batch))
    return {name.removesuffix(".hidden"): torch.stack([at[name] for at in taken]) for name in taken[0]}


def long_problems(run: Run, length: int) -> Batch:
    """The same for all runs of one task: far longer than those they learn from."""
    rng = torch.Generator().manual_seed(0)
    return run.task.lay_out(run.task.draw(PROBLEMS, rng, length, length), run.task.form(run.model))


def untrained_gradients(runs: list[Run]) -> dict[str, Tensor]:
    """Name → (1, time): the models of these runs as they are born; an LSTM also with other forget biases."""
    found = {}
    for run in runs:
        config, batch = run.recipe.model, long_problems(run, UNTRAINED)
        biases = FORGET_BIASES if config.family == "lstm" else (None,)
        for bias in biases:
            model = _newborn(config if bias is None else replace(config, forget_bias=bias), run.seed)
            name = config.family if bias is None else f"{config.family} {bias:g}"
            (found[name],) = (at[None] for at in measures.gradient_through_time(model, batch).values())
    return found


def _newborn(config, seed: int) -> nn.Module:
    with seeded(seed):
        model = build(config)
    return model.double().eval()


def pack_gradients(steps: list[int], found: dict[str, Tensor]) -> bytes:
    """As logarithms, which float32 can hold: 10^−60 is a number here, not 0."""
    tiny = torch.finfo(torch.float64).tiny
    arrays = {name: values.clamp(min=tiny).log10().float().numpy() for name, values in found.items()}
    return payload.pack({"steps": steps, "lines": list(found)}, arrays)
