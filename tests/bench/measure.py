"""Ratios of two implementations timed in turns, so that other load affects both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Row:
    name: str
    ratio: float
    goal: float | None
    note: str = ""

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"≤ {self.goal:.2f}  {'ok' if self.ratio <= self.goal else 'MISSED'}"
        return f"{self.name:<70} {self.ratio:>6.2f}  {goal:<15} {self.note}"


def compare(
    name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: float | None, *, rounds: int = 15
) -> Row:
    """Median over rounds of ours / theirs, each round timing both once, in alternating order."""
    ours(), theirs()
    ratios, own_times = [], []
    for i in range(rounds):
        first, second = (ours, theirs) if i % 2 else (theirs, ours)
        a, b = seconds(first), seconds(second)
        own, other = (a, b) if i % 2 else (b, a)
        ratios.append(own / other)
        own_times.append(own)
    return Row(name, statistics.median(ratios), goal, f"{statistics.median(own_times) * 1e3:.1f} ms")


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def saved_bytes(forward: Callable[[], torch.Tensor]) -> int:
    """Bytes that autograd keeps for the backward pass."""
    sizes: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        forward()
    return sum(sizes.values())
