"""Compression of a shipped run's snapshots, so that all shipped runs together are a few megabytes.

The last snapshot is stored as it is, in float16. Every earlier one is stored as its difference to the next one, as
decoded, so that errors do not add up: integers from −31 to 31 times one scale per row, deflated. A weight is thus off
by at most 1/62 of the largest change in its row between the two snapshots. The first snapshot is not stored: recipe
and seed give it again.
"""

from __future__ import annotations

import zlib

import numpy as np
import torch
from torch import Tensor

from core.training.snapshots import Snapshot

LEVELS = 31


def pack(snapshots: list[Snapshot]) -> dict[str, Tensor]:
    """Tensors for a file: `last/<parameter>` in float16, and the bytes of each step between first and last (uint8)."""
    last = snapshots[-1].weights
    tensors = {f"last/{name}": weights.contiguous() for name, weights in last.items()}
    following = {name: weights.float() for name, weights in last.items()}
    for snapshot in reversed(snapshots[1:-1]):
        scales, levels = [], []
        for name, weights in snapshot.weights.items():
            difference = _rows(weights.float() - following[name])  # (row, column)
            scale = (difference.abs().amax(1, keepdim=True) / LEVELS).half()
            level = (difference / scale.float().clamp_min(1e-12)).round().clamp(-127, 127)
            scales.append(scale.numpy().tobytes())
            levels.append(level.to(torch.int8).numpy().tobytes())
            following[name] = _add_difference(following[name], scale, level)
        packed = zlib.compress(b"".join(scales + levels), 9)
        tensors[str(snapshot.step)] = torch.frombuffer(bytearray(packed), dtype=torch.uint8)
    return tensors


def unpack(tensors: dict[str, Tensor], steps: list[int], first: Snapshot) -> list[Snapshot]:
    """The inverse of `pack`: the snapshots at these steps, beginning with the given first one."""
    last = {name.removeprefix("last/"): weights for name, weights in tensors.items() if name.startswith("last/")}
    snapshots = [Snapshot(steps[-1], {name: last[name] for name in first.weights})]
    following = {name: weights.float() for name, weights in snapshots[0].weights.items()}
    for step in reversed(steps[1:-1]):
        data = zlib.decompress(tensors[str(step)].numpy().tobytes())
        rows = [len(_rows(weights)) for weights in following.values()]
        scales = torch.from_numpy(np.frombuffer(data, np.float16, sum(rows)).copy()).split(rows)
        levels = torch.from_numpy(np.frombuffer(data, np.int8, offset=2 * sum(rows)).astype(np.float32))
        parts = levels.split([weights.numel() for weights in following.values()])
        following = {
            name: _add_difference(weights, scale[:, None], level.view(len(scale), -1))
            for (name, weights), scale, level in zip(following.items(), scales, parts, strict=True)
        }
        snapshots.append(Snapshot(step, {name: weights.half() for name, weights in following.items()}))
    return [first, *reversed(snapshots)]


def _rows(weights: Tensor) -> Tensor:
    return weights.reshape(len(weights), -1) if weights.dim() > 1 else weights.reshape(1, -1)


def _add_difference(weights: Tensor, scale: Tensor, level: Tensor) -> Tensor:
    return weights + (scale.float() * level).view_as(weights)
