"""Arrays of the Gates tab: terms behind each gate, measures of units, paths of the state, gradients through time.

All arrays begin with the snapshot's index, so that the page can scrub through training without a request.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from app import payload
from app.service.inputs import AnyRun, ModelInput
from app.service.snapshot_arrays import RecurrentStates, group_states
from core import InputError, build
from core.analysis import measures
from core.capture.point_names import RECURRENT_POINT
from core.capture.tape import Tape
from core.config.families import Config
from core.layers.recurrent.engine import RecurrentLayer
from core.runs.run import Run
from core.seeding import seeded
from core.tasks.layouts import Batch
from core.training.optimisers import load_parameters

GATES = {  # in the order of torch's weights
    "lstm": ("input", "forget", "candidate", "output"),
    "gru": ("reset", "update", "candidate"),
    "rnn": ("hidden",),
}
MEMORY_GATE = {"lstm": "forget", "gru": "update"}  # the gate that multiplies the previous state
STATES = ("hidden", "cell")
LONG_TOKENS, LONG_EXAMPLES = 50, 16  # of the batch over which the gradient of trained runs is averaged
UNTRAINED_TOKENS = 100  # of that for untrained models
FORGET_BIASES = (0.0, 1.0, 3.0)


@dataclass
class GateTerms:
    """One recurrent layer in one direction: the two terms that add up to each gate before its activation.

    gate = f((W_x x_t + b_x) + (W_h h_before + b_h)); in a GRU, the reset gate scales the candidate's second term.
    """

    states: RecurrentStates
    kind: str  # "lstm", "gru" or "rnn"
    activation: str  # of the state: "tanh", or "relu" in some RNNs
    input_terms: Tensor  # (snapshot, time, gates · unit): W_x x_t + b_x
    recurrent_terms: Tensor  # (snapshot, time, gates · unit): W_h h_before + b_h
    initial_states: dict[str, Tensor]  # state → (snapshot, unit): before the first token

    @property
    def backwards(self) -> bool:
        return self.states.name.endswith("bwd")

    def arrays(self) -> dict[str, Tensor]:
        arrays = {}
        for part, terms in (("read", self.input_terms), ("kept", self.recurrent_terms)):
            for gate, values in zip(GATES[self.kind], terms.chunk(len(GATES[self.kind]), -1), strict=True):
                arrays[f"{gate}.{part}"] = values
        for state, values in self.initial_states.items():
            arrays[f"{state}.first"] = values
        for point, values in self.states.points.items():
            if self.activation == "tanh":
                gate = to_unit_interval(point, values)  # (snapshot, time, unit)
                arrays[f"{point}.saturation"] = torch.stack([measures.saturation(at[None]) for at in gate])
        if self.kind in MEMORY_GATE:
            memory_gate = self.states.points[MEMORY_GATE[self.kind]]
            arrays["half_life"] = torch.stack([measures.half_life(at[None]) for at in memory_gate])
        for state, initial in self.initial_states.items():
            path, shares = state_trajectory(self.states.points[state], initial)
            arrays |= {f"{state}.path": path, f"{state}.shares": shares}
        return arrays


def to_unit_interval(point: str, values: Tensor) -> Tensor:
    """0…1 for every point: tanh x = 2 σ(2x) − 1 is a rescaled sigmoid; a cell state passes the output's tanh first."""
    if point == "cell":
        return (1 + values.tanh()) / 2
    return (1 + values) / 2 if point in ("candidate", "hidden") else values


def state_trajectory(states: Tensor, initial: Tensor) -> tuple[Tensor, Tensor]:
    """PCA of the states: (snapshot, time + 1, 2) coordinates, (snapshot, 2) shares of each snapshot's variance.

    The axes are the first two principal components of the last finite snapshot's states, so that all snapshots share
    one plane. The initial state comes first.
    """
    states, initial = states.double(), initial.double()  # squares of unbounded states must stay finite
    finite = [at for at in states if at.isfinite().all()] or [torch.zeros_like(states[-1])]
    centre, axes, _ = measures.principal_axes(finite[-1], 2)
    all_states = torch.cat([initial[:, None], states], 1)  # (snapshot, time + 1, unit)
    coordinates = (all_states - centre) @ axes.T
    total = states.var(1, unbiased=False).sum(-1, keepdim=True)  # (snapshot, 1)
    shares = coordinates[:, 1:].var(1, unbiased=False) / total.clamp(min=1e-12)
    return coordinates.float(), shares.float()


def collect_gate_terms(run: AnyRun, model_input: ModelInput) -> list[GateTerms]:
    tapes = run.replay(*model_input.batch.inputs, "*embed", "*layers.*", "*cross.context")
    return [_gate_terms(run, tapes, states) for states in group_states(tapes)]


def _gate_terms(run: AnyRun, tapes: list[Tape], states: RecurrentStates) -> GateTerms:
    module: Any = run.model.get_submodule(states.name)
    kind = next(kind for kind in GATES if GATES[kind][0] in states.points)
    names = [state for state in STATES if state in states.points]
    initial = {state: torch.stack([_initial_state(tape, states.name, state) for tape in tapes]) for state in names}
    input_terms, recurrent_terms = [], []
    for i, (snapshot, tape) in enumerate(zip(run.snapshots, tapes, strict=True)):
        w_x, w_h, b_x, b_h = (
            snapshot.weights[f"{states.name}.{name}"].float() for name, _ in module.named_parameters()
        )
        hidden, start = states.points["hidden"][i], initial["hidden"][i][None]  # (time, unit), (1, unit)
        backwards = states.name.endswith("bwd")
        before = torch.cat([hidden[1:], start]) if backwards else torch.cat([start, hidden[:-1]])
        input_terms.append(F.linear(_layer_input(tape, states.name, module.input_size), w_x, b_x))
        recurrent_terms.append(F.linear(before, w_h, b_h))
    activation = getattr(module, "nonlinearity", "tanh")
    return GateTerms(states, kind, activation, torch.stack(input_terms), torch.stack(recurrent_terms), initial)


def _layer_input(tape: Tape, name: str, width: int) -> Tensor:
    """(time, d_in): the layer below's output, or the embeddings, joined with a decoder's attention context."""
    match = RECURRENT_POINT.fullmatch(f"{name}.hidden")
    assert match is not None
    stack, layer = match["stack"], int(match["layer"])
    if layer:
        below = [f"{stack}layers.{layer - 1}.{direction}.hidden" for direction in ("fwd", "bwd")]
        return torch.cat([tape[point][0] for point in below if point in tape], -1)
    embedded = tape[f"{stack}embed"][0]
    if embedded.shape[-1] == width:
        return embedded
    return torch.cat([embedded, tape[f"{stack}cross.context"][0, 0]], -1)


def _initial_state(tape: Tape, name: str, state: str) -> Tensor:
    """(unit,): zeros, or for a decoder the encoder's final states, both directions joined."""
    if not name.startswith("decoder"):
        return torch.zeros_like(tape[f"{name}.{state}"][0, 0])
    encoder_layer = name.replace("decoder", "encoder").removesuffix("fwd")
    ends = {f"{encoder_layer}fwd.{state}": -1, f"{encoder_layer}bwd.{state}": 0}
    return torch.cat([tape[point][0, end] for point, end in ends.items() if point in tape])


def candidate_signals(tokens: list[str]) -> dict[str, list[float]]:
    """Name → one number per token: signals that a unit may be correlated with."""
    signals = {}
    if all(token.isascii() and token.isdigit() for token in tokens):
        signals["parity"] = (np.cumsum([int(token) for token in tokens]) % 2).tolist()
    signals["position"] = list(range(len(tokens)))
    for token in dict.fromkeys(tokens):
        signals[f"token {token}"] = [int(other == token) for other in tokens]
    return {name: values for name, values in signals.items() if len(set(values)) > 1}


def pack_gates(run: AnyRun, model_input: ModelInput, peers: list[str], trio: list[str]) -> bytes:
    arrays, layers = {}, []
    for layer in collect_gate_terms(run, model_input):
        name = layer.states.name
        arrays |= {f"{name}.{key}": values.float().numpy() for key, values in layer.arrays().items()}
        layers.append(
            {"name": name, "kind": layer.kind, "activation": layer.activation, "backwards": layer.backwards}
        )
    axes = {"source": model_input.source, "given": model_input.decoder_tokens}
    signals = {axis: candidate_signals(tokens) for axis, tokens in axes.items()}
    return payload.pack({"layers": layers, "signals": signals, "peers": peers, "trio": trio}, arrays)


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
    """As base-10 logarithms, since float32 cannot hold 10^−60."""
    tiny = torch.finfo(torch.float64).tiny
    arrays = {name: values.clamp(min=tiny).log10().float().numpy() for name, values in gradients.items()}
    return payload.pack({"steps": steps, "lines": list(gradients)}, arrays)
