"""How the snapshots of a shipped run are packed: small enough that all runs together are a few megabytes.

The last snapshot lies in the file as it was taken. Each one before it is kept as its difference to the one after it, as
that is read back, so that errors do not add up: whole numbers from −31 to 31 times one scale per row, then deflated. A
weight is thus within 1/62 of the furthest that its row moved between the two. The first snapshot is not kept at all:
recipe and seed make it again.
"""

from __future__ import annotations

import zlib

import numpy as np
import torch
from torch import Tensor

from core.training.snapshots import Snapshot

LEVELS = 31


def pack(snapshots: list[Snapshot]) -> dict[str, Tensor]:
    """Tensors for a file: `last/…` in float16, and for each step between the first and the last one string of bytes."""
    last = snapshots[-1].weights
    tensors = {f"last/{name}": weights.contiguous() for name, weights in last.items()}
    after = {name: weights.float() for name, weights in last.items()}
    for snapshot in reversed(snapshots[1:-1]):
        scales, levels = [], []
        for name, weights in snapshot.weights.items():
            moved = _rows(weights.float() - after[name])  # (row, column)
            scale = (moved.abs().amax(1, keepdim=True) / LEVELS).half()
            level = (moved / scale.float().clamp_min(1e-12)).round().clamp(-127, 127)
            scales.append(scale.numpy().tobytes())
            levels.append(level.to(torch.int8).numpy().tobytes())
            after[name] = _moved(after[name], scale, level)
        packed = zlib.compress(b"".join(scales + levels), 9)
        tensors[str(snapshot.step)] = torch.frombuffer(bytearray(packed), dtype=torch.uint8)
    return tensors


def unpack(tensors: dict[str, Tensor], steps: list[int], first: Snapshot) -> list[Snapshot]:
    """The snapshots at these steps, the first of them as given."""
    last = {name.removeprefix("last/"): weights for name, weights in tensors.items() if name.startswith("last/")}
    snapshots = [Snapshot(steps[-1], {name: last[name] for name in first.weights})]
    after = {name: weights.float() for name, weights in snapshots[0].weights.items()}
    for step in reversed(steps[1:-1]):
        data = zlib.decompress(tensors[str(step)].numpy().tobytes())
        rows = [len(_rows(weights)) for weights in after.values()]
        scales = torch.from_numpy(np.frombuffer(data, np.float16, sum(rows)).copy()).split(rows)
        levels = torch.from_numpy(np.frombuffer(data, np.int8, offset=2 * sum(rows)).astype(np.float32))
        parts = levels.split([weights.numel() for weights in after.values()])
        after = {
            name: _moved(weights, scale[:, None], level.view(len(scale), -1))
            for (name, weights), scale, level in zip(after.items(), scales, parts, strict=True)
        }
        snapshots.append(Snapshot(step, {name: weights.half() for name, weights in after.items()}))
    return [first, *reversed(snapshots)]


def _rows(weights: Tensor) -> Tensor:
    return weights.reshape(len(weights), -1) if weights.dim() > 1 else weights.reshape(1, -1)


def _moved(weights: Tensor, scale: Tensor, level: Tensor) -> Tensor:
    return weights + (scale.float() * level).view_as(weights)
