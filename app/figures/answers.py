"""Answers that are not text: classes, words for masks, spans, and the words that answer a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import plain_text, shortened
from app.figures.bars import BarGroup, BarRow, legend, share_bars
from app.figures.expressions import Affine, Array, Choose, Expression, Format, Join, Sentences, State, Transpose
from app.figures.live import Live, Parts
from app.figures.matrix import cells_path, matrix
from app.figures.theme import MONO, SIGNED, WEIGHT, colour
from app.figures.token_rows import Cell, Row, Span, kind_colour, token_rows
from app.figures.tokens import Words, quoted

COLUMN, HIGH, NAMES, LEGEND, EDGE = 30, 180, 92, 28, 38  # px of the scores of an answer
MOST_ACROSS = 4  # masks side by side


def plain_cells(tokens: list[str]) -> list[Cell | None]:
    return [Cell(token, Format("{token}, place {at}", token=token, at=at)) for at, token in enumerate(tokens)]


def classes(labels: list[Words], shares: np.ndarray, right: int | None, file: str) -> Live:
    """shares (class,): how likely each is"""
    best = int(shares.argmax())
    said = [Format("It says **{label}** with {share:.1%}.", label=labels[best], share=float(shares[best]))]
    if right is not None:
        said.append(Format("That is right.") if right == best else Format("That is wrong: it is {label}.", label=labels[right]))
    rows = [
        BarRow(label, float(share), Format("{label}: {share:p}", label=label, share=float(share)), i == best)
        for i, (label, share) in enumerate(zip(labels, shares, strict=True))
    ]
    table = {"class": list(labels), "share": [row.share for row in rows]}
    return share_bars([BarGroup(rows)], title=Format("Its answer"), caption=Sentences(said), file=f"{file}-classes", table=table)


def classes_along(labels: list[Words], tokens: list[str], lengths: list[int], shares: np.ndarray, file: str) -> Live:
    """shares (prefix, class): how likely each class is after so many tokens; the line goes through the likeliest."""
    array, best = Array("shares", shares), shares.argmax(1)
    turns = np.flatnonzero(np.diff(best)) + 1
    said: Expression = Format("It says {label} from the first token on and never changes its answer.", label=labels[best[0]])
    if len(turns):
        last = int(turns[-1])
        facts = {"token": quoted(tokens[lengths[last] - 1]), "at": lengths[last], "label": labels[best[last]]}
        said = Format("Reading on, it changes its answer {n} times; the last time at **{token}**, token {at}: from there on it says {label}.", n=len(turns), **facts)
        if len(turns) == 1:
            said = Format("Reading on, it changes its answer once, at **{token}**, token {at}: from there on it says {label}.", **facts)
    columns = [tokens[length - 1] for length in lengths]
    values = {"n": Array("lengths", np.array(lengths, np.int32))["x"], "token": Choose(State("x"), columns), "label": Choose(State("y"), list(labels)), "share": array["x", "y"]}
    one = Format("after {n} token, {token}: {label} {share:p}", **values)
    more = Format("after {n} tokens, up to {token}: {label} {share:p}", **values)
    live = matrix(
        labels, columns, {"z": Transpose(array[()]), "zmin": 0, "zmax": 1, "colorscale": WEIGHT}, 300,
        title=Format("Its answer while reading"), caption=said, file=f"{file}-classes-along",
        tip=Choose(Array("is_more", (np.array(lengths) != 1).astype(np.int32))["x"], [one, more]),
    )  # fmt: skip
    add_path(live, best, "amber")
    return live


def add_path(live: Live, rows: Any, tone: str, dash: str = "solid") -> None:
    """A line through one cell of every column."""
    at = len(live.figure.data)
    live.figure.add_scatter(
        x=list(range(len(rows))), y=np.asarray(rows), mode="lines+markers", hoverinfo="skip", cliponaxis=False,
        line={"width": 2.5, "dash": dash}, marker={"size": 7, "line": {"width": 1.5}},
    )  # fmt: skip
    live.bindings |= {
        f"data[{at}].line.color": colour(tone),
        f"data[{at}].marker.line.color": colour(tone),
        f"data[{at}].marker.color": colour("card"),
    }


def fillings(masks: list[dict[str, Any]], file: str, across: int = 1) -> Live:
    """What would stand at every mask: {place, words, shares, word, share, rank}, the last three of the word that was masked."""
    title = Format("What it would put there")
    if not masks:
        nothing = Format("No word is masked: click one, and the model says what should stand there.")
        return Live(go.Figure(), title=title, caption=nothing, height=0)
    groups = []
    for mask in masks:
        at, word = mask["place"], mask["word"]
        head = Format("place {at}", at=at) if word is None else Format("place {at}: “{word}” stood there", at=at, word=plain_text(shortened(word, 34)))
        rows = [
            BarRow(name, share, Format("{word} at place {at}: {share:p}, number {rank}", word=name, at=at, share=share, rank=i + 1), name == word)
            for i, (name, share) in enumerate(zip(mask["words"], mask["shares"], strict=True))
        ]
        groups.append(BarGroup(rows, head))
    holes = [Format("place {at}", at=mask["place"]) if mask["word"] is None else Format("place {at}: “{word}” stood there", at=mask["place"], word=mask["word"]) for mask in masks]
    table = {
        "hole": [hole for hole, mask in zip(holes, masks, strict=True) for _ in mask["words"]],
        "word": [word for mask in masks for word in mask["words"]],
        "share": [share for mask in masks for share in mask["shares"]],
    }
    return share_bars(groups, across, title=title, caption=_fillings_caption(masks), file=f"{file}-fillings", table=table)


def _fillings_caption(masks: list[dict[str, Any]]) -> Expression:
    first, known = masks[0], [mask for mask in masks if mask["word"] is not None]
    said = [Format("At place {at} it would put **{word}**, with {share:.1%}.", word=quoted(first["words"][0]), share=first["shares"][0], at=first["place"])]
    if known:
        right, worst = sum(mask["rank"] == 1 for mask in known), max(known, key=lambda mask: mask["rank"])
        hardest = {"word": quoted(worst["word"]), "rank": worst["rank"], "share": worst["share"]}
        if len(known) == 1:
            said.append(Format("**{word}**, which stood at place {at}, is its choice number {rank}, with {share:.1%}.", at=worst["place"], **hardest))
        else:
            facts = {"right": right, "n": len(known)}
            said.append(Format("{right} of {n} masked words is its first choice.", **facts) if right == 1 else Format("{right} of {n} masked words are its first choice.", **facts))
            if worst["rank"] > 1:
                said.append(Format("It finds **{word}** hardest: choice number {rank}, with {share:.1%}.", **hardest))
    return Sentences(said)


def next_sentence(labels: list[Words], shares: list[float] | None, right: int | None, file: str) -> Live:
    """Whether the second sentence follows the first; shares None: there is only one."""
    title = Format("Does the second sentence follow the first?")
    if shares is None:
        only = Format("There is only one sentence. Type [SEP] and a second one behind it, or take a held-out problem, and the model also judges whether they belong together.")
        return Live(go.Figure(), title=title, caption=only, height=0)
    best = 0 if shares[0] >= shares[1] else 1
    said = [Format("It says: {label}, with {share:.1%}.", label=labels[best], share=shares[best])]
    if right is not None:
        said.append(Format("That is right.") if right == best else Format("That is wrong."))
    names: list[Any] = [Format("follows"), Format("does not")]
    rows = [BarRow(names[i], share, Format("{label}: {share:p}", label=labels[i], share=share), i == best) for i, share in enumerate(shares)]
    return share_bars([BarGroup(rows)], title=title, caption=Sentences(said), file=f"{file}-next-sentence", table={"answer": names, "share": list(shares)})


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
        facts = {"words": view.words(start, end), "kind": view.labels[kind], "score": float(view.scores[kind, start, end])}
        missed = i >= len(view.found)
        tip = Format("{words} should be of the kind “{kind}”; it scores {score:+.2f}", **facts) if missed else Format("{words}: {kind}, {score:+.2f}", **facts)
        rows.append(Span(start, end, view.labels[kind], tip, kind_colour(kind), missed))
    live = token_rows(
        [Row(Format("text"), plain_cells(view.tokens))], spans=rows,
        title=Format("The spans it found"), caption=_spans_caption(view), file=f"{view.file}-spans",
    )  # fmt: skip
    chosen = [(State("spanKind"), State("spanStart"), State("spanEnd"))] * len(view.tokens) + [tuple(span) for span in shown]
    live.click = {key: Choose(State("point"), [one[i] for one in chosen]) for i, key in enumerate(("spanKind", "spanStart", "spanEnd"))}
    return live


def _spans_caption(view: SpanView) -> Expression:
    def around(span: list[int]) -> int:
        _, start, end = span
        return sum(a <= start and end <= b and b - a > end - start for _, a, b in view.found)

    count, inside = len(view.found), [span for span in view.found if around(span)]
    said: list[Any] = [Format("It found **{n}** span.", n=1) if count == 1 else Format("It found **{n}** spans.", n=count)]
    if inside:
        deepest = min(inside, key=lambda span: span[2] - span[1])
        facts = {"n": len(inside), "words": quoted(view.words(*deepest[1:]), 60), "depth": around(deepest)}
        one = Format("{n} of them lies within another, which tags cannot express: **{words}** is {depth} deep.", **facts)
        said.append(one if len(inside) == 1 else Format("{n} of them lie within another, which tags cannot express: **{words}** is {depth} deep.", **facts))
    if view.right is not None:
        missed = len(view.missed)
        if missed:
            said.append(Format("{n} is missing, drawn dashed.", n=missed) if missed == 1 else Format("{n} are missing, drawn dashed.", n=missed))
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
    limit = highest if highest > 0 else max(1e-6, float(np.abs(view.scores).max()))  # most spans score far below 0: what is above must be seen
    marked = view.found if view.right is None else view.right
    frames = [cells_path((end - 0.46, end + 0.46, start - 0.42, start + 0.42) for one, start, end in marked if one == kind) or "M-9,-9H-8" for kind in range(kinds)]
    hidden = cells_path((min(columns) - 0.5, max(columns) + 0.5, start - 0.5, start + 0.5) for start in range(n) if len(columns := np.flatnonzero(~view.possible[0, start].astype(bool))))
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
    live.figure.update_layout(shapes=[{"type": "path", "path": hidden or "M-9,-9H-8", "line": {"width": 0}}, {"type": "path", "path": frames[0], "line": {"width": 1.5}}, CHOSEN])
    values = {"words": Join(list(view.tokens), State("y"), State("x")), "score": array["spanKind", "y", "x"], "kind": Choose(kind, list(view.labels))}
    tips = [
        Format("a span does not end before it starts"),
        Format("{words}: {score:+.3f}, not of the kind “{kind}”", **values),
        Format("{words}: {score:+.3f}, of the kind “{kind}”", **values),
    ]
    state = np.where(view.possible.astype(bool), np.where(view.scores > 0, 2, 1), 0)
    live.tip = Choose(Array("span.state", state.astype(np.int32))["spanKind", "y", "x"], tips)
    return live


CHOSEN: dict[str, Any] = {"type": "rect", "line": {"width": 2.5}}


def chosen_cell(shape: int, row: str, column: str) -> dict[str, Any]:
    """The frame around a chosen cell, of a shape that is `CHOSEN`."""
    corners = {"x0": (column, -0.5), "x1": (column, 0.5), "y0": (row, -0.5), "y1": (row, 0.5)}
    bound: dict[str, Any] = {f"layout.shapes[{shape}].{name}": Affine(State(key), offset=by) for name, (key, by) in corners.items()}
    return bound | {f"layout.shapes[{shape}].line.color": colour("accent")}


def _scores_caption(view: SpanView, kind: int, limit: float) -> Expression:
    scores, name = view.scores[kind], view.labels[kind]
    of = [span for span in view.found if span[0] == kind]
    possible = scores[view.possible[kind].astype(bool)]
    others = possible[possible <= 0]
    if of:
        _, start, end = max(of, key=lambda span: scores[span[1], span[2]])
        facts = {"words": quoted(view.words(start, end), 60), "score": float(scores[start, end]), "kind": name}
        said: list[Any] = [Format("**{words}** scores highest, {score:+.2f}; {n} spans of the kind “{kind}” score above 0.", n=len(of), **facts)]
        if len(of) == 1:
            said = [Format("**{words}** scores highest, {score:+.2f}; it is the one span of the kind “{kind}” above 0.", **facts)]
    else:
        said = [Format("No span of the kind “{kind}” scores above 0.", kind=name)]
    if len(possible) > 1 and len(others):
        said.append(Format("Of {of} possible spans the best of the others scores {score:+.2f}.", of=len(possible), score=float(others.max())))
    said.append(Format("A frame marks those it found.") if view.right is None else Format("A frame marks the right ones."))
    return Sentences([*said, Format("The colours end at ±{limit:.1f}.", limit=limit)])


@dataclass
class AnswerView:
    """scores (first or last, token); spans: [{span, share, score}], the likeliest first; best, right: [start, end]"""

    tokens: list[str]
    scores: np.ndarray
    best: list[int]
    spans: list[dict[str, Any]]
    right: list[int] | None
    file: str = "run"

    def words(self, span: list[int]) -> str:
        return " ".join(self.tokens[span[0] : span[1] + 1])


def answer_scores(view: AnswerView) -> Live:
    """The score of every token as the answer's first and last; the best span stands on its own ground. 1 column = 30 px."""
    n, (start, end), array = len(view.tokens), view.best, Array("scores", view.scores)
    most, least = max(1.0, float(view.scores.max())), min(-0.5, float(view.scores.min()))
    inside = [start <= at <= end for at in range(n)]
    bar: dict[str, Any] = {"x": list(range(n)), "hoverinfo": "skip", "width": 0.33}
    figure = go.Figure(
        [
            go.Bar(**bar, offset=-0.37), go.Bar(**bar, offset=0.03),
        ],
        {
            "xaxis": {
                "fixedrange": True, "range": [-0.5, n - 0.5], "showgrid": False, "zeroline": False, "tickangle": -90, "ticks": "",
                "tickvals": list(range(n)), "tickfont": {"size": 13, "family": MONO},
            },
            "yaxis": {"fixedrange": True, "range": [least, most], "showgrid": False, "tickvals": [least, 0, most], "zerolinewidth": 1},
            "margin": {"l": EDGE, "r": 4, "t": LEGEND, "b": NAMES},
            "annotations": [{"showarrow": False, "xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 4}],
            "shapes": [{"type": "rect", "layer": "below", "line": {"width": 0}, "x0": start - 0.5, "x1": end + 0.5, "yref": "paper", "y0": -NAMES / HIGH, "y1": 1}],
        },
    )  # fmt: skip
    said = [Format("It answers **{words}**, with {share:.1%}.", words=quoted(view.words(view.best), 60), share=view.spans[0]["share"])]
    if view.right is not None:
        same = list(view.right) == list(view.best)
        said.append(Format("That is right.") if same else Format("That is wrong: the answer is **{words}**.", words=quoted(view.words(view.right), 60)))
    names = [plain_text(shortened(token, 11)) for token in view.tokens]
    return Live(
        figure,
        {
            "data[0].y": array[0], "data[0].marker.color": colour("accent"),
            "data[1].y": array[1], "data[1].marker.color": colour("amber"),
            "layout.annotations[0].text": legend({"accent": Format("as its first"), "amber": Format("as its last")}),
            "layout.annotations[0].font.color": colour("mute"),
            "layout.shapes[0].fillcolor": colour("soft"),
            "layout.yaxis.ticktext": [Format("{score:+.1f}", score=least), "0", Format("{score:+.1f}", score=most)],
            "layout.xaxis.ticktext": [f"<b>{name}</b>" if hot else name for name, hot in zip(names, inside, strict=True)],
        },
        title=Format("Where the answer starts and ends"), caption=Sentences(said), file=f"{view.file}-answer",
        parts=Parts(boxes=[(at - 0.5, at + 0.5, least, most) for at in range(n)]),
        tip=Format("{token}: {first:+.3f} as the first word, {last:+.3f} as the last", token=Choose(State("point"), view.tokens), first=array[0, "point"], last=array[1, "point"]),
        table={"token": list(view.tokens), "first": array[0], "last": array[1]},
        height=LEGEND + HIGH + NAMES, width=EDGE + n * COLUMN + 4,
    )  # fmt: skip


def likely_answers(view: AnswerView) -> Live:
    rows = [
        BarRow(view.words(one["span"]), one["share"], Format("{words}: {share:p}, both scores together {score:+.2f}", words=view.words(one["span"]), share=one["share"], score=one["score"]), i == 0)
        for i, one in enumerate(view.spans)
    ]
    more = view.spans[1:2]
    caption = Format("The next likeliest is **{words}**, with {share:.1%}.", words=quoted(view.words(more[0]["span"]), 60), share=more[0]["share"]) if more else ""
    table = {
        "words": [row.name for row in rows], "start": [one["span"][0] for one in view.spans], "end": [one["span"][1] for one in view.spans],
        "share": [row.share for row in rows], "score": [one["score"] for one in view.spans],
    }  # fmt: skip
    return share_bars([BarGroup(rows)], title=Format("The likeliest answers"), caption=caption, file=f"{view.file}-answers", table=table)
