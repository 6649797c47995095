"""The trace of a deep stack from that of a shallow one: layers between the third and the last repeat the third.

On the meta device an operation costs as much time as a small real one or more, so of 96 layers four are run. The
modules and parameters are always those of the full model; the tests compare these shapes with a full pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from torch import nn

from core.architecture.tracing import IncomingEdge, Trace
from core.config.families import Config

LAYERS = 4  # that are run: the first, two to repeat, the last
REPEATED = LAYERS - 2


def reduce_depth(config: Config) -> Config:
    """The same configuration with at most `LAYERS` layers per stack."""
    fewer = {"n_layers": min(config.n_layers, LAYERS)}
    if getattr(config, "decoder_layers", 0) > LAYERS:
        fewer["n_decoder_layers"] = LAYERS
    return replace(config, **fewer)


def expand_depth(trace: Trace, shallow: nn.Module, model: nn.Module) -> Trace:
    """The trace of the shallow model as that of the full one, stack by stack."""
    for path, stack in shallow.named_modules():
        if not isinstance(stack, nn.ModuleList | nn.Sequential):
            continue
        full = model.get_submodule(path)
        assert isinstance(full, nn.ModuleList | nn.Sequential)
        if len(full) > len(stack):
            trace = _expand_stack(trace, path, len(full))
    return trace


def _expand_stack(trace: Trace, stack: str, depth: int) -> Trace:
    def move_last(name: str) -> str:
        return _renumber(name, stack, lambda index: depth - 1 if index == LAYERS - 1 else index)

    def shift(name: str, by: int) -> str:
        return _renumber(name, stack, lambda index: index + by)

    shapes, points, sources = {}, set(), {}

    def add(old: str, rename: Callable[[str], str]) -> None:
        name = rename(old)
        shapes[name] = trace.shapes[old]
        sources[name] = [IncomingEdge(rename(edge.node), edge.recurrent) for edge in trace.sources.get(old, [])]
        if old in trace.points:
            points.add(name)

    repeated = [name for name in trace.shapes if _layer_index(name, stack) == REPEATED]
    for name in trace.shapes:
        if _layer_index(name, stack) == LAYERS - 1:  # its input from the layer before comes from the last copy
            add(name, lambda node: shift(node, depth - LAYERS))
            continue
        add(name, move_last)
        if repeated and name == repeated[-1]:
            for by in range(1, depth - LAYERS + 1):
                for old in repeated:
                    add(old, lambda node, by=by: shift(node, by))
    return Trace(shapes, points, trace.inputs, sources)


def _layer_index(name: str, stack: str) -> int | None:
    """The number of the layer of this stack that a node belongs to."""
    match = re.match(rf"{re.escape(stack)}\.(\d+)\b", name)
    return int(match[1]) if match else None


def _renumber(name: str, stack: str, new_index: Callable[[int], int]) -> str:
    index = _layer_index(name, stack)
    if index is None:
        return name
    return f"{stack}.{new_index(index)}{name[len(stack) + 1 + len(str(index)) :]}"
