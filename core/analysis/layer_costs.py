"""One layer of each kind, stated and measured: recurrent, convolutional, attention (Vaswani et al. 2017, table 1)."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from core.architecture.flow import tensors
from core.layers.attention import Attention, AttentionScope
from core.layers.positions import RelativePosition
from core.layers.recurrent.cells import RnnLayer
from core.seeding import seeded

KERNEL, HEADS, ROUNDS = 3, 4, 7


@dataclass(frozen=True)
class LayerCost:
    """What is stated, and what is measured at n and at 2n tokens."""

    name: str
    cost: str  # operations
    steps: str  # that must wait for each other
    path: str  # from the first token to the last
    flops: tuple[int, int]
    seconds: tuple[float, float]
    chain: tuple[int, int]  # the longest chain of operations, each of which needs the one before
    hops: tuple[int, int]  # layers or time steps until the last place knows of the first token


def layers_compared(n: int = 256, width: int = 64) -> list[LayerCost]:
    with seeded(0):
        rnn, cnn = RnnLayer(width, width).eval(), nn.Conv1d(width, width, KERNEL, padding=KERNEL // 2).eval()
        attention = Attention(width, HEADS).eval()

    def recur(x: Tensor, engine: str = "stepwise") -> Tensor:
        return rnn(x, None, None, backward=False, engine=engine, need_state=False)[0]

    def convolve(x: Tensor) -> Tensor:
        return cnn(x.transpose(1, 2)).transpose(1, 2)

    def attend(x: Tensor) -> Tensor:
        places = torch.arange(x.shape[1])
        return attention(x, AttentionScope(RelativePosition(), places, places))

    stated = {
        "rnn": ("n · d²", "n", "n", recur, lambda x: recur(x, "fused")),
        "cnn": ("k · n · d²", "1", "n / ⌊k/2⌋", convolve, convolve),
        "attention": ("n² · d", "1", "1", attend, attend),
    }
    timed = _seconds([fast for *_, fast in stated.values()], n, width)
    found = []
    for (name, (cost, steps, path, layer, _)), seconds in zip(stated.items(), timed, strict=True):
        flops = tuple(_flops(layer, size, width) for size in (n, 2 * n))
        chain = tuple(_chain(layer, size, width) for size in (n, 2 * n))
        hops = tuple(_hops(name, layer, size, width) for size in (n, 2 * n))
        found.append(LayerCost(name, cost, steps, path, flops, seconds, chain, hops))
    return found


def _example(n: int, width: int) -> Tensor:
    return torch.randn(1, n, width, generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def _seconds(layers: list[Callable[[Tensor], Tensor]], n: int, width: int) -> list[tuple[float, float]]:
    """The quickest of several passes, taken in turns, so that a busy machine disturbs all alike."""
    inputs = [_example(size, width) for size in (n, 2 * n)]
    taken = [([], []) for _ in layers]
    for _ in range(ROUNDS):
        for layer, times in zip(layers, taken, strict=True):
            for x, kept in zip(inputs, times, strict=True):
                start = clock.perf_counter()
                layer(x)
                kept.append(clock.perf_counter() - start)
    return [(min(short), min(long)) for short, long in taken]


@torch.no_grad()
def _flops(layer: Callable[[Tensor], Tensor], n: int, width: int) -> int:
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        layer(_example(n, width))
    return counter.get_total_flops()


@torch.no_grad()
def _chain(layer: Callable[[Tensor], Tensor], n: int, width: int) -> int:
    x, chains = _example(n, width), _Chains()
    with chains:
        out = layer(x)
    return chains.lengths[id(out)]


class _Chains(TorchFunctionMode):
    """How many operations, one after the other, it took to make each tensor."""

    def __init__(self):
        super().__init__()
        self.lengths: dict[int, int] = {}
        self.held: list[Any] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        before = max((self.lengths.get(id(tensor), 0) for tensor in tensors([args, kwargs])), default=0)
        for tensor in tensors(out):
            self.lengths[id(tensor)] = before + 1
            self.held.append(tensor)
        return out


@torch.no_grad()
def _hops(name: str, layer: Callable[[Tensor], Tensor], n: int, width: int) -> int:
    """Put on top of itself until the last place depends on the first token, which is not a number, and spreads.

    A recurrent layer gets there by itself, in as many steps as there are tokens.
    """
    x = _example(n, width)
    x[0, 0] = torch.nan
    layers = 0
    while not x[0, -1].isnan().any():
        x = layer(x)
        layers += 1
    return n if name == "rnn" else layers
