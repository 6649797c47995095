"""Costs of one recurrent, convolutional and attention layer, predicted and measured (Vaswani et al. 2017, table 1)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from core.architecture.tracing import iter_tensors
from core.layers.attention import Attention, AttentionScope
from core.layers.positions import RelativePosition
from core.layers.recurrent.cells import RnnLayer
from core.seeding import seeded

KERNEL, HEADS, ROUNDS = 3, 4, 7


STATED = {  # for n tokens of width d and kernels of size k: operations, sequential operations, longest path
    "rnn": ("n · d²", "n", "n"),
    "cnn": ("k · n · d²", "1", "n / ⌊k/2⌋"),
    "attention": ("n² · d", "1", "1"),
}


@dataclass(frozen=True)
class LayerCost:
    """Predicted complexities as formulas, and measurements at n and at 2n tokens."""

    name: str
    cost: str  # number of operations
    steps: str  # sequential operations
    path: str  # length from the first token to the last
    flops: tuple[int, int]
    seconds: tuple[float, float]
    chain: tuple[int, int]  # longest chain of dependent operations
    hops: tuple[int, int]  # layers or positions until the last output depends on the first token


def compare_layers(n: int = 256, width: int = 64) -> list[LayerCost]:
    """The costs of the three kinds of layers."""
    with seeded(0):
        rnn, cnn = RnnLayer(width, width).eval(), nn.Conv1d(width, width, KERNEL, padding=KERNEL // 2).eval()
        attention = Attention(width, HEADS).eval()

    def recur(x: Tensor, engine: str = "stepwise") -> Tensor:
        return rnn(x, None, None, backward=False, engine=engine, need_state=False)[0]

    def convolve(x: Tensor) -> Tensor:
        return cnn(x.transpose(1, 2)).transpose(1, 2)

    def attend(x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[1])
        return attention(x, AttentionScope(RelativePosition(), positions, positions))

    layers = {
        "rnn": (recur, lambda x: recur(x, "fused")),
        "cnn": (convolve, convolve),
        "attention": (attend, attend),
    }
    durations = _seconds([fused for _, fused in layers.values()], n, width)
    costs = []
    for (name, (layer, _)), seconds in zip(layers.items(), durations, strict=True):
        flops = _flops(layer, n, width), _flops(layer, 2 * n, width)
        chain = _chain(layer, n, width), _chain(layer, 2 * n, width)
        hops = _hops(name, layer, n, width), _hops(name, layer, 2 * n, width)
        costs.append(LayerCost(name, *STATED[name], flops, seconds, chain, hops))
    return costs


def _example(n: int, width: int) -> Tensor:
    return torch.randn(1, n, width, generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def _seconds(layers: list[Callable[[Tensor], Tensor]], n: int, width: int) -> list[tuple[float, float]]:
    """The minimum over several passes at n and 2n tokens; layers take turns, so that other load affects all alike."""
    inputs = [_example(size, width) for size in (n, 2 * n)]
    durations: list[tuple[list[float], list[float]]] = [([], []) for _ in layers]
    for _ in range(ROUNDS):
        for layer, by_length in zip(layers, durations, strict=True):
            for x, times in zip(inputs, by_length, strict=True):
                start = time.perf_counter()
                layer(x)
                times.append(time.perf_counter() - start)
    return [(min(short), min(long)) for short, long in durations]


@torch.no_grad()
def _flops(layer: Callable[[Tensor], Tensor], n: int, width: int) -> int:
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        layer(_example(n, width))
    return counter.get_total_flops()


@torch.no_grad()
def _chain(layer: Callable[[Tensor], Tensor], n: int, width: int) -> int:
    x, counter = _example(n, width), _ChainCounter()
    with counter:
        out = layer(x)
    return counter.lengths[id(out)]


class _ChainCounter(TorchFunctionMode):
    """For each tensor, the length of the longest chain of torch operations that led to it."""

    def __init__(self):
        super().__init__()
        self.lengths: dict[int, int] = {}
        self.alive: list[Any] = []  # so that no id is reused

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        before = max((self.lengths.get(id(tensor), 0) for tensor in iter_tensors([args, kwargs])), default=0)
        for tensor in iter_tensors(out):
            self.lengths[id(tensor)] = before + 1
            self.alive.append(tensor)
        return out


@torch.no_grad()
def _hops(name: str, layer: Callable[[Tensor], Tensor], n: int, width: int) -> int:
    """The number of stacked layers after which the last output depends on the first token, found by letting NaN spread.

    One recurrent layer suffices, but passes n positions: n.
    """
    x = _example(n, width)
    x[0, 0] = torch.nan
    layers = 0
    while not x[0, -1].isnan().any():
        x = layer(x)
        layers += 1
    return n if name == "rnn" else layers
