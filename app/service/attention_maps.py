"""A stack of attention maps through all of a training, filled snapshot by snapshot: exact while that is small, else pooled.

512 tokens × 144 heads are 151 MB at every snapshot. So each layer is read as it passes (`core.capture`), and of long
inputs only the largest weight of each tile is kept, in steps of 1/255; one head's exact map is asked for by itself
(`app/service/attention_arithmetic.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from app.service.inputs import Problem
from core.analysis import measures
from core.capture.point_names import ATTENTION_WEIGHTS

FEWEST_REPEATS = 0.25  # of the tokens must have occurred before, or induction cannot be judged
EXACT_BYTES = 3_000_000  # below this, weights travel as they are; above, as bytes of 1/255
GRID_SIDE = 128  # inputs longer than this are pooled
GRID_BYTES = 24_000_000  # and so are those of which all heads at all snapshots would be more

MAPS = ("*.weights", "*.mask")


@dataclass
class Heads:
    """One stack of attention maps: (snapshot, layer, head, query, key), pooled where `pooled` is not 0.

    What is known before the model runs is its place in the model; the rest when its first layer passes.
    """

    name: str  # "blocks", "encoder.blocks", "decoder.blocks", "decoder.cross"
    points: list[str]  # one per layer, as on the tape
    problem: Problem
    snapshots: int
    seen: bool = False
    queries: str = "source"  # which axis: "source", "given" or "written"
    keys: str = "source"
    shape: tuple[int, ...] = ()  # as captured
    weights: Tensor | None = None  # float32, or uint8 in steps of 1/255
    allowed: Tensor | None = None  # (query, key): where the model may look
    pooled: int = 0  # so many queries and keys went into one; 0: none were put together
    measures: dict[str, Tensor] = field(default_factory=dict)  # (snapshot, layer, head)
    rollout: Tensor | None = None  # (snapshot, layer, query, key)
    reached: Tensor | None = None  # (query, key): the rollout so far, of the snapshot that is passing

    def mask(self, mask: Tensor) -> None:
        self.allowed = mask[0, 0] if self.allowed is None else self.allowed

    def take(self, snapshot: int, layer: int, weights: Tensor) -> None:
        """One layer at one snapshot, weights (head, query, key)."""
        if not self.seen:
            self.begin(*weights.shape)
        fill(self.weights[snapshot], layer, pool(weights, self.pooled))
        for name, values in measured(weights, self.queries, self.keys, self.problem).items():
            self.measures.setdefault(name, torch.empty(self.shape[:3]))[snapshot, layer] = values
        if self.rollout is not None:  # needs no more of a layer than the mean of its heads
            mixed = measures.mix_residual(weights.mean(0))
            self.reached = mixed if layer == 0 else mixed @ self.reached
            fill(self.rollout[snapshot], layer, pool(self.reached[None], self.pooled)[0])

    def begin(self, count: int, rows: int, columns: int) -> None:
        """Make room."""
        self.seen = True
        if self.name.startswith("decoder"):
            self.queries, self.keys = ("written", "source") if "cross" in self.name else ("given", "given")
        if self.keys == "source" and columns < len(self.problem.source):
            self.keys = "pooled"  # a model that shortens its memory before the decoder looks at it
        if self.allowed is not None:
            self.allowed = self.allowed.expand(rows, columns)
        self.shape = (self.snapshots, len(self.points), count, rows, columns)
        self.pooled = tile_side(self.shape)
        small = [-(-side // max(1, self.pooled)) for side in (rows, columns)]
        self.weights = room(*self.shape[:3], *small)
        if not self.name.startswith(
            "decoder"
        ):  # with cross-attention, a decoder mixes in tokens that are not its own
            self.rollout = room(self.snapshots, len(self.points), *small)


def stacks_of(model: nn.Module, problem: Problem, snapshots: int) -> list[Heads]:
    """The stacks of a model, empty; those without attention stay so."""
    grouped: dict[str, list[str]] = {}
    for path, _ in model.named_modules():
        found = ATTENTION_WEIGHTS.fullmatch(f"{path}.weights")
        if found:
            kind = "cross" if found["kind"] == "cross" else "blocks"
            grouped.setdefault(f"{found['stack']}{kind}", []).append(f"{path}.weights")
    return [Heads(name, points, problem, snapshots) for name, points in grouped.items()]


def see(stacks: list[Heads], snapshot: int, name: str, value: Tensor) -> None:
    """A tensor (1, …) that passes: to the stack it belongs to."""
    point = name.removesuffix(".mask") + ".weights" if name.endswith(".mask") else name
    for stack in stacks:
        if point in stack.points:
            if point != name:
                stack.mask(value)
            else:
                stack.take(snapshot, stack.points.index(point), value[0])


def measured(weights: Tensor, queries: str, keys: str, problem: Problem) -> dict[str, Tensor]:
    """What each head does on this input, weights (head, query, key): (head,) each."""
    found = {"entropy": measures.entropy(weights)}
    if keys != queries:
        if problem.alignment is not None and keys == "source":
            found["agreement"] = measures.agreement(weights, problem.alignment)
        return found
    if weights.shape[-1] == 1:  # nobody else to look at
        return found
    ids = problem.batch.inputs[1 if queries == "given" else 0][0]
    found |= {
        "distance": measures.distance(weights),
        "previous": measures.previous_token(weights),
        "own": measures.own_token(weights),
        "first": measures.first_token(weights),
    }
    repeats = measures.induction_targets(ids).any(-1).sum()
    if repeats >= FEWEST_REPEATS * len(ids):
        found["induction"] = measures.induction(weights, ids)
    return found


def tile_side(shape: tuple[int, ...]) -> int:
    """How many queries and keys become one, so that all maps (…, query, key) can travel; 0: none need to."""
    *maps, rows, columns = shape
    count, side = int(torch.tensor(maps).prod()), -(-max(rows, columns) // GRID_SIDE)
    while count * -(-rows // side) * -(-columns // side) > GRID_BYTES:
        side += 1
    return 0 if side == 1 else side


def pool(weights: Tensor, side: int) -> Tensor:
    """(…, query, key): the largest weight of each tile"""
    if not side:
        return weights
    small = torch.nn.functional.max_pool2d(weights.flatten(0, -3), side, ceil_mode=True)
    return small.unflatten(0, weights.shape[:-2])


def room(*shape: int) -> Tensor:
    """For weights: as they are while that is small, else in steps of 1/255."""
    exact = torch.tensor(shape).prod() * 4 <= EXACT_BYTES
    return torch.empty(shape, dtype=torch.float32 if exact else torch.uint8)


def fill(kept: Tensor, index: int, weights: Tensor) -> None:
    kept[index] = weights if kept.is_floating_point() else weights.mul(255).round().to(torch.uint8)
