"""Answers that are not text: classes, words for masks, and the words that answer a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import plain_text, shortened
from app.figures.bars import BarGroup, BarRow, legend, share_bars
from app.figures.expressions import Array, Choose, Expression, Format, Sentences, State, Transpose
from app.figures.live import Live, Parts
from app.figures.matrix import add_path, matrix
from app.figures.theme import MONO, WEIGHT, colour
from app.figures.tokens import Words, quoted

COLUMN, HIGH, NAMES, LEGEND, EDGE = 30, 180, 92, 28, 38  # px of the scores of an answer
MOST_ACROSS = 3  # masks side by side


def classes(labels: list[Words], shares: np.ndarray, right: int | None, file: str) -> Live:
    """shares (class,): how likely each is"""
    best = int(shares.argmax())
    said = [Format("It says **{label}** with {share:.1%}.", label=labels[best], share=float(shares[best]))]
    if right is not None:
        said.append(
            Format("That is right.")
            if right == best
            else Format("That is wrong: it is {label}.", label=labels[right])
        )
    rows = [
        BarRow(label, float(share), Format("{label}: {share:p}", label=label, share=float(share)), i == best)
        for i, (label, share) in enumerate(zip(labels, shares, strict=True))
    ]
    table = {"class": list(labels), "share": [row.share for row in rows]}
    return share_bars(
        [BarGroup(rows)], title=Format("Its answer"), caption=Sentences(said), file=f"{file}-classes", table=table
    )


def classes_along(labels: list[Words], tokens: list[str], lengths: list[int], shares: np.ndarray, file: str) -> Live:
    """shares (prefix, class): how likely each class is after so many tokens; the line goes through the likeliest."""
    array, best = Array("shares", shares), shares.argmax(1)
    turns = np.flatnonzero(np.diff(best)) + 1
    said: Expression = Format(
        "It says {label} from the first token on and never changes its answer.", label=labels[best[0]]
    )
    if len(turns):
        last = int(turns[-1])
        facts = {"token": quoted(tokens[lengths[last] - 1]), "at": lengths[last] - 1, "label": labels[best[last]]}
        said = Format(
            "Reading on, it changes its answer {n} times; the last time at **{token}**, position {at}: from there on it says {label}.",
            n=len(turns),
            **facts,
        )
        if len(turns) == 1:
            said = Format(
                "Reading on, it changes its answer once, at **{token}**, position {at}: from there on it says {label}.",
                **facts,
            )
    columns = [tokens[length - 1] for length in lengths]
    values = {
        "n": Array("lengths", np.array(lengths, np.int32))["x"],
        "token": Choose(State("x"), columns),
        "label": Choose(State("y"), list(labels)),
        "share": array["x", "y"],
    }
    one = Format("after {n} token, {token}: {label} {share:p}", **values)
    more = Format("after {n} tokens, up to {token}: {label} {share:p}", **values)
    live = matrix(
        labels, columns, {"z": Transpose(array[()]), "zmin": 0, "zmax": 1, "colorscale": WEIGHT}, 300,
        title=Format("Its answer while reading"), caption=said, file=f"{file}-classes-along",
        tip=Choose(Array("is_more", (np.array(lengths) != 1).astype(np.int32))["x"], [one, more]),
    )  # fmt: skip
    add_path(live, best, "amber")
    return live


def fillings(masks: list[dict[str, Any]], file: str, across: int = 1) -> Live:
    """What would stand at every mask: {place, words, shares, word, share, rank}, the last three of the word that was masked."""
    title = Format("What it would put there")
    if not masks:
        nothing = Format("No word is masked: click one, and the model says what should stand there.")
        return Live(go.Figure(), title=title, caption=nothing, height=0)
    groups = []
    for mask in masks:
        at, word = mask["place"], mask["word"]
        head = (
            Format("place {at}", at=at)
            if word is None
            else Format("place {at}: “{word}” stood there", at=at, word=plain_text(shortened(word, 34)))
        )
        rows = [
            BarRow(
                name,
                share,
                Format("{word} at place {at}: {share:p}, number {rank}", word=name, at=at, share=share, rank=i + 1),
                name == word,
            )
            for i, (name, share) in enumerate(zip(mask["words"], mask["shares"], strict=True))
        ]
        groups.append(BarGroup(rows, head))
    holes = [
        Format("place {at}", at=mask["place"])
        if mask["word"] is None
        else Format("place {at}: “{word}” stood there", at=mask["place"], word=mask["word"])
        for mask in masks
    ]
    table = {
        "hole": [hole for hole, mask in zip(holes, masks, strict=True) for _ in mask["words"]],
        "word": [word for mask in masks for word in mask["words"]],
        "share": [share for mask in masks for share in mask["shares"]],
    }
    return share_bars(
        groups, across, title=title, caption=_fillings_caption(masks), file=f"{file}-fillings", table=table
    )


def _fillings_caption(masks: list[dict[str, Any]]) -> Expression:
    first, known = masks[0], [mask for mask in masks if mask["word"] is not None]
    said = [
        Format(
            "At place {at} it would put **{word}**, with {share:.1%}.",
            word=quoted(first["words"][0]),
            share=first["shares"][0],
            at=first["place"],
        )
    ]
    if known:
        right, worst = sum(mask["rank"] == 1 for mask in known), max(known, key=lambda mask: mask["rank"])
        hardest = {"word": quoted(worst["word"]), "rank": worst["rank"], "share": worst["share"]}
        if len(known) == 1:
            said.append(
                Format(
                    "**{word}**, which stood at place {at}, is its choice number {rank}, with {share:.1%}.",
                    at=worst["place"],
                    **hardest,
                )
            )
        else:
            facts = {"right": right, "n": len(known)}
            said.append(
                Format("{right} of {n} masked words is its first choice.", **facts)
                if right == 1
                else Format("{right} of {n} masked words are its first choice.", **facts)
            )
            if worst["rank"] > 1:
                said.append(Format("It finds **{word}** hardest: choice number {rank}, with {share:.1%}.", **hardest))
    return Sentences(said)


def next_sentence(labels: list[Words], shares: list[float] | None, right: int | None, file: str) -> Live:
    """Whether the second sentence follows the first; shares None: there is only one."""
    title = Format("Does the second sentence follow the first?")
    if shares is None:
        only = Format(
            "There is only one sentence. Type [SEP] and a second one behind it, or take a held-out problem, and the model also judges whether they belong together."
        )
        return Live(go.Figure(), title=title, caption=only, height=0)
    best = 0 if shares[0] >= shares[1] else 1
    said = [Format("It says: {label}, with {share:.1%}.", label=labels[best], share=shares[best])]
    if right is not None:
        said.append(Format("That is right.") if right == best else Format("That is wrong."))
    names: list[Any] = [Format("follows"), Format("does not")]
    rows = [
        BarRow(names[i], share, Format("{label}: {share:p}", label=labels[i], share=share), i == best)
        for i, share in enumerate(shares)
    ]
    return share_bars(
        [BarGroup(rows)],
        title=title,
        caption=Sentences(said),
        file=f"{file}-next-sentence",
        table={"answer": names, "share": list(shares)},
    )


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
    said = [
        Format(
            "It answers **{words}**, with {share:.1%}.",
            words=quoted(view.words(view.best), 60),
            share=view.spans[0]["share"],
        )
    ]
    if view.right is not None:
        same = list(view.right) == list(view.best)
        said.append(
            Format("That is right.")
            if same
            else Format("That is wrong: the answer is **{words}**.", words=quoted(view.words(view.right), 60))
        )
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
        height=LEGEND + HIGH + NAMES, width=EDGE + n * COLUMN + 4, reveal=(EDGE + start * COLUMN - 20, EDGE + (end + 1) * COLUMN),
    )  # fmt: skip


def likely_answers(view: AnswerView) -> Live:
    rows = [
        BarRow(
            view.words(one["span"]),
            one["share"],
            Format(
                "{words}: {share:p}, both scores together {score:+.2f}",
                words=view.words(one["span"]),
                share=one["share"],
                score=one["score"],
            ),
            i == 0,
        )
        for i, one in enumerate(view.spans)
    ]
    more = view.spans[1:2]
    caption = (
        Format(
            "The next likeliest is **{words}**, with {share:.1%}.",
            words=quoted(view.words(more[0]["span"]), 60),
            share=more[0]["share"],
        )
        if more
        else ""
    )
    table = {
        "words": [row.name for row in rows], "start": [one["span"][0] for one in view.spans], "end": [one["span"][1] for one in view.spans],
        "share": [row.share for row in rows], "score": [one["score"] for one in view.spans],
    }  # fmt: skip
    return share_bars(
        [BarGroup(rows)],
        title=Format("The likeliest answers"),
        caption=caption,
        file=f"{view.file}-answers",
        table=table,
    )
