"""Deep stacks by a shallow one: layers between the third and the last do what the third does, with its shapes.

On the meta device an operation costs as much time as a small real one or more, so of 96 layers four are run. The
modules and parameters are always those of the whole model; the tests compare these shapes with a full pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from torch import nn

from core.architecture.flow import Source, Trace
from core.config.families import Config

LAYERS = 4  # that are run: the first, two to repeat, the last
REPEATED = LAYERS - 2


def shallow(config: Config) -> Config:
    fewer = {"n_layers": min(config.n_layers, LAYERS)}
    if getattr(config, "decoder_layers", 0) > LAYERS:
        fewer["n_decoder_layers"] = LAYERS
    return replace(config, **fewer)


def expand_depth(seen: Trace, twin: nn.Module, model: nn.Module) -> Trace:
    """The trace of a shallow twin as that of the model, stack by stack."""
    for path, few in twin.named_modules():
        if isinstance(few, nn.ModuleList | nn.Sequential) and (depth := len(model.get_submodule(path))) > len(few):
            seen = _deepened(seen, path, depth)
    return seen


def _deepened(seen: Trace, stack: str, depth: int) -> Trace:
    def last(name: str) -> str:
        return _renamed(name, stack, lambda index: depth - 1 if index == LAYERS - 1 else index)

    def copy(name: str, by: int) -> str:
        return _renamed(name, stack, lambda index: index + by)

    shapes, points, sources = {}, set(), {}

    def add(old: str, rename: Callable[[str], str]) -> None:
        name = rename(old)
        shapes[name] = seen.shapes[old]
        sources[name] = [Source(rename(source.node), source.recurrent) for source in seen.sources.get(old, [])]
        if old in seen.points:
            points.add(name)

    repeated = [name for name in seen.shapes if _index(name, stack) == REPEATED]
    for name in seen.shapes:
        if _index(name, stack) == LAYERS - 1:  # what comes from the layer before comes from the last of the copies
            add(name, lambda node: copy(node, depth - LAYERS))
            continue
        add(name, last)
        if repeated and name == repeated[-1]:
            for by in range(1, depth - LAYERS + 1):
                for old in repeated:
                    add(old, lambda node, by=by: copy(node, by))
    return Trace(shapes, points, seen.inputs, sources)


def _index(name: str, stack: str) -> int | None:
    """Of the layer of this stack that a node belongs to."""
    found = re.match(rf"{re.escape(stack)}\.(\d+)\b", name)
    return int(found[1]) if found else None


def _renamed(name: str, stack: str, new: Callable[[int], int]) -> str:
    index = _index(name, stack)
    if index is None:
        return name
    return f"{stack}.{new(index)}{name[len(stack) + 1 + len(str(index)) :]}"
