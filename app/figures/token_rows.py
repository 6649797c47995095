"""Rows of tokens one below the other, position by position, with links between rows and spans under the first."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Choose, Expression, Format, State
from app.figures.live import Live, Parts
from app.figures.theme import COLOURS, MONO, colour, themed
from app.figures.tokens import Words, drawn, text_width

CELL, NAME, GAP, PAD, LEAST, BETWEEN, SPAN = 26, 20, 12, 6, 24, 4, 24  # px
ROUND = 6  # px of a cell's corners
KINDS = [  # of tags and spans: light, dark
    ("#0b7a75", "#4fc3b8"), ("#9a5c00", "#f0b04a"), ("#5b4bb5", "#b0a5ff"), ("#a8326b", "#f28ab5"), ("#4d6b1f", "#b4d672"),
]  # fmt: skip


@dataclass(frozen=True)
class Cell:
    text: Words
    tip: Any
    tone: Expression | None = None  # colour of its frame and text
    faint: bool = False
    bold: bool = False


@dataclass(frozen=True)
class Row:
    name: Any
    cells: Sequence[Cell | None]
    own: bool = False  # its columns are its own, not those of the other rows


@dataclass(frozen=True)
class Span:
    start: int
    end: int
    name: Words
    tip: Any
    tone: Expression
    faint: bool = False


@dataclass
class _Picture:
    """What has been placed so far: shapes by look, texts, boxes."""

    paths: dict[str, tuple[Any, list[str]]] = field(
        default_factory=dict
    )  # look → (tone, dashed, filled, width), subpaths
    texts: list[tuple[float, float, Any, Any, bool]] = field(default_factory=list)  # x, y, text, colour, bold
    boxes: list[tuple[float, ...]] = field(default_factory=list)
    tips: list[Any] = field(default_factory=list)

    def add_path(self, path: str, tone: Any, dashed: bool, filled: bool, width: float) -> None:
        look = (tone, dashed, filled, width)
        self.paths.setdefault(repr(look), (look, []))[1].append(path)


def kind_colour(kind: int) -> Expression:
    return themed(*KINDS[kind % len(KINDS)])


def tag_kinds(tags: Iterable[str]) -> list[str]:
    """What BIO tags speak of, in the order of all tags of a task: a kind has its colour wherever it is drawn."""
    return list(dict.fromkeys(tag[2:] for tag in tags if "-" in tag))


def plain_cells(tokens: list[str]) -> list[Cell | None]:
    return [Cell(token, Format("{token}, place {at}", token=token, at=at)) for at, token in enumerate(tokens)]


def token_rows(
    rows: list[Row], links: Sequence[Any] = (), spans: Sequence[Span] = (), **more: Any
) -> Live:  # fmt: skip
    """1 px = 1 unit of the axes. links: from (row, position) to (row, position)."""
    picture, names, boxes, y = _Picture(), [], [], 0.0
    shared = _widths([row for row in rows if not row.own])
    levels = _levels(spans)
    for index, row in enumerate(rows):
        names.append((0.0, y + 8, row.name))
        y += NAME
        lefts, x = [], 1.0
        for wide in _widths([row]) if row.own else shared:
            lefts.append((x, wide))
            x += wide + BETWEEN
        boxes.append([(left, y, wide) for left, wide in lefts])
        for cell, (left, wide) in zip(row.cells, lefts, strict=False):
            if cell:
                _add_cell(picture, cell, left, y, wide)
        y += CELL + (SPAN * (max(levels) + 1) if index == 0 and levels else 0) + GAP
    for span, level in zip(spans, levels, strict=True):
        _add_span(picture, span, boxes[0], level)
    width = max([left + wide for row in boxes for left, _, wide in row] + [200]) + 2
    return _live(
        picture,
        names,
        _link_path(links, boxes),
        width,
        y - GAP + 2,
        steps=_steps(picture.boxes),
        rows=rows,
        spans=spans,
        **more,
    )


def _add_cell(picture: _Picture, cell: Cell, x: float, y: float, wide: float) -> None:
    picture.add_path(rounded(x, y, wide, CELL, ROUND), cell.tone, cell.faint, False, 1.8 if cell.tone else 1)
    tone = colour("mute") if cell.faint else cell.tone or colour("ink")
    picture.texts.append((x + wide / 2, y + CELL / 2, drawn(cell.text), tone, cell.bold))
    picture.boxes.append((x, x + wide, y, y + CELL))
    picture.tips.append(cell.tip)


def _add_span(picture: _Picture, span: Span, row: list[tuple[float, float, float]], level: int) -> None:
    (x, top, _), (last, _, side) = row[span.start], row[span.end]
    y, wide = top + CELL + 4 + level * SPAN, last + side - x
    picture.add_path(rounded(x, y, wide, SPAN - 5, 4), span.tone, span.faint, not span.faint, 1.6)
    room = max(1, int((wide - 6) / 7.6))
    picture.texts.append((x + wide / 2, y + (SPAN - 5) / 2, drawn(span.name, room), span.tone, True))
    picture.boxes.append((x, x + wide, y, y + SPAN - 5))
    picture.tips.append(span.tip)


def _live(
    picture: _Picture, names: list[tuple[float, float, Any]], links: str, width: float, height: float, *,
    steps: dict[str, list[int]], rows: list[Row], spans: Sequence[Span], **more: Any,
) -> Live:  # fmt: skip
    bindings: dict[str, Any] = {}
    shapes: list[dict[str, Any]] = []
    if links:
        shapes.append({"type": "path", "path": links, "layer": "below", "opacity": 0.55, "line": {"width": 1.2}})
        bindings["layout.shapes[0].line.color"] = colour("mute")
    for (tone, dashed, filled, line), paths in picture.paths.values():
        at = len(shapes)
        shape: dict[str, Any] = {"type": "path", "path": "".join(paths), "layer": "below", "line": {"width": line}}
        shape["line"]["dash"] = "3px,3px" if dashed else "solid"
        bindings[f"layout.shapes[{at}].line.color"] = tone or colour("line")
        bindings[f"layout.shapes[{at}].fillcolor"] = _tint(tone) if filled else colour("card")
        shapes.append(shape)
    texts, paper = picture.texts, [COLOURS[theme]["paper"] for theme in ("light", "dark")]
    figure = go.Figure(
        [
            go.Scatter(
                x=[x for x, *_ in texts], y=[y for _, y, *_ in texts], mode="text", hoverinfo="skip", cliponaxis=False,
                textfont={"family": MONO, "size": 14, "weight": [700 if bold else 400 for *_, bold in texts]},
            ),
            go.Scatter(
                x=[x for x, *_ in names], y=[y for _, y, _ in names], mode="text", textposition="middle right",
                hoverinfo="skip", cliponaxis=False, textfont={"size": 12.5},
            ),
        ],
        {
            "xaxis": {"visible": False, "fixedrange": True, "range": [0, width]},
            "yaxis": {"visible": False, "fixedrange": True, "range": [height, 0]},
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "shapes": shapes,
        },
    )  # fmt: skip
    bindings |= {
        "data[0].text": [text for _, _, text, _, _ in texts],
        "data[0].textfont.color": [tone for *_, tone, _ in texts],
        "data[1].text": [name for *_, name in names],
        "data[1].textfont.color": colour("mute"),
        "data[1].textfont.shadow": themed(*(", ".join([f"0 0 3px {ground}"] * 3) for ground in paper)),
    }  # links pass behind the names
    cells = [(row.name, place, cell.text if cell else "") for row in rows for place, cell in enumerate(row.cells)]
    table = [*cells, *((span.name, span.start, str(span.end)) for span in spans)]
    return Live(
        figure,
        bindings,
        parts=Parts(boxes=picture.boxes, steps=steps),
        tip=Choose(State("point"), picture.tips),
        table={
            "row": [row for row, _, _ in table],
            "place": [place for _, place, _ in table],
            "text": [text for *_, text in table],
        },
        height=round(height),
        width=round(width),
        **more,
    )


def _tint(tone: Any) -> Any:
    """The colour at 16 %."""
    return Choose(tone.by, {theme: f"{value}29" for theme, value in tone.among.items()})


def rounded(x: float, y: float, wide: float, high: float, r: float) -> str:
    """A rectangle with round corners as a path."""
    right, bottom = x + wide, y + high
    return (
        f"M{x + r},{y}H{right - r}Q{right},{y} {right},{y + r}V{bottom - r}Q{right},{bottom} {right - r},{bottom}"
        f"H{x + r}Q{x},{bottom} {x},{bottom - r}V{y + r}Q{x},{y} {x + r},{y}Z"
    )


def _widths(rows: list[Row]) -> list[float]:
    """px of every column: its widest text"""
    widths = [float(LEAST)] * max([len(row.cells) for row in rows], default=0)
    for row in rows:
        for at, cell in enumerate(row.cells):
            widths[at] = max(widths[at], text_width(cell.text) + 2 * PAD if cell else 0)
    return widths


def _levels(spans: Sequence[Span]) -> list[int]:
    """The level of every span: short ones lie close to the text, those around them below."""
    levels: dict[int, int] = {}
    for i in sorted(range(len(spans)), key=lambda i: spans[i].end - spans[i].start):
        under = [
            level for j, level in levels.items() if spans[j].start <= spans[i].end and spans[i].start <= spans[j].end
        ]
        levels[i] = max(under) + 1 if under else 0
    return [levels[i] for i in range(len(spans))]


def _link_path(links: Any, boxes: list[list[tuple[float, float, float]]]) -> str:
    path = []
    for (from_row, from_place), (to_row, to_place) in links:
        (x, y, wide), (to_x, to_y, to_wide) = boxes[from_row][from_place], boxes[to_row][to_place]
        start, end = (x + wide / 2, y + CELL), (to_x + to_wide / 2, to_y)
        bend = (start[1] + end[1]) / 2
        path.append(f"M{start[0]},{start[1]}C{start[0]},{bend} {end[0]},{bend} {end[0]},{end[1]}")
    return "".join(path)


def _steps(boxes: list[tuple[float, ...]]) -> dict[str, list[int]]:
    """Up and down: to the nearest cell of the next row."""
    centres, tops = np.array([(x0 + x1) / 2 for x0, x1, *_ in boxes]), np.array([y for _, _, y, _ in boxes])
    levels = [np.flatnonzero(tops == top) for top in np.unique(tops)]
    steps = {"ArrowUp": list(range(len(boxes))), "ArrowDown": list(range(len(boxes)))}
    for above, below in itertools.pairwise(levels):
        away = np.abs(centres[above][:, None] - centres[below])  # (above, below)
        for key, start, end in (
            ("ArrowDown", above, below[away.argmin(1)]),
            ("ArrowUp", below, above[away.argmin(0)]),
        ):
            for i, j in zip(start.tolist(), end.tolist(), strict=True):
                steps[key][i] = j
    return steps
