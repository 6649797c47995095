"""The time machine: a model's weights at log-spaced moments of its training, small and bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from core.capture import tape as tapes
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
    """0, 1, 2, 3, 5, 7, …, steps: dense where learning is fast, at most so many."""
    spaced = torch.logspace(0, torch.log10(torch.tensor(float(max(steps, 1)))).item(), most - 1, dtype=torch.float64)
    return sorted({0, steps, *(round(s) for s in spaced.tolist())})


class Snapshots:
    """Weights by step. When they grow past the bound, every second one goes, the first and the last never.

    A fork begins with some of its parent's and spends what is left of them on its own steps, dense after the fork.
    """

    def __init__(self, steps: int, begin: int = 0):
        most = MOST_SNAPSHOTS // 2 if begin else MOST_SNAPSHOTS
        self.wanted = {begin + step for step in snapshot_steps(steps - begin, most)}
        self.kept: list[Snapshot] = []

    def inherit(self, snapshots: list[Snapshot]) -> None:
        """The parent's, as far as they leave room for the fork's own."""
        self.kept = snapshots
        while len(self.kept) > MOST_SNAPSHOTS // 2:
            self._thin()

    def __repr__(self) -> str:
        return f"Snapshots(steps {', '.join(str(snapshot.step) for snapshot in self.kept)})"

    def __len__(self) -> int:
        return len(self.kept)

    def __iter__(self):
        return iter(self.kept)

    def __getitem__(self, index: int) -> Snapshot:
        return self.kept[index]

    def offer(self, step: int, model: nn.Module) -> None:
        """Take a snapshot if this step is one of those wanted."""
        if step in self.wanted and (not self.kept or self.kept[-1].step < step):
            self.kept.append(Snapshot.of(step, model))
            while sum(s.bytes for s in self.kept) > MOST_BYTES and len(self.kept) > 2:
                self._thin()

    def _thin(self) -> None:
        self.kept = [*self.kept[:-1][::2], self.kept[-1]]


def views(model: nn.Module, snapshots: Iterable[Snapshot]) -> Iterator[tuple[Snapshot, nn.Module]]:
    """The model as it was at each of these snapshots: one copy, loaded again and again; the model is not touched."""
    viewer = deepcopy(model).cpu().eval()
    for snapshot in snapshots:
        load_parameters(viewer, snapshot.weights)
        yield snapshot, viewer


def replay(
    views: Iterable[tuple[Snapshot, nn.Module]], inputs: tuple[Tensor, ...], patterns: tuple[str, ...]
) -> list[tapes.Tape]:
    """One tape per view, for the same input."""
    taken = []
    for _, model in views:
        with torch.no_grad(), tapes.capture(model, *patterns) as tape:
            model(*inputs)
        taken.append(tape)
    return taken


def inputs_and_patterns(arguments: tuple[Any, ...]) -> tuple[tuple[Tensor, ...], tuple[str, ...]]:
    """Tensors, or lists of token ids, for the model; texts for the tape; None is an input left out."""
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
