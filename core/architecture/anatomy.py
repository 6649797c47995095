"""The anatomy of a model: its modules as nested parts, its taps as points between them, and the edges of data flow.

>>> core.anatomy("bert-large").root.count
335174458

Nothing is declared per family. A model of the same configuration is built on the meta device, where it costs no
memory, and runs once: the taps give every tensor's shape, in the order in which they fire, and every operation passes
the origins of its arguments on to its result (`tracing.py`). Containment, order and these edges are all that a diagram
needs. Of many equal layers only a few run (`depth.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from torch import nn

from core.architecture.depth import expand_depth, reduce_depth
from core.architecture.descriptions import INPUTS, Description, axis_names, describe_module, describe_point
from core.architecture.folding import part_tree
from core.architecture.meta_model import build_meta
from core.architecture.tracing import IncomingEdge, Trace, trace_model
from core.config.families import Config
from core.models import configure


@dataclass(frozen=True)
class Weight:
    """A parameter of a module. A shared one has `count` 0 everywhere but at its first use, which `same_as` names."""

    name: str
    shape: tuple[int, ...]
    count: int
    same_as: str | None = None


@dataclass
class Part:
    """A node of the diagram: a module, a point (tap) or an input.

    `rows` are the parts inside it, from input to output; those in one row do not depend on each other.
    """

    path: str
    kind: str  # "module", "point" or "input"
    module: str = ""  # the class
    extra_repr: str = ""  # the options it was made with
    shape: tuple[int, ...] | None = None  # of its output
    axes: tuple[str, ...] = ()
    weights: list[Weight] = field(default_factory=list)
    sources: list[IncomingEdge] = field(default_factory=list)
    rows: list[list[Part]] = field(default_factory=list)
    description: Description | None = None

    @property
    def node(self) -> str:
        """Its name in `sources`; a module's ends in `()`, as a tap may have the same path."""
        return f"{self.path}()" if self.kind == "module" else self.path

    @property
    def parts(self) -> list[Part]:
        return [part for row in self.rows for part in row]

    @property
    def count(self) -> int:
        """Parameters of this part and all inside it."""
        return sum(weight.count for weight in self.weights) + sum(part.count for part in self.parts)

    def walk(self) -> Iterator[Part]:
        yield self
        for part in self.parts:
            yield from part.walk()

    def outline(self) -> tuple:
        """Equal for parts that can be drawn as one part with a repeat count."""
        start = len(self.path)
        own = (
            self.kind,
            self.module,
            self.extra_repr,
            self.shape,
            tuple((w.name, w.shape, w.count) for w in self.weights),
        )
        return own, tuple(tuple((part.path[start:], part.outline()) for part in row) for row in self.rows)


@dataclass(frozen=True)
class Anatomy:
    config: Config
    root: Part
    time: int  # input tokens
    target_time: int | None  # input tokens of the decoder

    def __getitem__(self, path: str) -> Part:
        for part in self.root.walk():
            if part.path == path:
                return part
        raise KeyError(path)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, equal neighbours folded into one part: what `app.figures.diagram` draws."""
        return {
            "family": self.config.family,
            "parameters": self.root.count,
            "time": self.time,
            "target_time": self.target_time,
            "root": part_tree(self.root),
        }


def anatomy(
    model: str | Config | nn.Module, /, *, time: int = 12, target_time: int = 8, batch: int = 1, **options: Any
) -> Anatomy:
    """The anatomy of a family, a preset, a configuration or a model, for inputs of these lengths (at most max_len)."""
    config = model if isinstance(model, Config) else getattr(model, "config", None)
    if config is None:
        config = configure(cast("str", model), **options)  # which refuses anything but a known name
    full, fewer_layers = build_meta(config), reduce_depth(config)
    time, target_time = min(time, config.max_len), min(target_time, config.max_len)
    shallow = full if fewer_layers == config else build_meta(fewer_layers)
    trace = expand_depth(trace_model(shallow, batch, time, target_time), shallow, full)
    return Anatomy(config, _Builder(full, trace).root(), time, target_time if "tgt" in trace.shapes else None)


class _Builder:
    """Builds the tree of parts from a model and the trace of one pass."""

    def __init__(self, model: nn.Module, trace: Trace):
        self.model, self.trace, self.constants = model, trace, trace.constants()
        self.taps: dict[str, list[str]] = {}  # module → its taps and inputs
        for name in trace.shapes:
            if name in trace.inputs:
                self.taps.setdefault(trace.inputs[name], []).append(name)
            elif name in trace.points:
                self.taps.setdefault(name.rpartition(".")[0], []).append(name)
        self.order = {name: i for i, name in enumerate(trace.shapes)}
        self.owners: dict[int, str] = {}  # id of a parameter → its first name
        self.weights: dict[str, list[Weight]] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            path, leaf = name.rpartition(".")[::2]
            first = self.owners.setdefault(id(parameter), name)
            shared = first != name
            weight = Weight(
                leaf, tuple(parameter.shape), 0 if shared else parameter.numel(), first if shared else None
            )
            self.weights.setdefault(path, []).append(weight)

    def root(self) -> Part:
        return self.module("", self.model)

    def module(self, path: str, module: nn.Module) -> Part:
        node = f"{path}()"
        part = Part(
            path, "module", type(module).__name__, _extra_repr(module), self.trace.shapes.get(node),
            weights=self.weights.get(path, []), sources=self.trace.sources.get(node, []),
            description=describe_module(module),
        )  # fmt: skip
        modules = list(self.modules(path, module))
        children = [*self.points(path, module), *modules]
        order: dict[str, float] = {}
        previous = -1.0
        for child in modules:  # one that never fires keeps its place in the declaration
            first = self.first_call(child)
            previous = order[child.node] = previous + 1e-6 if first is None else first
        children.sort(key=lambda child: order[child.node] if child.node in order else self.order[child.node])
        part.rows = self.rows(children)
        return part

    def points(self, path: str, module: nn.Module) -> Iterator[Part]:
        for name in self.taps.get(path, []):
            shape, sources = self.trace.shapes[name], self.trace.sources.get(name, [])
            if name in self.trace.inputs:
                yield Part(name, "input", shape=shape, axes=("batch", "time"), description=INPUTS[name])
                continue
            point = name.rpartition(".")[2]
            axes, description = axis_names(module, point), describe_point(module, point)
            yield Part(name, "point", shape=shape, axes=axes, sources=sources, description=description)

    def modules(self, path: str, module: nn.Module) -> Iterator[Part]:
        for name, child in module.named_children():
            inner = f"{path}.{name}".lstrip(".")
            if isinstance(child, nn.ModuleList):
                yield from self.modules(inner, child)
                continue
            part = self.module(inner, child)
            if not (part.rows or part.weights or any(True for _ in child.buffers(recurse=False))):
                continue  # dropout, and positions that do nothing
            yield _unwrap(part, child)

    def first_call(self, part: Part) -> int | None:
        """The place in the trace of the first node inside a part; None if none of them was reached."""
        return min((self.order[inner.node] for inner in part.walk() if inner.node in self.order), default=None)

    def rows(self, children: list[Part]) -> list[list[Part]]:
        """Layers the children: each in a row below all its sources; a module that reads tokens of its own at the top.

        A part that depends on no token, or a module without a source among its siblings, is placed in the row right
        above its first user.
        """
        index_of = {inner.node: index for index, child in enumerate(children) for inner in child.walk()}
        sources_of: list[set[int]] = []
        for index, child in enumerate(children):
            nodes = {edge.node for inner in child.walk() for edge in inner.sources if not edge.recurrent}
            has_input = child.rows and any(inner.kind == "input" for inner in child.walk())
            earlier = {index_of[node] for node in nodes if index_of.get(node, index) < index}
            sources_of.append(set() if has_input else earlier)
        level = [0] * len(children)
        for index, sources in enumerate(sources_of):
            level[index] = max((level[source] + 1 for source in sources), default=0)
        for index in reversed(range(len(children))):
            child = children[index]
            users = [level[later] for later in range(index + 1, len(children)) if index in sources_of[later]]
            is_constant = all(inner.node in self.constants or not inner.shape for inner in child.walk())
            if users and (is_constant or (child.rows and not sources_of[index])):
                level[index] = max(level[index], min(users) - 1)
        rows: list[list[Part]] = [[] for _ in range(max(level, default=-1) + 1)]
        for child, row in zip(children, level, strict=True):
            rows[row].append(child)
        return [row for row in rows if row]


def _unwrap(part: Part, module: nn.Module) -> Part:
    """The only part inside a module that has neither weights nor a description of its own; else the part itself."""
    return part.parts[0] if len(part.parts) == 1 and not part.weights and not describe_module(module) else part


def _extra_repr(module: nn.Module) -> str:
    """The module's `extra_repr` if its class defines one, else its numbers and strings as `name=value`."""
    if type(module).extra_repr is not nn.Module.extra_repr:
        return module.extra_repr()
    plain = {k: v for k, v in vars(module).items() if type(v) in (int, float, str) and not k.startswith("_")}
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in plain.items()
    )
