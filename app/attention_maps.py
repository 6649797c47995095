"""A stack of attention maps through all of a training, filled snapshot by snapshot: exact while that is small, else pooled.

512 tokens × 144 heads are 151 MB at every snapshot. So each tape is read and let go, and of long inputs only the
largest weight of each tile is kept, in steps of 1/255; one head's exact map is asked for by itself (`app/arithmetic.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import torch
from torch import Tensor

from app.problem import Problem
from core import measures
from core.tape import Tape

FEWEST_REPEATS = 0.25  # of the tokens must have occurred before, or induction cannot be judged
EXACT_BYTES = 3_000_000  # below this, weights travel as they are; above, as bytes of 1/255
GRID_SIDE = 128  # inputs longer than this are pooled
GRID_BYTES = 24_000_000  # and so are those of which all heads at all snapshots would be more

ATTENTION = re.compile(r"(?P<stack>.*?)(?:blocks\.(?P<layer>\d+)\.)?(?P<kind>attn|cross)\.weights")


@dataclass
class Heads:
    """One stack of attention maps: (snapshot, layer, head, query, key), pooled where `pooled` is not 0."""

    name: str  # "blocks", "encoder.blocks", "decoder.blocks", "decoder.cross"
    points: list[str]  # one per layer, as on the tape
    queries: str  # which axis: "source", "given" or "written"
    keys: str
    shape: tuple[int, ...]  # as captured
    weights: Tensor  # float32, or uint8 in steps of 1/255
    allowed: Tensor | None  # (query, key): where the model may look
    pooled: int  # so many queries and keys went into one; 0: none were put together
    measures: dict[str, Tensor] = field(default_factory=dict)  # (snapshot, layer, head)
    rollout: Tensor | None = None  # (snapshot, layer, query, key)

    def take(self, index: int, tape: Tape, problem: Problem) -> None:
        """What the snapshot of this index shows, layer by layer: all layers together are large."""
        means = []
        for layer, point in enumerate(self.points):
            weights = tape[point][0]  # (head, query, key)
            fill(self.weights[index], layer, pool(weights, self.pooled))
            for name, values in measured(weights, self.queries, self.keys, problem).items():
                self.measures.setdefault(name, torch.empty(self.shape[:3]))[index, layer] = values
            means.append(weights.mean(0, keepdim=True))
        if self.rollout is not None:  # needs no more of a layer than the mean of its heads
            fill(self.rollout, index, pool(measures.rollout(torch.stack(means)), self.pooled))


def stacks_of(tape: Tape, problem: Problem, snapshots: int) -> list[Heads]:
    """The stacks of a model, empty, with room for so many snapshots."""
    grouped: dict[str, list[str]] = {}
    for name in tape.names():
        found = ATTENTION.fullmatch(name)
        if found:
            kind = "cross" if found["kind"] == "cross" else "blocks"
            grouped.setdefault(f"{found['stack']}{kind}", []).append(name)
    return [_empty(name, points, tape, problem, snapshots) for name, points in grouped.items()]


def _empty(name: str, points: list[str], tape: Tape, problem: Problem, snapshots: int) -> Heads:
    count, rows, columns = tape[points[0]].shape[1:]
    queries = keys = "source"
    if name.startswith("decoder"):
        queries, keys = ("written", "source") if "cross" in name else ("given", "given")
    if keys == "source" and columns < len(problem.source):
        keys = "pooled"  # a model that shortens its memory before the decoder looks at it
    mask = points[0].replace(".weights", ".mask")
    allowed = tape[mask][0, 0].expand(rows, columns) if mask in tape else None
    shape = (snapshots, len(points), count, rows, columns)
    pooled = tile_side(shape)
    small = [-(-side // max(1, pooled)) for side in (rows, columns)]
    rollout = None
    if not name.startswith("decoder"):  # a decoder with cross-attention mixes in tokens that are not its own
        rollout = room(snapshots, len(points), *small)
    weights = room(*shape[:3], *small)
    return Heads(name, points, queries, keys, shape, weights, allowed, pooled, rollout=rollout)


def measured(weights: Tensor, queries: str, keys: str, problem: Problem) -> dict[str, Tensor]:
    """What each head does on this input, weights (head, query, key): (head,) each."""
    found = {"entropy": measures.entropy(weights)}
    if keys != queries:
        if problem.alignment is not None and keys == "source":
            found["agreement"] = measures.agreement(weights, problem.alignment)
        return found
    ids = problem.batch.inputs[1 if queries == "given" else 0][0]
    found |= {
        "distance": measures.distance(weights),
        "previous": measures.previous_token(weights),
        "own": measures.own_token(weights),
        "first": measures.first_token(weights),
    }
    repeats = measures.after_occurrences(ids).any(-1).sum()
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
