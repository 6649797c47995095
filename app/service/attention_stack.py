"""The attention maps of one stack of layers at every snapshot, stored layer by layer while `snapshot_arrays` runs the model.

512 tokens × 144 heads are 151 MB at every snapshot. So each layer is processed as it is captured (`core.capture` with
`keep`), and of long inputs only the largest weight of each tile is stored. One head's exact map is computed on request
(`app/service/attention_arithmetic.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from app.service.inputs import ModelInput
from core.analysis import measures
from core.capture.point_names import ATTENTION_WEIGHTS

ATTENTION_POINTS = ("*.weights", "*.mask")  # to capture
MIN_REPEATED = 0.25  # share of tokens that must have occurred before, or induction cannot be measured
EXACT_BYTES = 3_000_000  # up to here weights are sent in float32
FINE_BYTES = 16_000_000  # up to here in steps of 1/65535, two bytes each; above in steps of 1/255
GRID_SIDE = 128  # inputs longer than this are pooled
WHOLE_SIDE, WHOLE_CELLS = 256, 1_000_000  # but not up to this length, if all heads have so few cells together
GRID_BYTES = 24_000_000  # what is larger at all snapshots is pooled too


@dataclass
class AttentionStack:
    """Attention maps of one stack: (snapshot, layer, head, query, key), pooled where `pooled` is not 0.

    Made with its name and points only; axes, shape and arrays are set when the first layer is captured.
    """

    name: str  # "blocks", "encoder.blocks", "decoder.blocks", "decoder.cross"
    points: list[str]  # of the weights, one per layer
    model_input: ModelInput
    snapshots: int
    captured: bool = False
    queries: str = "source"  # which axis: "source", "given" or "written"
    keys: str = "source"
    shape: tuple[int, ...] = ()  # before pooling
    weights: Tensor = field(default_factory=lambda: torch.empty(0))  # float32, or whole numbers of `unit`
    allowed: Tensor | None = None  # (query, key): the mask
    pooled: int = 0  # side of the tiles; 0: not pooled
    measures: dict[str, Tensor] = field(default_factory=dict)  # (snapshot, layer, head)
    rollout: Tensor | None = None  # (snapshot, layer, query, key)
    rollout_below: Tensor | None = None  # (query, key): of the current snapshot, up to the last layer captured

    @property
    def nbytes(self) -> int:
        return self.weights.nbytes + (0 if self.rollout is None else self.rollout.nbytes)

    def describe(self) -> dict[str, Any]:
        """For the page's JSON."""
        return {
            "name": self.name,
            "points": self.points,
            "queries": self.queries,
            "keys": self.keys,
            "measures": list(self.measures),
            "rollout": self.rollout is not None,
            "masked": self.allowed is not None and not bool(self.allowed.all()),
            "pooled": self.pooled,
            "shape": list(self.shape),
        }

    def set_mask(self, mask: Tensor) -> None:
        self.allowed = mask[0, 0] if self.allowed is None else self.allowed

    def add_layer(self, snapshot: int, layer: int, weights: Tensor) -> None:
        """One layer at one snapshot, weights (head, query, key)."""
        if not self.captured:
            self._allocate(*weights.shape)
        store_weights(self.weights[snapshot], layer, pool(weights, self.pooled))
        for name, values in measure_heads(weights, self.queries, self.keys, self.model_input).items():
            self.measures.setdefault(name, torch.empty(self.shape[:3]))[snapshot, layer] = values
        if self.rollout is not None:  # needs only the mean over each layer's heads
            mixed = measures.mix_residual(weights.mean(0))
            self.rollout_below = mixed if self.rollout_below is None or layer == 0 else mixed @ self.rollout_below
            store_weights(self.rollout[snapshot], layer, pool(self.rollout_below[None], self.pooled)[0])

    def _allocate(self, heads: int, rows: int, columns: int) -> None:
        self.captured = True
        self.queries, self.keys = attention_axes(self.name, columns, self.model_input)
        if self.allowed is not None:
            self.allowed = self.allowed.expand(rows, columns)
        self.shape = (self.snapshots, len(self.points), heads, rows, columns)
        self.pooled = tile_side(self.shape)
        sides = [-(-side // max(1, self.pooled)) for side in (rows, columns)]
        self.weights = allocate_weights(*self.shape[:3], *sides)
        if not self.name.startswith("decoder"):  # cross-attention mixes other tokens into a decoder's
            self.rollout = allocate_weights(self.snapshots, len(self.points), *sides)


def stack_name(module: str) -> str | None:
    """The stack of an attention module: `decoder.blocks.3.cross` → `decoder.cross`; None if it is none."""
    match = ATTENTION_WEIGHTS.fullmatch(f"{module}.weights")
    return f"{match['stack']}{'cross' if match['kind'] == 'cross' else 'blocks'}" if match else None


def attention_axes(name: str, columns: int, model_input: ModelInput) -> tuple[str, str]:
    """Whose tokens the queries and the keys of a stack or point are: "source", "given", "written" or "pooled"."""
    if not name.startswith("decoder"):
        return "source", "source"
    if "cross" not in name:
        return "given", "given"
    # a model may downsample the encoder's output before cross-attention
    return "written", "pooled" if columns < len(model_input.source) else "source"


def empty_stacks(model: nn.Module, model_input: ModelInput, snapshots: int) -> list[AttentionStack]:
    """One for each attention stack in the model."""
    points_by_stack: dict[str, list[str]] = {}
    for path, _ in model.named_modules():
        name = stack_name(path)
        if name:
            points_by_stack.setdefault(name, []).append(f"{path}.weights")
    return [AttentionStack(name, points, model_input, snapshots) for name, points in points_by_stack.items()]


def record_capture(stacks: list[AttentionStack], snapshot: int, name: str, value: Tensor) -> None:
    """Adds a captured tensor (1, …), weights or mask, to the stack that has its point."""
    point = name.removesuffix(".mask") + ".weights" if name.endswith(".mask") else name
    for stack in stacks:
        if point in stack.points:
            if point != name:
                stack.set_mask(value)
            else:
                stack.add_layer(snapshot, stack.points.index(point), value[0])


def measure_heads(weights: Tensor, queries: str, keys: str, model_input: ModelInput) -> dict[str, Tensor]:
    """name → (head,): the measures that apply to this input and these axes, of weights (head, query, key)."""
    values = {"entropy": measures.entropy(weights)}
    if keys != queries:
        if model_input.alignment is not None and keys == "source":
            values["agreement"] = measures.agreement(weights, model_input.alignment)
        return values
    if weights.shape[-1] == 1:  # no other token to attend to
        return values
    ids = model_input.batch.inputs[1 if queries == "given" else 0][0]
    values |= {
        "distance": measures.distance(weights),
        "previous": measures.previous_token(weights),
        "own": measures.own_token(weights),
        "first": measures.first_token(weights),
    }
    repeats = measures.induction_targets(ids).any(-1).sum()
    if repeats >= MIN_REPEATED * len(ids):
        values["induction"] = measures.induction(weights, ids)
    return values


def tile_side(shape: tuple[int, ...]) -> int:
    """Side of the tiles into which maps (…, query, key) are pooled to keep within the limits; 0: no pooling."""
    *maps, rows, columns = shape
    count, longest, all_heads = prod(maps), max(rows, columns), prod(shape[-4:])
    if longest <= WHOLE_SIDE and all_heads <= WHOLE_CELLS and 2 * prod(shape) <= FINE_BYTES:
        return 0
    side = -(-longest // GRID_SIDE)
    while count * -(-rows // side) * -(-columns // side) > GRID_BYTES:
        side += 1
    return 0 if side == 1 else side


def pool(weights: Tensor, side: int) -> Tensor:
    """(…, query, key): the largest weight of each tile"""
    if not side:
        return weights
    tiles = torch.nn.functional.max_pool2d(weights.flatten(0, -3), side, ceil_mode=True)
    return tiles.unflatten(0, weights.shape[:-2])


def allocate_weights(*shape: int) -> Tensor:
    """Empty; float32 while that is small, else whole numbers of `unit` each."""
    cells = prod(shape)
    fits = (torch.float32, EXACT_BYTES), (torch.uint16, FINE_BYTES)
    return torch.empty(shape, dtype=next((kind for kind, most in fits if cells * kind.itemsize <= most), torch.uint8))


def unit(array: Tensor) -> float:
    """What 1 stands for in an array of weights."""
    return 1.0 if array.is_floating_point() else 1 / torch.iinfo(array.dtype).max


def store_weights(array: Tensor, index: int, weights: Tensor) -> None:
    """`array[index] = weights`, rounded to the array's type."""
    array[index] = weights if array.is_floating_point() else weights.div(unit(array)).round().to(array.dtype)
