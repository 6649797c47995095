"""What a model is made of: its modules as nested boxes, its taps as stations between them, and what flows into what.

>>> core.anatomy("bert-large").root.count
335174458

Nothing is written down per family. A model of the same configuration is built on the meta device, where it costs no
memory, and runs once: the taps tell every tensor's shape, in the order in which they fire, and each operation hands on
where its arguments came from. Containment, order and these origins are all that a drawing needs. Of many equal layers a
few run (`anatomy_depth.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from core.architecture.build_meta import build_meta
from core.architecture.descriptions import INPUTS, Words, axes_of, described, point_words
from core.architecture.expand_depth import expand_depth, shallow
from core.architecture.flow import Source, Trace, trace
from core.config.families import Config
from core.models import configure


@dataclass(frozen=True)
class Weight:
    """A parameter of a module. One that is shared is counted where it is first, and here as 0."""

    name: str
    shape: tuple[int, ...]
    count: int
    same_as: str | None = None


@dataclass
class Part:
    """A box (module), a station (tap) or an input.

    `rows` are its own parts: those side by side do not wait for each other.
    """

    path: str
    kind: str  # "module", "point" or "input"
    module: str = ""  # the class
    facts: str = ""
    shape: tuple[int, ...] | None = None  # of the tensor that comes out
    axes: tuple[str, ...] = ()
    weights: list[Weight] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    rows: list[list[Part]] = field(default_factory=list)
    words: Words | None = None

    @property
    def node(self) -> str:
        """Its name in `sources`: a tap may be called as a module is."""
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
        """What must be equal for two parts to be drawn as one, taken twice."""
        start = len(self.path)
        own = (
            self.kind,
            self.module,
            self.facts,
            self.shape,
            tuple((w.name, w.shape, w.count) for w in self.weights),
        )
        return own, tuple(tuple((part.path[start:], part.outline()) for part in row) for row in self.rows)


@dataclass(frozen=True)
class Anatomy:
    config: Config
    root: Part
    time: int  # tokens read
    target_time: int | None  # tokens a decoder reads

    def __getitem__(self, path: str) -> Part:
        for part in self.root.walk():
            if part.path == path:
                return part
        raise KeyError(path)


def anatomy(
    model: str | Config | nn.Module, /, *, time: int = 12, target_time: int = 8, batch: int = 1, **options: Any
) -> Anatomy:
    """Of a family, a preset, a configuration or a model, reading so many tokens (at most as many as it takes)."""
    config = model if isinstance(model, Config) else getattr(model, "config", None) or configure(model, **options)
    meta, few = build_meta(config), shallow(config)
    time, target_time = min(time, config.max_len), min(target_time, config.max_len)
    twin = meta if few == config else build_meta(few)
    seen = expand_depth(trace(twin, batch, time, target_time), twin, meta)
    return Anatomy(config, _Builder(meta, seen).root(), time, target_time if "tgt" in seen.shapes else None)


class _Builder:
    """From a model and the trace of one pass to the tree of its parts."""

    def __init__(self, model: nn.Module, seen: Trace):
        self.model, self.seen, self.fixed = model, seen, seen.fixed()
        self.taps: dict[str, list[str]] = {}  # module → its taps and inputs
        for name in seen.shapes:
            if name in seen.inputs:
                self.taps.setdefault(seen.inputs[name], []).append(name)
            elif name in seen.points:
                self.taps.setdefault(name.rpartition(".")[0], []).append(name)
        self.order = {name: i for i, name in enumerate(seen.shapes)}
        self.owners: dict[int, str] = {}  # each parameter's first name
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
            path, "module", type(module).__name__, _facts(module), self.seen.shapes.get(node),
            weights=self.weights.get(path, []), sources=self.seen.sources.get(node, []), words=described(module),
        )  # fmt: skip
        modules = list(self.modules(path, module))
        children = [*self.points(path, module), *modules]
        places = {child.node: self.first(child) for child in children}
        latest = -1.0
        for child in modules:  # one that never fires stands where it was declared
            latest = places[child.node] = latest + 1e-6 if places[child.node] is None else places[child.node]
        children.sort(key=lambda child: places[child.node])
        part.rows = self.rows(children)
        return part

    def points(self, path: str, module: nn.Module) -> Iterator[Part]:
        for name in self.taps.get(path, []):
            shape, sources = self.seen.shapes[name], self.seen.sources.get(name, [])
            if name in self.seen.inputs:
                yield Part(name, "input", shape=shape, axes=("batch", "time"), words=INPUTS[name])
                continue
            point = name.rpartition(".")[2]
            axes, words = axes_of(module, point), point_words(module, point)
            yield Part(name, "point", shape=shape, axes=axes, sources=sources, words=words)

    def modules(self, path: str, module: nn.Module) -> Iterator[Part]:
        for name, child in module.named_children():
            inner = f"{path}.{name}".lstrip(".")
            if isinstance(child, nn.ModuleList):
                yield from self.modules(inner, child)
                continue
            part = self.module(inner, child)
            if not (part.rows or part.weights or any(True for _ in child.buffers(recurse=False))):
                continue  # dropout, and positions that do nothing
            yield _unwrapped(part, child)

    def first(self, part: Part) -> int | None:
        """When anything in it happened first."""
        return min((self.order[inner.node] for inner in part.walk() if inner.node in self.order), default=None)

    def rows(self, children: list[Part]) -> list[list[Part]]:
        """Each part below all those it gets something from; one that reads tokens of its own begins at the top.

        What depends on no token, and a box that gets nothing from its neighbours, stands right before it is used.
        """
        inside = {inner.node: at for at, child in enumerate(children) for inner in child.walk()}
        before: list[set[int]] = []
        for at, child in enumerate(children):
            sources = {s.node for inner in child.walk() for s in inner.sources if not s.recurrent}
            reads = child.rows and any(inner.kind == "input" for inner in child.walk())
            before.append(set() if reads else {inside[s] for s in sources if inside.get(s, at) < at})
        level = [0] * len(children)
        for at, sources in enumerate(before):
            level[at] = max((level[source] + 1 for source in sources), default=0)
        for at in reversed(range(len(children))):
            child = children[at]
            users = [level[later] for later in range(at + 1, len(children)) if at in before[later]]
            if users and (
                all(inner.node in self.fixed or not inner.shape for inner in child.walk())
                or (child.rows and not before[at])
            ):
                level[at] = max(level[at], min(users) - 1)
        rows: list[list[Part]] = [[] for _ in range(max(level, default=-1) + 1)]
        for child, row in zip(children, level, strict=True):
            rows[row].append(child)
        return [row for row in rows if row]


def _unwrapped(part: Part, module: nn.Module) -> Part:
    """A box around one other thing, with nothing to say of its own, is left out."""
    return part.parts[0] if len(part.parts) == 1 and not part.weights and not described(module) else part


def _facts(module: nn.Module) -> str:
    """What the module was made with: torch's own words, or its plain attributes."""
    if type(module).extra_repr is not nn.Module.extra_repr:
        return module.extra_repr()
    plain = {k: v for k, v in vars(module).items() if type(v) in (int, float, str) and not k.startswith("_")}
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in plain.items()
    )
