"""Where the parts of a model stand: boxes hold rows in the order of the data flow; arrows that pass a row take a lane beside it.

Works on the plain data of `Anatomy.to_dict()`: containment, order and sources are enough. Widths of words are estimated,
so that the same layout serves a page, a notebook and a file.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

ROW_GAP, COLUMN_GAP, PAD, HEAD, LANE = 30, 16, 14, 34, 11  # px
STRIP, CELL, MOST_STEPS = 34, 62, 8  # px high, px per time step; steps that are drawn
STACK = 6  # px by which the copies behind a folded group stand out
NAME, SMALL = 13.0, 11.5  # px: sizes of type
FACE = "ui-monospace, Menlo, monospace"
ADVANCE = 0.61  # em: a letter of it; a Chinese character has 1
Part = Mapping[str, Any]  # as in `Anatomy.to_dict()["root"]`
Point = tuple[float, float]


@dataclass(eq=False)
class Box:
    """A part as it is drawn; one that is folded hides what is inside it."""

    part: Part
    parent: Box | None
    depth: int
    is_open: bool
    name: str  # within its parent
    module: str  # what it is
    rows: list[list[Box]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # the words of a folded one
    strip: Strip | None = None
    lanes: dict[str, list[str]] = field(default_factory=lambda: {"left": [], "right": [], "between": []})
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0
    left: float = 0  # px before the rows
    head: float = 0  # px above them
    row_sizes: list[Point] = field(default_factory=list)
    inner_width: float = 0

    @property
    def id(self) -> str:
        return self.part["id"]

    @property
    def is_recurrent(self) -> bool:
        """Whether a state inside it goes on to its next time step."""
        inside = {part["id"] for part in parts_of(self.part)}
        return self.is_open and any(
            again and source in inside for part in parts_of(self.part) for source, again in part["sources"]
        )


@dataclass
class Strip:
    """A cell once per time step, and the states that go from one to the next."""

    steps: int  # that are drawn
    time: int  # that there are
    states: list[Part]
    is_backward: bool
    y: float = 0

    @property
    def width(self) -> float:
        return self.steps * CELL + (40 if self.time > self.steps else 0) + 20


@dataclass
class Edge:
    """An arrow: straight down, or by a lane at `lane_x`. `gate`: y from which on it is inside the boxes that hold its end."""

    source: Box
    target: Box
    recurrent: bool
    common: Box | None = None
    lane: tuple[str, int, Box] | None = None  # side, its place there, the box before which it runs
    start: Point = (0, 0)
    end: Point = (0, 0)
    lane_x: float | None = None
    gate: float | None = None


@dataclass
class Layout:
    boxes: list[Box]  # outer before inner, in the order of the flow
    edges: list[Edge]
    width: float
    height: float


def parts_of(part: Part) -> list[Part]:
    return [inner for row in part["rows"] for inner in row]


def walk_parts(part: Part) -> Iterator[Part]:
    yield part
    for inner in parts_of(part):
        yield from walk_parts(inner)


def line_to(part: Part, id: str) -> list[Part]:
    """The parts from this one down to the one with that id; none if it is not there."""
    if part["id"] == id:
        return [part]
    for inner in parts_of(part):
        if line := line_to(inner, id):
            return [part, *line]
    return []


def text_width(text: str, size: float) -> float:
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (ADVANCE * (len(text) - wide) + wide)


def shape_text(shape: Collection[int]) -> str:
    return "×".join(map(str, shape))


def size_text(part: Part, module: str = "") -> str:
    """`module`: what it is, where that is to be said too."""
    words = [module] if module else []
    return " · ".join([*words, *([f"{part['count']:,}"] if part["count"] else [])])


def lay_out(
    root: Part,
    opened: Collection[str],
    unrolled: Collection[str],
    time: int,
    name: Callable[[Part, Part | None], str],
    module: Callable[[Part], str],
) -> Layout:
    """`opened`: ids of unfolded parts; `unrolled`: of those drawn over time; `name(part, parent)`: what it is called;
    `module(part)`: what kind of module it is.
    """
    boxes: dict[str, Box] = {}
    outermost = _measure(root, None, opened, unrolled, time, name, module, boxes)
    edges = _edges(root, boxes)
    for edge in edges:
        _assign_lane(edge)
    _size(outermost)
    _place(outermost, 0, 0)
    for edge in edges:
        _route(edge)
    return Layout(list(boxes.values()), edges, outermost.width, outermost.height)


def _measure(part, parent, opened, unrolled, time, name, module, boxes) -> Box:
    is_open = bool(part["rows"]) and (parent is None or part["id"] in opened)
    box = Box(
        part, parent, parent.depth + 1 if parent else 0, is_open, name(part, parent and parent.part), module(part)
    )  # fmt: skip
    boxes[part["id"]] = box
    if is_open:
        box.rows = [
            [_measure(inner, box, opened, unrolled, time, name, module, boxes) for inner in row]
            for row in part["rows"]
        ]
        box.strip = _strip(part, time) if part["id"] in unrolled else None
    elif part["kind"] == "module":
        times = f" × {part['times']}" if part["times"] > 1 else ""
        box.lines = [f"{'▸ ' if part['rows'] else ''}{box.name}{times}", size_text(part, box.module)]
    else:
        box.lines = [f"{box.name}  {shape_text(part['shape'])}"]
    return box


def _strip(part: Part, time: int) -> Strip | None:
    inside = parts_of(part)
    again = {source for inner in inside for source, recurrent in inner["sources"] if recurrent}
    states = [inner for inner in inside if inner["id"] in again]
    return Strip(min(time, MOST_STEPS), time, states, part["path"].endswith("bwd")) if states else None


def _size(box: Box) -> None:
    if not box.is_open:
        is_module = box.part["kind"] == "module"
        sizes = [NAME, SMALL] if is_module else [NAME]
        words = max(text_width(line, size) for line, size in zip(box.lines, sizes, strict=True))
        box.width, box.height = words + (26 if is_module else 22), 44 if is_module else 28
        return
    for row in box.rows:
        for inner in row:
            _size(inner)
        width = sum(inner.width for inner in row) + sum(_gap_before(inner) for inner in row[1:])
        box.row_sizes.append((width, max(inner.height for inner in row)))
    box.left, right = (PAD + LANE * len(box.lanes[side]) for side in ("left", "right"))
    box.head = HEAD if box.parent else 14
    widths = [width for width, _ in box.row_sizes] + [box.strip.width if box.strip else 0]
    box.inner_width = max(*widths, _head_width(box) - box.left - right if box.parent else 0)
    box.width = box.left + box.inner_width + right
    box.height = box.head + sum(height + ROW_GAP for _, height in box.row_sizes) - ROW_GAP + PAD
    box.height += (12 if box.parent else 0) + (STRIP + 14 if box.strip else 0)


def _head_width(box: Box) -> float:
    words = text_width(f"▾ {box.name} {box.module}", NAME) + text_width(size_text(box.part), SMALL)
    return words + (96 if box.part["times"] > 1 else 0) + (84 if box.is_recurrent else 0) + 36


def _gap_before(box: Box) -> float:
    lanes = len(box.lanes["between"])
    return COLUMN_GAP + (12 + LANE * lanes if lanes else 0)


def _place(box: Box, x: float, y: float) -> None:
    box.x, box.y = x, y
    if not box.is_open:
        return
    top = y + box.head + (6 if box.parent else 0)
    for row, (width, height) in zip(box.rows, box.row_sizes, strict=True):
        at = x + box.left + (box.inner_width - width) / 2
        level = len(row) > 1 and any(inner.is_open for inner in row)
        for column, inner in enumerate(row):
            at += _gap_before(inner) if column else 0
            _place(inner, at, top if level else top + (height - inner.height) / 2)
            at += inner.width
        top += height + ROW_GAP
    if box.strip:
        box.strip.y = top - ROW_GAP + 14


def _edges(root: Part, boxes: Mapping[str, Box]) -> list[Edge]:
    """Arrows between what is drawn: a part inside a folded box is drawn as that box."""
    shown_as: dict[str, Box] = {}

    def mark(part: Part, outer: Box) -> None:
        shown_as[part["id"]] = box = boxes.get(part["id"], outer)
        for inner in parts_of(part):
            mark(inner, box)

    mark(root, boxes[root["id"]])
    edges: dict[tuple, Edge] = {}
    for part in walk_parts(root):
        target = shown_as[part["id"]]
        for node, again in part["sources"]:
            source = shown_as.get(node)
            if source is None or source in _ancestors(target) or target in _ancestors(source):
                continue
            if source is target and not (again and part["kind"] == "point" and part["id"] in boxes):
                continue
            edges.setdefault((source.id, target.id, bool(again)), Edge(source, target, bool(again)))
    return list(edges.values())


def _ancestors(box: Box) -> list[Box]:
    """The boxes that hold it, the nearest first."""
    return [box.parent, *_ancestors(box.parent)] if box.parent else []


def _common(a: Box, b: Box) -> tuple[Box, Box, Box]:
    """The nearest box that holds both, the box in it that holds a (or is a), and that of b."""
    lines = [[*reversed(_ancestors(box)), box] for box in (a, b)]
    depth = 0
    while all(len(line) > depth + 2 for line in lines) and lines[0][depth + 1] is lines[1][depth + 1]:
        depth += 1
    return lines[0][depth], lines[0][depth + 1], lines[1][depth + 1]


def _assign_lane(edge: Edge) -> None:
    common, above, below = _common(edge.source, edge.target)
    rows = [next(i for i, row in enumerate(common.rows) if box in row) for box in (above, below)]
    edge.common = common
    if edge.recurrent:
        side, box = "left", common
    elif rows[0] == rows[1]:
        side, box = "between", below
    elif rows[1] == rows[0] + 1 and _is_at_end(edge.source, above, -1) and _is_at_end(edge.target, below, 0):
        return  # straight down
    else:
        side, box = "right", common
    lanes = box.lanes[side]
    if edge.source.id not in lanes:
        lanes.append(edge.source.id)
    edge.lane = side, lanes.index(edge.source.id), box


def _is_at_end(box: Box, outer: Box, end: int) -> bool:
    """Whether it is in the first (0) or last (−1) row of each box between it and an outer one."""
    while box is not outer:
        parent = box.parent
        assert parent is not None
        if box not in parent.rows[end] or (end and parent.strip):
            return False
        box = parent
    return True


def _route(edge: Edge) -> None:
    source, target = edge.source, edge.target
    below = STACK if source.part["times"] > 1 else 0
    edge.start = source.x + source.width / 2, source.y + source.height + below
    edge.end = target.x + target.width / 2, target.y
    if edge.lane is None:
        outermost = _common(source, target)[2]
        edge.gate = None if outermost is target else outermost.y
        return
    side, place, box = edge.lane
    if side == "right":
        edge.lane_x = box.x + box.width - PAD - LANE * place + 4
    else:
        edge.lane_x = box.x + PAD + LANE * place - 4 if side == "left" else box.x - 9 - LANE * place
