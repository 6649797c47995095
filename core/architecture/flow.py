"""What flows into what, found by running a model on the meta device and watching every operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from core.architecture.shapes import Shapes, shaped
from core.capture.editing import Editor
from core.capture.observers import use_observers
from core.capture.tape import capture
from core.layers.recurrent.cells import RecurrentLayer
from core.layers.task_heads.heads import NoHead
from core.models import is_encoder_decoder

Origin = tuple[str, int | None]  # a node, and which time step of it
SHAPE_ONLY = (Tensor.new_zeros, torch.zeros_like)  # what takes no number from its arguments
FEW, FEWER = 4, 3  # tokens of source and target from which it is seen what goes from one time step to the next


@dataclass(frozen=True)
class Source:
    """The node a tensor comes from: a tap or an input by its name, a module as `path()`. `recurrent`: a step before."""

    node: str
    recurrent: bool = False


@dataclass(frozen=True)
class Trace:
    """Everything that happened in one pass, in its order."""

    shapes: dict[str, tuple[int, ...]]  # node → shape: inputs, taps, and modules without parts
    points: set[str]  # those of them that are taps
    inputs: dict[str, str]  # name → path of the module that reads it
    sources: dict[str, list[Source]]

    def fixed(self) -> set[str]:
        """The nodes that depend on no token."""
        found: dict[str, bool] = {}
        for node in self.shapes:  # in their order: what comes before is known
            sources = [source.node for source in self.sources.get(node, []) if not source.recurrent]
            found[node] = node not in self.inputs and all(found.get(source, True) for source in sources)
        return {node for node, alone in found.items() if alone}


def example_inputs(model: nn.Module, batch: int, time: int, target_time: int) -> dict[str, Tensor]:
    def ids(length: int) -> Tensor:
        return torch.zeros(batch, length, dtype=torch.long, device="meta")

    if is_encoder_decoder(model):
        return {"src": ids(time), "tgt": ids(target_time)}
    segments = {"segments": ids(time)} if getattr(model.config, "n_segments", 0) else {}
    return {"ids": ids(time), **segments}


@torch.no_grad()
def trace(model: nn.Module, batch: int, time: int, target_time: int) -> Trace:
    """One pass tells all. Where time is gone through step by step, origins come from a short one: they are the same."""
    if not any(isinstance(module, RecurrentLayer) for module in model.modules()):
        flow = Flow(model)
        flow.run(batch, time, target_time)
        return Trace(flow.shapes, flow.points, flow.readers, flow.sources())
    flow = Flow(model)
    flow.run(batch, min(FEW, time), min(FEWER, target_time))
    shapes = shapes_of(model, batch, time, target_time)
    return Trace({name: shapes[name] for name in flow.shapes}, flow.points, flow.readers, flow.sources())


def shapes_of(model: nn.Module, batch: int, time: int, target_time: int) -> dict[str, tuple[int, ...]]:
    """Node → shape, of one pass that nobody follows."""
    inputs = example_inputs(model, batch, time, target_time)
    called: dict[str, tuple[int, ...]] = {}

    def note(path: str):
        def hook(module: nn.Module, arguments: tuple, out: Any) -> None:
            if isinstance(out, Tensor):
                called.setdefault(f"{path}()", tuple(out.shape))

        return hook

    with ExitStack() as hooks:
        for path, module in model.named_modules():
            if _is_leaf(module):
                hooks.callback(module.register_forward_hook(note(path)).remove)
        with capture(model) as tape, Shapes():
            model(**inputs)
    kept = {name: tuple(tape[name].shape) for name in tape.names()}
    return kept | called | {name: tuple(ids.shape) for name, ids in inputs.items()}


class Flow(TorchFunctionMode):
    """Hands the origins of every operation's arguments on to its result; a tap or a leaf module begins anew.

    Tensors are held until the end, so that no two of them ever share an identity.
    """

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model
        self.inputs: dict[str, Tensor] = {}
        self.points: set[str] = set()
        self.tapped: set[str] = set()  # modules with taps of their own
        self.origins: dict[int, frozenset[Origin]] = {}
        self.held: list[Tensor] = []
        self.pairs: dict[str, dict[str, set[tuple[int | None, int | None]]]] = {}  # target → source → their steps
        self.shapes: dict[str, tuple[int, ...]] = {}  # in the order in which the nodes are reached
        self.readers: dict[str, str] = {}
        self.calls: Counter[str] = Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = shaped(func, args, kwargs or {})
        read = [] if func in SHAPE_ONLY else args[:1] if func is Tensor.expand_as else [args, kwargs]
        origins = self.of(tensors(read))
        if origins:
            for tensor in tensors(out):
                self.mark(tensor, origins)
        return out

    def of(self, tensors: Iterable[Tensor]) -> frozenset[Origin]:
        return frozenset().union(*(self.origins.get(id(tensor), ()) for tensor in tensors))

    def mark(self, tensor: Tensor, origins: frozenset[Origin]) -> None:
        self.origins[id(tensor)] = origins
        self.held.append(tensor)

    def arrive(self, node: str, step: int | None, tensor: Tensor) -> None:
        """A tensor reaches a node: note where it came from; whoever uses it from now on has it from here."""
        self.shapes.setdefault(node, tuple(tensor.shape))
        found = self.pairs.setdefault(node, {})
        for source, at in self.of([tensor]):
            if (source, at) != (node, step):
                found.setdefault(source, set()).add((at, step))
        self.mark(tensor, frozenset([(node, step)]))

    def run(self, batch: int, time: int, target_time: int) -> None:
        self.inputs = example_inputs(self.model, batch, time, target_time)
        for name, ids in self.inputs.items():
            self.arrive(name, None, ids)
        with ExitStack() as stack:
            for path, module in self.model.named_modules():
                if not _is_leaf(module):
                    continue
                for buffer in module.buffers(recurse=False):  # read without a call: turning angles, slopes
                    self.mark(buffer, frozenset([(f"{path}()", None)]))
                stack.callback(module.register_forward_hook(self.hook(path)).remove)
            stack.enter_context(use_observers(_Marks(self.model, self)))
            stack.enter_context(self)
            self.model(**self.inputs)

    def hook(self, path: str):
        def arrived(module: nn.Module, arguments: tuple, out: Any) -> None:
            if not isinstance(out, Tensor) or path in self.tapped:
                return
            for origin, _ in self.of(tensors(arguments)):
                if origin in self.inputs:
                    self.readers.setdefault(origin, path.rpartition(".")[0])
            node = f"{path}()"
            self.arrive(node, self.calls[node], out)
            self.calls[node] += 1

        return arrived

    def sources(self) -> dict[str, list[Source]]:
        place = {node: i for i, node in enumerate(self.shapes)}
        told = {f"{path}()" for path in self.tapped}  # by their taps
        once = {node for node, count in self.calls.items() if count == 1}
        return {
            node: sorted(
                (
                    Source(source, not {source, node} & once and _one_step_apart(pairs))
                    for source, pairs in sources.items()
                    if source not in told
                ),
                key=lambda source: place.get(source.node, -1),
            )
            for node, sources in self.pairs.items()
        }


class _Marks(Editor):
    """An edit that changes nothing, and tells the flow what passes where, time step by time step."""

    def __init__(self, model: nn.Module, flow: Flow):
        super().__init__(model, {"*": lambda value: value})
        self.flow = flow

    def on_tap(self, module: nn.Module, point: str, value: Tensor, step: tuple[int, int] | None = None) -> Tensor:
        name, _ = self.match(module, point)
        if name is not None:
            self.flow.points.add(name)
            self.flow.tapped.add(name.rpartition(".")[0])
            self.flow.arrive(name, step and step[0], value)
        return value


def _one_step_apart(pairs: set[tuple[int | None, int | None]]) -> bool:
    """Is it always the step before or, read backwards, always the step after?"""
    apart = {None if None in pair else pair[1] - pair[0] for pair in pairs}
    return apart in ({1}, {-1})


def _is_leaf(module: nn.Module) -> bool:
    return not isinstance(module, nn.Dropout | NoHead) and next(module.children(), None) is None


def tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from tensors(inner)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
