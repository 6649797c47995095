"""Figures of the Gates tab: gates and states of every recurrent layer, measures of its units, paths of the state.

All arrays hold every snapshot, so that the page can scrub through training without a request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from app.figures.expressions import Choose, Expression, Format, State, evaluate
from app.figures.gates import unit_over_tokens, unit_over_training, units
from app.figures.gates_path import path
from app.figures.gates_view import MEMORY_GATE, SIGNED, RecurrentView, sort_name
from app.figures.live import Live
from app.i18n import TRANSLATIONS, WORDS, translate_message
from app.service.figure_payload import pack_figures
from app.service.inputs import AnyRun, ModelInput
from app.service.snapshot_arrays import RecurrentStates, group_states
from core.analysis import measures
from core.capture.point_names import RECURRENT_POINT
from core.capture.tape import Tape

GATES = {  # in the order of torch's weights
    "lstm": ("input", "forget", "candidate", "output"),
    "gru": ("reset", "update", "candidate"),
    "rnn": ("hidden",),
}
STATES = ("hidden", "cell")
MAX_CORRELATIONS = 2_000_000  # of a layer: signals × points × snapshots × units


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

    def arrays(self) -> dict[str, np.ndarray]:
        """What the equations are written with: both terms of every gate, and the initial states."""
        arrays = {}
        for part, terms in (("read", self.input_terms), ("kept", self.recurrent_terms)):
            for gate, values in zip(GATES[self.kind], terms.chunk(len(GATES[self.kind]), -1), strict=True):
                arrays[f"{self.states.name}.{gate}.{part}"] = values.float().numpy()
        for state, values in self.initial_states.items():
            arrays[f"{self.states.name}.{state}.first"] = values.float().numpy()
        return arrays

    def view(self, tokens: list[str], steps: list[int], file: str) -> RecurrentView:
        """Gates and states with their measures, for the figures."""
        points = self.states.points
        view = RecurrentView(
            self.states.name,
            self.kind,
            tokens,
            steps,
            {point: values.float().numpy() for point, values in points.items()},
            {state: values.float().numpy() for state, values in self.initial_states.items()},
            axis=self.states.axis,
            activation=self.activation,
            backwards=self.backwards,
            point_names={point: page_words(f"gates.point.{point}") for point in points},
            file=f"{file}-{self.states.name}",
        )
        ordered = [points[point] for point in view.points]
        view.signals = candidate_signals(tokens, MAX_CORRELATIONS // (len(ordered) * ordered[0][:, 0].numel()))
        view.correlations = np.array([signal_correlations(ordered, signal) for signal in view.signals.values()])
        if self.activation == "tanh":
            bounded = [to_unit_interval(point, points[point]) for point in view.points]
            view.saturation = np.stack([measure_units(measures.saturation, values) for values in bounded])
        if self.kind in MEMORY_GATE:
            view.half_life = measure_units(measures.half_life, points[MEMORY_GATE[self.kind]])
        for state, initial in self.initial_states.items():
            coordinates, shares = state_trajectory(points[state], initial)
            view.paths[state] = coordinates.numpy(), shares.numpy()
        return view


def measure_units(measure: Callable[[Tensor], Tensor], values: Tensor) -> np.ndarray:
    """(snapshot, time, unit) → (snapshot, unit): a measure of a batch's units, snapshot by snapshot"""
    return torch.stack([measure(at[None]) for at in values]).numpy()


def signal_correlations(points: list[Tensor], signal: list[float]) -> np.ndarray:
    """(point, snapshot, unit): Pearson's r of every unit with a signal over the tokens; 0 where it has left all bounds"""
    over_time = torch.tensor(signal, dtype=torch.float64)
    r = torch.stack([measures.correlation(values.double(), over_time) for values in points])
    return r.nan_to_num(0.0).float().numpy()


def page_words(key: str) -> Expression:
    """Words of the page within a figure."""
    return Choose(State("language"), {language: words[key] for language, words in WORDS.items()})


def in_languages(expression: Expression) -> dict[str, str]:
    """An expression without arrays, in words, by language."""
    return {language: evaluate(expression, {"language": language}, translate_message) for language in TRANSLATIONS}


def layer_name(name: str, names: list[str]) -> Expression:
    """Only as much as tells a layer from the run's others: "encoder · layer 0 · backwards"."""
    parsed = {one: RECURRENT_POINT.fullmatch(f"{one}.hidden") for one in {name, *names}}
    mine = parsed[name]
    assert mine is not None
    layer = Format("layer {n}", n=int(mine["layer"]))
    parts: list[Expression] = []
    if mine["stack"]:
        parts.append(Format("encoder") if mine["stack"].startswith("encoder") else Format("decoder"))
    if any(one and one["layer"] != "0" for one in parsed.values()):
        parts.append(layer)
    if any(one and one["stack"] == mine["stack"] and one["direction"] == "bwd" for one in parsed.values()):
        parts.append(Format("forwards") if mine["direction"] == "fwd" else Format("backwards"))
    parts = parts or [layer]
    return Choose(State("language"), {one: " · ".join(evaluate(part, {"language": one}, translate_message) for part in parts) for one in TRANSLATIONS})  # fmt: skip


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


def candidate_signals(tokens: list[str], most: int | None = None) -> dict[str, list[float]]:
    """Name → one number per token: signals that a unit may be correlated with; of the commonest tokens, if there are more."""
    commonest = {token for token, _ in Counter(tokens).most_common(most)}
    signals = {}
    if all(token.isascii() and token.isdigit() for token in tokens):
        signals["parity"] = (np.cumsum([int(token) for token in tokens]) % 2).tolist()
    signals["position"] = list(range(len(tokens)))
    for token in dict.fromkeys(token for token in tokens if token in commonest):
        signals[f"token {token}"] = [int(other == token) for other in tokens]
    return {name: values for name, values in signals.items() if len(set(values)) > 1}


def collect_views(run: AnyRun, model_input: ModelInput, file: str) -> list[tuple[GateTerms, RecurrentView]]:
    axes = {"source": model_input.source, "given": model_input.decoder_tokens}
    steps = [snapshot.step for snapshot in run.snapshots]
    terms = collect_gate_terms(run, model_input)
    return [(layer, layer.view(axes[layer.states.axis], steps, file)) for layer in terms]


def gate_figures(view: RecurrentView) -> dict[str, Live]:
    """By name: "layer/units", "layer/tokens", "layer/training" and "layer/path.state"."""
    return {
        f"{view.name}/units": units(view),
        f"{view.name}/tokens": unit_over_tokens(view),
        f"{view.name}/training": unit_over_training(view),
        **{f"{view.name}/path.{state}": path(view, state) for state in view.paths},
    }


def pack_gates(run: AnyRun, model_input: ModelInput, runs: dict[str, list[str]], file: str = "gates") -> bytes:
    """The figures of every recurrent layer (`gate_figures`).

    runs: by what a gradient is of, the runs it is shown for. Gates and states come with the arrays of `/api/look`.
    """
    arrays, layers, figures, known = {}, [], {}, set()
    views = collect_views(run, model_input, file)
    names = [view.name for _, view in views]
    for terms, view in views:
        arrays |= terms.arrays()
        known |= {array.name for array in view.arrays.values()}
        figures |= gate_figures(view)
        layers.append(
            {
                "name": view.name,
                "title": in_languages(layer_name(view.name, names)),
                "kind": view.kind,
                "activation": view.activation,
                "backwards": view.backwards,
                "points": view.points,
                "signed": [point for point in view.points if point in SIGNED],
                "limits": {point: float(view.limit(point).max()) for point in view.points},
                "sorts": [{"value": name, "text": in_languages(sort_name(name))} for name in view.sorts],
                "states": list(view.paths),
            }
        )
    return pack_figures(figures, {"layers": layers, "runs": runs}, arrays, known)
