"""Weight snapshots at log-spaced training steps, float16 and bounded in size; replay of any input at each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from core.capture.tape import Tape, capture
from core.errors import InputError
from core.training.optimisers import load_parameters

MOST_SNAPSHOTS = 40
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Snapshot:
    step: int
    weights: dict[str, Tensor]  # float16

    @classmethod
    def of(cls, step: int, model: nn.Module) -> Snapshot:
        return cls(
            step, {name: p.detach().to("cpu", torch.float16, copy=True) for name, p in model.named_parameters()}
        )

    @property
    def bytes(self) -> int:
        return sum(w.nbytes for w in self.weights.values())


def snapshot_steps(steps: int, most: int = MOST_SNAPSHOTS) -> list[int]:
    """At most `most` log-spaced steps, 0, 1, 2, 3, 5, 7, …, steps: dense at the start, where learning is fast."""
    spaced = torch.logspace(0, torch.log10(torch.tensor(float(max(steps, 1)))).item(), most - 1, dtype=torch.float64)
    return sorted({0, steps, *(round(s) for s in spaced.tolist())})


class Snapshots:
    """The snapshots of a run, in order. Beyond `MOST_BYTES` every second one is dropped, never the first or the last.

    A fork inherits some of its parent's and takes the rest at its own steps, dense after the fork.
    """

    def __init__(self, steps: int, begin: int = 0):
        most = MOST_SNAPSHOTS // 2 if begin else MOST_SNAPSHOTS
        self.scheduled_steps = {begin + step for step in snapshot_steps(steps - begin, most)}
        self.entries: list[Snapshot] = []

    def inherit(self, snapshots: list[Snapshot]) -> None:
        """Start with a parent's snapshots, thinned out to leave room for the fork's own."""
        self.entries = snapshots
        while len(self.entries) > MOST_SNAPSHOTS // 2:
            self._thin()

    def __repr__(self) -> str:
        return f"Snapshots(steps {', '.join(str(snapshot.step) for snapshot in self.entries)})"

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.entries)

    def __getitem__(self, index: int) -> Snapshot:
        return self.entries[index]

    def record(self, step: int, model: nn.Module) -> None:
        """Take a snapshot if this step is a scheduled one that is not there yet."""
        if step in self.scheduled_steps and (not self.entries or self.entries[-1].step < step):
            self.entries.append(Snapshot.of(step, model))
            while sum(s.bytes for s in self.entries) > MOST_BYTES and len(self.entries) > 2:
                self._thin()

    def _thin(self) -> None:
        self.entries = [*self.entries[:-1][::2], self.entries[-1]]


def snapshot_models(model: nn.Module, snapshots: Iterable[Snapshot]) -> Iterator[tuple[Snapshot, nn.Module]]:
    """Each snapshot with the model at its weights: one copy, reloaded every time; `model` itself is not changed."""
    copy = deepcopy(model).cpu().eval()
    for snapshot in snapshots:
        load_parameters(copy, snapshot.weights)
        yield snapshot, copy


def replay(
    models: Iterable[tuple[Snapshot, nn.Module]], inputs: tuple[Tensor | None, ...], patterns: tuple[str, ...]
) -> list[Tape]:
    """One tape per snapshot, for the same input; `models` as from `snapshot_models`."""
    tapes = []
    for _, model in models:
        with torch.no_grad(), capture(model, *patterns) as tape:
            model(*inputs)
        tapes.append(tape)
    return tapes


def split_inputs_and_patterns(arguments: tuple[Any, ...]) -> tuple[tuple[Tensor | None, ...], tuple[str, ...]]:
    """Arguments of `replay` by type: tensors or lists of token ids (None: an input left out), and strings."""
    inputs = tuple(_as_ids(a) for a in arguments if not isinstance(a, str))
    if not inputs:
        raise InputError("There is nothing to replay: give token ids first.")
    return inputs, tuple(a for a in arguments if isinstance(a, str))


def _as_ids(value: Any) -> Tensor | None:
    if value is None or isinstance(value, Tensor):
        return value
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(value).__name__
        raise InputError(
            "A replay takes tensors or lists of token ids, each row as long as the others, and "
            "patterns; not this {kind}.",
            kind=kind,
        ) from error
