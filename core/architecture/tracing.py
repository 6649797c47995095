"""The data flow of a model: which tap, module and input each tensor comes from, traced in one pass on the meta device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from core.architecture.meta_kernels import FastMetaMode, call_on_meta
from core.capture.editing import Editor
from core.capture.observers import use_observers
from core.capture.tape import capture
from core.layers.recurrent.cells import RecurrentLayer
from core.layers.task_heads.heads import NoHead
from core.models import is_encoder_decoder

Origin = tuple[str, int | None]  # a node, and its position in time where it is computed position by position
PositionPair = tuple[int | None, int | None]  # position in the source node, position in the target node
SHAPE_ONLY = (Tensor.new_zeros, torch.zeros_like)  # use the shape of their arguments, not the numbers
SHORT_SOURCE, SHORT_TARGET = 4, 3  # tokens that suffice to see what flows from one position to the next


@dataclass(frozen=True)
class IncomingEdge:
    """The node a tensor comes from: a tap or an input by its name, a module as `path()`.

    `recurrent`: from the position before (in a backward layer, after).
    """

    node: str
    recurrent: bool = False


@dataclass(frozen=True)
class Trace:
    """The nodes of one forward pass, in the order in which they are computed, and the edges between them."""

    shapes: dict[str, tuple[int, ...]]  # node → shape: inputs, taps, and modules without submodules
    points: set[str]  # those of them that are taps
    inputs: dict[str, str]  # name → path of the module that reads it
    sources: dict[str, list[IncomingEdge]]

    def constants(self) -> set[str]:
        """The nodes that depend on no token."""
        is_constant: dict[str, bool] = {}
        for node in self.shapes:  # in order, so that the sources come first
            sources = [edge.node for edge in self.sources.get(node, []) if not edge.recurrent]
            is_constant[node] = node not in self.inputs and all(is_constant.get(source, True) for source in sources)
        return {node for node, constant in is_constant.items() if constant}


def example_inputs(model: nn.Module, batch: int, time: int, target_time: int) -> dict[str, Tensor]:
    def ids(length: int) -> Tensor:
        return torch.zeros(batch, length, dtype=torch.long, device="meta")

    if is_encoder_decoder(model):
        return {"src": ids(time), "tgt": ids(target_time)}
    segments = {"segments": ids(time)} if getattr(model.config, "n_segments", 0) else {}
    return {"ids": ids(time), **segments}


@torch.no_grad()
def trace_model(model: nn.Module, batch: int, time: int, target_time: int) -> Trace:
    """One forward pass gives shapes and edges.

    Recurrent models run position by position, so their edges are taken from a pass over few tokens (they are the
    same), and only the shapes from a full one.
    """
    tracer = FlowTracer(model)
    if not any(isinstance(module, RecurrentLayer) for module in model.modules()):
        tracer.run(batch, time, target_time)
        return Trace(tracer.shapes, tracer.points, tracer.readers, tracer.sources())
    tracer.run(batch, min(SHORT_SOURCE, time), min(SHORT_TARGET, target_time))
    shapes = node_shapes(model, batch, time, target_time)
    return Trace({name: shapes[name] for name in tracer.shapes}, tracer.points, tracer.readers, tracer.sources())


def node_shapes(model: nn.Module, batch: int, time: int, target_time: int) -> dict[str, tuple[int, ...]]:
    """Node → shape in one forward pass, without edges."""
    inputs = example_inputs(model, batch, time, target_time)
    outputs: dict[str, tuple[int, ...]] = {}

    def record(path: str):
        def hook(module: nn.Module, arguments: tuple, out: Any) -> None:
            if isinstance(out, Tensor):
                outputs.setdefault(f"{path}()", tuple(out.shape))

        return hook

    with ExitStack() as hooks:
        for path, module in model.named_modules():
            if _is_leaf(module):
                hooks.callback(module.register_forward_hook(record(path)).remove)
        with capture(model) as tape, FastMetaMode():
            model(**inputs)
    taps = {name: tuple(tape[name].shape) for name in tape.names()}
    return taps | outputs | {name: tuple(ids.shape) for name, ids in inputs.items()}


class FlowTracer(TorchFunctionMode):
    """Gives the result of every operation the origins of its arguments; a tap or a leaf module is a new origin.

    Tensors are kept alive until the end, so that no two of them share an `id`.
    """

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model
        self.inputs: dict[str, Tensor] = {}
        self.points: set[str] = set()
        self.tapped: set[str] = set()  # modules with taps of their own
        self.origins: dict[int, frozenset[Origin]] = {}  # by id of the tensor
        self.alive: list[Tensor] = []
        self.edges: dict[str, dict[str, set[PositionPair]]] = {}  # target → source → positions
        self.shapes: dict[str, tuple[int, ...]] = {}  # in the order in which the nodes are reached
        self.readers: dict[str, str] = {}  # input → path of the module that reads it
        self.calls: Counter[str] = Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = call_on_meta(func, args, kwargs or {})
        operands = [] if func in SHAPE_ONLY else args[:1] if func is Tensor.expand_as else [args, kwargs]
        origins = self.origins_of(iter_tensors(operands))
        if origins:
            for tensor in iter_tensors(out):
                self.mark(tensor, origins)
        return out

    def origins_of(self, tensors: Iterable[Tensor]) -> frozenset[Origin]:
        return frozenset().union(*(self.origins.get(id(tensor), ()) for tensor in tensors))

    def mark(self, tensor: Tensor, origins: frozenset[Origin]) -> None:
        self.origins[id(tensor)] = origins
        self.alive.append(tensor)

    def reach(self, node: str, position: int | None, tensor: Tensor) -> None:
        """Record the edges into a node; from here on the node is the tensor's only origin."""
        self.shapes.setdefault(node, tuple(tensor.shape))
        edges = self.edges.setdefault(node, {})
        for source, at in self.origins_of([tensor]):
            if (source, at) != (node, position):
                edges.setdefault(source, set()).add((at, position))
        self.mark(tensor, frozenset([(node, position)]))

    def run(self, batch: int, time: int, target_time: int) -> None:
        self.inputs = example_inputs(self.model, batch, time, target_time)
        for name, ids in self.inputs.items():
            self.reach(name, None, ids)
        with ExitStack() as stack:
            for path, module in self.model.named_modules():
                if not _is_leaf(module):
                    continue
                for buffer in module.buffers(recurse=False):  # read without a call: rotary angles, ALiBi slopes
                    self.mark(buffer, frozenset([(f"{path}()", None)]))
                stack.callback(module.register_forward_hook(self.hook(path)).remove)
            stack.enter_context(use_observers(_TapListener(self.model, self)))
            stack.enter_context(self)
            self.model(**self.inputs)

    def hook(self, path: str):
        def record(module: nn.Module, arguments: tuple, out: Any) -> None:
            if not isinstance(out, Tensor) or path in self.tapped:
                return
            for origin, _ in self.origins_of(iter_tensors(arguments)):
                if origin in self.inputs:
                    self.readers.setdefault(origin, path.rpartition(".")[0])
            node = f"{path}()"
            self.reach(node, self.calls[node], out)
            self.calls[node] += 1

        return record

    def sources(self) -> dict[str, list[IncomingEdge]]:
        """Node → its incoming edges, in the order in which their sources are computed."""
        order = {node: i for i, node in enumerate(self.shapes)}
        shown_by_taps = {f"{path}()" for path in self.tapped}
        called_once = {node for node, count in self.calls.items() if count == 1}
        return {
            node: sorted(
                (
                    IncomingEdge(source, not {source, node} & called_once and _is_adjacent(pairs))
                    for source, pairs in edges.items()
                    if source not in shown_by_taps
                ),
                key=lambda edge: order.get(edge.node, -1),
            )
            for node, edges in self.edges.items()
        }


class _TapListener(Editor):
    """An edit that changes nothing and reports every tap to the tracer, position by position."""

    def __init__(self, model: nn.Module, tracer: FlowTracer):
        super().__init__(model, {"*": lambda value: value})
        self.tracer = tracer

    def on_tap(self, module: nn.Module, point: str, value: Tensor, position: tuple[int, int] | None = None) -> Tensor:
        name, _ = self.match(module, point)
        if name is not None:
            self.tracer.points.add(name)
            self.tracer.tapped.add(name.rpartition(".")[0])
            self.tracer.reach(name, position and position[0], value)
        return value


def _is_adjacent(pairs: set[PositionPair]) -> bool:
    """Is the source always one position before or, read backwards, always one after?"""
    offsets = {None if target is None or source is None else target - source for source, target in pairs}
    return offsets in ({1}, {-1})


def _is_leaf(module: nn.Module) -> bool:
    return not isinstance(module, nn.Dropout | NoHead) and next(module.children(), None) is None


def iter_tensors(value: Any) -> Iterator[Tensor]:
    """All tensors in nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from iter_tensors(inner)
    elif isinstance(value, dict):
        yield from iter_tensors(list(value.values()))
