"""Spans: those that were found, under the text, and the scores of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.figures.expressions import Array, Choose, Expression, Format, Join, Sentences, State
from app.figures.live import Live
from app.figures.matrix import CHOSEN, cells_path, chosen_cell, matrix
from app.figures.theme import SIGNED, colour
from app.figures.token_rows import Row, Span, kind_colour, plain_cells, token_rows
from app.figures.tokens import Words, quoted


@dataclass
class SpanView:
    """scores (kind, start, end); possible: where a span may be; found, right: [kind, start, end]"""

    tokens: list[str]
    labels: list[Words]
    scores: np.ndarray
    possible: np.ndarray
    found: list[list[int]]
    right: list[list[int]] | None
    file: str = "run"

    def words(self, start: int, end: int) -> str:
        return " ".join(self.tokens[start : end + 1])

    @property
    def missed(self) -> list[list[int]]:
        return [span for span in self.right or [] if span not in self.found]


def spans(view: SpanView) -> Live:
    """The spans that were found, under the text, one within the other; those that are missing, dashed."""
    shown, rows = [*view.found, *view.missed], []
    for i, (kind, start, end) in enumerate(shown):
        facts = {
            "words": view.words(start, end),
            "kind": view.labels[kind],
            "score": float(view.scores[kind, start, end]),
        }
        missed = i >= len(view.found)
        tip = (
            Format("{words} should be of the kind “{kind}”; it scores {score:+.2f}", **facts)
            if missed
            else Format("{words}: {kind}, {score:+.2f}", **facts)
        )
        rows.append(Span(start, end, view.labels[kind], tip, kind_colour(kind), missed))
    live = token_rows(
        [Row(Format("text"), plain_cells(view.tokens))], spans=rows,
        title=Format("The spans it found"), caption=_spans_caption(view), file=f"{view.file}-spans",
    )  # fmt: skip
    chosen = [(State("spanKind"), State("spanStart"), State("spanEnd"))] * len(view.tokens) + [
        tuple(span) for span in shown
    ]
    live.click = {
        key: Choose(State("point"), [one[i] for one in chosen])
        for i, key in enumerate(("spanKind", "spanStart", "spanEnd"))
    }
    return live


def _spans_caption(view: SpanView) -> Expression:
    def around(span: list[int]) -> int:
        _, start, end = span
        return sum(a <= start and end <= b and b - a > end - start for _, a, b in view.found)

    count, inside = len(view.found), [span for span in view.found if around(span)]
    said: list[Any] = [
        Format("It found **{n}** span.", n=1) if count == 1 else Format("It found **{n}** spans.", n=count)
    ]
    if inside:
        deepest = min(inside, key=lambda span: span[2] - span[1])
        facts = {"n": len(inside), "words": quoted(view.words(*deepest[1:]), 60), "depth": around(deepest)}
        one = Format(
            "{n} of them lies within another, which tags cannot express: **{words}** is {depth} deep.", **facts
        )
        said.append(
            one
            if len(inside) == 1
            else Format(
                "{n} of them lie within another, which tags cannot express: **{words}** is {depth} deep.", **facts
            )
        )
    if view.right is not None:
        missed = len(view.missed)
        if missed:
            said.append(
                Format("{n} is missing, drawn dashed.", n=missed)
                if missed == 1
                else Format("{n} are missing, drawn dashed.", n=missed)
            )
        elif len(view.right) == count:
            said.append(Format("That is all there is.") if count == 1 else Format("Those are all there are."))
        else:
            said.append(Format("{n} of them should not be there.", n=count - len(view.right)))
    return Sentences(said)


def span_scores(view: SpanView) -> Live:
    """The scores of all spans of one kind: rows are starts, columns ends; the right ones have a frame."""
    kinds, n = len(view.labels), len(view.tokens)
    array = Array("scores", view.scores)
    highest = float(view.scores.max())
    limit = (
        highest if highest > 0 else max(1e-6, float(np.abs(view.scores).max()))
    )  # most spans score far below 0: what is above must be seen
    marked = view.found if view.right is None else view.right
    frames = [
        cells_path((end - 0.46, end + 0.46, start - 0.42, start + 0.42) for one, start, end in marked if one == kind)
        or "M-9,-9H-8"
        for kind in range(kinds)
    ]
    hidden = cells_path(
        (min(columns) - 0.5, max(columns) + 0.5, start - 0.5, start + 0.5)
        for start in range(n)
        if len(columns := np.flatnonzero(~view.possible[0, start].astype(bool)))
    )
    kind = Array("span.kind", np.arange(kinds, dtype=np.int32))["spanKind"]  # of those this run has
    live = matrix(
        list(view.tokens), list(view.tokens),
        {
            "z": array["spanKind"], "zmin": -limit, "zmax": limit, "colorscale": SIGNED,
            "layout.shapes[0].fillcolor": colour("hidden"), "layout.shapes[1].line.color": colour("amber"),
            "layout.shapes[1].path": Choose(kind, frames), **chosen_cell(2, "spanStart", "spanEnd"),
        },
        420, title=Format("Scores of all spans, from start to end"), file=f"{view.file}-span-scores",
        caption=Choose(kind, [_scores_caption(view, one, limit) for one in range(kinds)]),
        click={"spanStart": State("y"), "spanEnd": State("x")},
    )  # fmt: skip
    live.figure.update_layout(
        shapes=[
            {"type": "path", "path": hidden or "M-9,-9H-8", "line": {"width": 0}},
            {"type": "path", "path": frames[0], "line": {"width": 1.5}},
            CHOSEN,
        ]
    )
    values = {
        "words": Join(list(view.tokens), State("y"), State("x")),
        "score": array["spanKind", "y", "x"],
        "kind": Choose(kind, list(view.labels)),
    }
    tips = [
        Format("a span does not end before it starts"),
        Format("{words}: {score:+.3f}, not of the kind “{kind}”", **values),
        Format("{words}: {score:+.3f}, of the kind “{kind}”", **values),
    ]
    state = np.where(view.possible.astype(bool), np.where(view.scores > 0, 2, 1), 0)
    live.tip = Choose(Array("span.state", state.astype(np.int32))["spanKind", "y", "x"], tips)
    return live


def _scores_caption(view: SpanView, kind: int, limit: float) -> Expression:
    scores, name = view.scores[kind], view.labels[kind]
    of = [span for span in view.found if span[0] == kind]
    possible = scores[view.possible[kind].astype(bool)]
    others = possible[possible <= 0]
    if of:
        _, start, end = max(of, key=lambda span: scores[span[1], span[2]])
        facts = {"words": quoted(view.words(start, end), 60), "score": float(scores[start, end]), "kind": name}
        said: list[Any] = [
            Format(
                "**{words}** scores highest, {score:+.2f}; {n} spans of the kind “{kind}” score above 0.",
                n=len(of),
                **facts,
            )
        ]
        if len(of) == 1:
            said = [
                Format(
                    "**{words}** scores highest, {score:+.2f}; it is the one span of the kind “{kind}” above 0.",
                    **facts,
                )
            ]
    else:
        said = [Format("No span of the kind “{kind}” scores above 0.", kind=name)]
    if len(possible) > 1 and len(others):
        said.append(
            Format(
                "Of {of} possible spans the best of the others scores {score:+.2f}.",
                of=len(possible),
                score=float(others.max()),
            )
        )
    said.append(
        Format("A frame marks those it found.") if view.right is None else Format("A frame marks the right ones.")
    )
    return Sentences([*said, Format("The colours end at ±{limit:.1f}.", limit=limit)])
