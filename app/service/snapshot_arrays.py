"""Arrays of one run for one input: every attention map, gate, state and prediction at every snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

import core
from app import payload
from app.service.attention_stack import ATTENTION_POINTS, AttentionStack, empty_stacks, record_capture
from app.service.generation.predictions import describe_prediction
from app.service.inputs import AnyRun, ModelInput, token_axes
from core import InputError
from core.analysis.training_events import ROLE_THRESHOLD
from core.capture.point_names import RECURRENT_POINT
from core.capture.tape import Keep, Tape
from core.runs.pretrained_run import PretrainedRun

FLOAT32_STATE_BYTES = 24_000_000  # up to here gates and states are sent in float32, above in float16
MAX_STATE_BYTES = 80_000_000  # of those in float16


@dataclass
class RecurrentStates:
    """Gates and states of one recurrent layer in one direction: point → (snapshot, time, unit)."""

    name: str  # "layers.0.fwd"
    axis: str  # whose tokens are read: "source" or "given"
    points: dict[str, Tensor]


@dataclass
class SnapshotArrays:
    """Everything the page shows of a run for one input; every array begins with the snapshot's index."""

    model_input: ModelInput
    steps: list[int]  # of the snapshots
    attention: list[AttentionStack]
    recurrent: list[RecurrentStates]
    predictions: list[dict]  # one per snapshot
    downsample: int = 1  # source tokens that are one key of the cross-attention

    trained: bool = True  # False: a checkpoint, of which only the end of its training is there

    @property
    def nbytes(self) -> int:
        states = (values for layer in self.recurrent for values in layer.points.values())
        return sum(stack.nbytes for stack in self.attention) + sum(values.nbytes for values in states)

    @property
    def axes(self) -> dict[str, list[str]]:
        return token_axes(self.model_input, self.downsample)

    def pack(self) -> bytes:
        """For the page: tokens and predictions, gates and states. Attention goes with its figures."""
        arrays, layers = {}, []
        for layer in self.recurrent:
            for point, values in layer.points.items():
                arrays[f"{layer.name}.{point}"] = values.numpy()
            layers.append({"name": layer.name, "axis": layer.axis, "points": list(layer.points)})
        header = {
            "text": self.model_input.text,
            "axes": self.axes,
            "known": self.model_input.known,
            "alignment": self.model_input.alignment,
            "steps": self.steps,
            "heads": [stack.describe() for stack in self.attention],
            "recurrent_layers": layers,
            "answers": self.predictions,
            "clear": ROLE_THRESHOLD,
        }
        return payload.pack(header, arrays)


def collect_arrays(run: AnyRun, model_input: ModelInput) -> SnapshotArrays:
    """Runs the model at every snapshot. Attention maps are reduced layer by layer: together they may be gigabytes."""
    stacks = empty_stacks(run.model, model_input, len(run.snapshots))
    states, predictions = [], []
    for index, (_, model) in enumerate(run.snapshot_models()):
        tape = _capture(model, model_input, lambda name, value, at=index: record_capture(stacks, at, name, value))
        recurrent = {name: tape[name] for name in tape.names() if RECURRENT_POINT.fullmatch(name)}
        states.append(limit_precision(recurrent, len(run.snapshots), model_input))
        predictions.append(describe_prediction(run, model_input, tape, model))
        del tape
    steps = [snapshot.step for snapshot in run.snapshots]
    downsample = getattr(run.model.config, "downsample", 1)
    captured = [stack for stack in stacks if stack.captured]
    trained = not isinstance(run, PretrainedRun)
    return SnapshotArrays(model_input, steps, captured, group_states(states), predictions, downsample, trained)


def limit_precision(states: dict[str, Tensor], snapshots: int, model_input: ModelInput) -> dict[str, Tensor]:
    """One snapshot's gates and states, in float16 where all snapshots' are large; `InputError` if too large."""
    numbers = snapshots * sum(values.numel() for values in states.values())
    if numbers * 4 <= FLOAT32_STATE_BYTES:
        return states
    if numbers * 2 > MAX_STATE_BYTES:
        tokens = max(len(model_input.source), len(model_input.decoder_tokens))
        most = tokens * MAX_STATE_BYTES // (numbers * 2)
        raise InputError(
            "The input has {tokens} tokens; with all gates at {snapshots} moments of this run's "
            "training, at most {most} can be shown.",
            tokens=tokens,
            snapshots=snapshots,
            most=most,
        )
    largest = torch.finfo(torch.float16).max  # unbounded states of a run that has diverged may exceed it
    return {name: values.clamp(-largest, largest).half() for name, values in states.items()}


@torch.no_grad()
def _capture(model: nn.Module, model_input: ModelInput, keep_attention: Keep) -> Tape:
    """The tape of everything but attention, which `keep_attention` takes."""
    points = "*layers.*", "logits", "next_sentence"
    with core.capture(model, *points) as tape, core.capture(model, *ATTENTION_POINTS, keep=keep_attention):
        model(*model_input.batch.inputs)
    return tape


def group_states(tapes: Sequence[Mapping[str, Tensor]]) -> list[RecurrentStates]:
    """The recurrent layers on these tapes, of which there is one per snapshot."""
    layers: dict[str, RecurrentStates] = {}
    for name in tapes[0]:
        match = RECURRENT_POINT.fullmatch(name)
        if match:
            layer = f"{match['stack']}layers.{match['layer']}.{match['direction']}"
            axis = "given" if layer.startswith("decoder") else "source"
            states = layers.setdefault(layer, RecurrentStates(layer, axis, {}))
            states.points[match["point"]] = torch.stack([tape[name][0] for tape in tapes])
    return list(layers.values())
