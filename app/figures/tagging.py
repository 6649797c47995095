"""Tags: one under every token, the scores they were chosen from with the paths through them, and a CRF's transitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.figures.expressions import Array, Choose, Expression, Format, Sentences, State, Transpose
from app.figures.live import Live
from app.figures.matrix import CHOSEN, add_path, cells_path, chosen_cell, matrix
from app.figures.theme import SIGNED, WEIGHT, colour
from app.figures.token_rows import Cell, Row, kind_colour, plain_cells, tag_kinds, token_rows
from app.figures.tokens import Words, quoted


@dataclass
class TagView:
    """emissions, shares (token, tag); path: the model's answer; alone: the best tag of every token; right: if it is known.

    crf  None, or {rows, columns, path, alone, broken} with the parts of the scores of both paths; then
    transitions, legal (from, to), with the start as last row and the end as last column
    """

    tokens: list[str]
    labels: list[Words]
    emissions: np.ndarray
    shares: np.ndarray
    path: list[int]
    alone: list[int]
    right: list[int] | None
    crf: dict[str, Any] | None = None
    transitions: np.ndarray | None = None
    legal: np.ndarray | None = None
    file: str = "run"

    def share(self, at: int, tag: int) -> float:
        return float(self.shares[at, tag])

    def tone(self, tag: int) -> Expression | None:
        name = english(self.labels[tag])
        return kind_colour(tag_kinds(map(english, self.labels)).index(name[2:])) if "-" in name else None


def english(words: Words) -> str:
    return words if isinstance(words, str) else words.among["en"]


def tags(view: TagView) -> Live:
    """The tokens, their tags, with a CRF also the best tag of every token by itself, and the right ones."""

    def cell(at: int, tag: int, message: type | Any, faint: bool = False) -> Cell:
        tone = view.tone(tag)
        facts = {"tag": view.labels[tag], "token": view.tokens[at], "share": view.share(at, tag)}
        return Cell(view.labels[tag], message(facts), tone, faint, tone is not None)

    answer = lambda facts: Format("{token}: {tag}, {share:p}", **facts)  # noqa: E731
    alone = lambda facts: Format("{token} by itself: {tag}; given the whole sentence that tag has {share:p}", **facts)  # noqa: E731
    right = lambda facts: Format("{token}: {tag} is right; the model gives it {share:p}", **facts)  # noqa: E731
    missed = lambda facts: Format("{token}: {tag} would be right; the model gives it {share:p}", **facts)  # noqa: E731
    by_itself = Format("each token by itself")
    rows = [
        Row(Format("tokens"), plain_cells(view.tokens)),
        Row(
            Format("best allowed path (Viterbi)") if view.crf else by_itself,
            [cell(at, tag, answer) for at, tag in enumerate(view.path)],
        ),
    ]
    if view.crf:
        rows.append(Row(by_itself, [cell(at, tag, alone, tag == view.path[at]) for at, tag in enumerate(view.alone)]))
    if view.right is not None:
        cells = [
            cell(at, tag, right if tag == view.path[at] else missed, tag == view.path[at])
            for at, tag in enumerate(view.right)
        ]
        rows.append(Row(Format("right answer"), cells))
    n = len(view.tokens)
    places = Array("tags.place", np.tile(np.arange(n, dtype=np.int32), len(rows)))["point"]
    return token_rows(
        rows, title=Format("A tag for every token"), caption=_tags_caption(view), file=f"{view.file}-tags",
        click={"latticeColumn": places, "latticeRow": Array("tags.path", np.tile(np.array(view.path, np.int32), len(rows)))["point"]},
    )  # fmt: skip


def _tags_caption(view: TagView) -> Expression:
    names, crf, n = view.labels, view.crf, len(view.path)
    judged: list[Any] = []
    if view.right is not None:
        wrong = sum(a != b for a, b in zip(view.right, view.path, strict=True))
        if wrong:
            judged = [
                Format("{wrong} of {n} tags is wrong.", wrong=wrong, n=n)
                if wrong == 1
                else Format("{wrong} of {n} tags are wrong.", wrong=wrong, n=n)
            ]
        else:
            judged = [Format("The {n} tag is right.", n=n) if n == 1 else Format("All {n} tags are right.", n=n)]
    if crf is None:
        least = int(np.argmin([view.share(at, tag) for at, tag in enumerate(view.path)]))
        return Sentences(
            [
                Format(
                    "Every token is tagged by itself; the least sure is **{token}**.",
                    token=quoted(view.tokens[least]),
                ),
                *judged,
            ]
        )
    said: list[Any] = [
        Format(
            "The best allowed path scores **{score:+.2f}**: {emitted:+.2f} from the words, {moved:+.2f} from the order of the tags. It has {share:p} of the probability of all paths.",
            **crf["path"],
        )
    ]
    differs = [at for at, (a, b) in enumerate(zip(view.alone, view.path, strict=True)) if a != b]
    if not differs:
        return Sentences([*said, Format("Token by token it would have said the same."), *judged])
    at = differs[0]
    said.append(
        Format(
            "Token by token, **{token}** would be {alone} instead of {path}; that path scores {score:+.2f} and has {share:p}.",
            token=quoted(view.tokens[at]), alone=names[view.alone[at]], path=names[view.path[at]], score=crf["alone"]["score"], share=crf["alone"]["share"],
        )
    )  # fmt: skip
    broken = next((at for at in crf["broken"] if at in differs), next(iter(crf["broken"]), None))
    if broken is not None:
        said.append(
            Format(
                "It would make the impossible move {before} → {after}: such paths have a score, and so a share, like any other, since the CRF has to learn what cannot occur; but it never answers with one.",
                before=names[view.alone[broken - 1]] if broken else Format("the start"), after=names[view.alone[broken]],
            )
        )  # fmt: skip
    return Sentences([*said, *judged])


def lattice(view: TagView) -> Live:
    """Tags × tokens: the words' own scores, or how likely each tag is; with the path through them."""
    emissions, shares = Array("emissions", view.emissions), Array("shares", view.shares)
    limit = max(1e-6, float(np.abs(view.emissions).max()))
    sure = [view.share(at, tag) for at, tag in enumerate(view.path)]
    least = int(np.argmin(sure))
    by = State("scoresAs")
    values = {
        "tag": Choose(State("y"), list(view.labels)),
        "token": Choose(State("x"), view.tokens),
        "score": emissions["x", "y"],
        "share": shares["x", "y"],
    }
    line = (
        Format("The line is the best allowed path, the dashed one takes the best tag of every token.")
        if view.crf
        else Format("The line takes the best tag of every token.")
    )
    on_path = np.zeros(view.shares.shape, np.int32)
    on_path[np.arange(len(view.path)), view.path] = 1
    live = matrix(
        view.labels, list(view.tokens),
        {
            "z": Choose(by, {"scores": Transpose(emissions[()]), "shares": Transpose(shares[()])}),
            "zmin": Choose(by, {"scores": -limit, "shares": 0}), "zmax": Choose(by, {"scores": limit, "shares": 1}),
            "colorscale": Choose(by, {"scores": SIGNED, "shares": WEIGHT}), **chosen_cell(0, "latticeRow", "latticeColumn"),
        },
        320, title=Format("Tags × tokens, and the path through them"), file=f"{view.file}-lattice",
        caption=Sentences([line, Format("It is least sure at **{token}**: {tag}, {share:.1%}.", token=quoted(view.tokens[least]), tag=view.labels[view.path[least]], share=sure[least])]),
        tip=Choose(
            Array("lattice.on_path", on_path)["x", "y"],
            [
                Format("{token} as {tag}: emission {score:+.3f}, probability {share:p}", **values),
                Format("{token} as {tag}: emission {score:+.3f}, probability {share:p} · on the path", **values),
            ],
        ),
        click={"latticeRow": State("y"), "latticeColumn": State("x")},
    )  # fmt: skip
    live.figure.update_layout(shapes=[CHOSEN])
    if view.crf:
        add_path(live, view.alone, "mute", "4px,4px")
    add_path(live, view.path, "accent")
    return live


def transitions(view: TagView) -> Live:
    """The CRF's score of every move from tag to tag; those that cannot occur in right tags have a cross."""
    assert view.crf is not None and view.transitions is not None and view.legal is not None
    rows, columns, scores = view.crf["rows"], view.crf["columns"], view.transitions
    last, legal = len(rows) - 1, view.legal.astype(bool)
    moves = [(a, b) for a in range(len(rows)) for b in range(len(columns)) if (a, b) != (last, last)]
    allowed, crossed = [move for move in moves if legal[move]], [move for move in moves if not legal[move]]

    def facts(move: tuple[int, int]) -> dict[str, Any]:
        return {"before": rows[move[0]], "after": columns[move[1]], "score": float(scores[move])}

    best = max(allowed, key=lambda move: scores[move])
    said: list[Any] = [Format("The best move is {before} → {after} ({score:+.2f}).", **facts(best))]
    if crossed:
        odd = max(crossed, key=lambda move: scores[move])
        means = {
            name: float(np.mean([scores[move] for move in some]))
            for name, some in (("illegal", crossed), ("legal", allowed))
        }
        said.append(
            Format(
                "The {n} moves with a cross cannot occur (an I- tag continues only its own kind): they score {illegal:+.2f} on average, the others {legal:+.2f}; the highest of them is {before} → {after} ({score:+.2f}).",
                n=len(crossed), **means, **facts(odd),
            )
        )  # fmt: skip
    array, limit = Array("transitions", scores), max(1e-6, float(np.abs(scores).max()))
    kind = np.where(legal, 0, 1)
    kind[last, last] = 2
    values = {"before": Choose(State("y"), rows), "after": Choose(State("x"), columns), "score": array["y", "x"]}
    live = matrix(
        rows, columns,
        {"z": array[()], "zmin": -limit, "zmax": limit, "colorscale": SIGNED, "layout.shapes[0].fillcolor": colour("hidden"), "data[1].marker.line.color": colour("mute")},
        320, title=Format("The CRF's scores for every move"), caption=Sentences(said), file=f"{view.file}-transitions",
        tip=Choose(
            Array("transitions.kind", kind.astype(np.int32))["y", "x"],
            [
                Format("{before} → {after}: {score:+.3f}", **values),
                Format("{before} → {after}: {score:+.3f} · cannot occur in right tags", **values),
                Format("no sentence is empty"),
            ],
        ),
    )  # fmt: skip
    live.figure.add_scatter(
        x=[b for _, b in crossed],
        y=[a for a, _ in crossed],
        mode="markers",
        hoverinfo="skip",
        marker={"symbol": "x-thin", "size": 8, "line": {"width": 1.4}},
    )
    live.figure.update_layout(
        shapes=[
            {
                "type": "path",
                "path": cells_path([(last - 0.5, last + 0.5, last - 0.5, last + 0.5)]),
                "line": {"width": 0},
            }
        ]
    )
    return live
