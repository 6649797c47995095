"""One example of a run's training: what went in, and what should come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.figures.expressions import Expression, Format, Sentences
from app.figures.live import Live
from app.figures.tagging import english
from app.figures.theme import colour
from app.figures.token_rows import Cell, Row, Span, kind_colour, plain_cells, tag_kinds, token_rows
from app.figures.tokens import Words, in_languages, quoted

Example = dict[str, Any]  # as `app.service.generation.training_example.describe_example` gives it
Parts = tuple[list[Row], list[Any], list[Span], list[Any]]  # rows, links, spans, sentences


def training_example(example: Example, file: str = "run") -> Live:
    rows, links, spans, said = FORMS[example["form"]](example)
    which = Format(
        "Example {number} of {of} from the batches with which its training begins.",
        number=example["number"] + 1,
        of=example["of"],
    )
    return token_rows(
        rows, links, spans, title=TITLES[example["form"]], caption=Sentences([*said, which]), file=f"{file}-asked"
    )


TITLES = {
    "label": Format("What it was asked in its training: one class"),
    "tags": Format("What it was asked in its training: a tag for every token"),
    "stream": Format("What it was asked in its training: the next token"),
    "pairs": Format("What it was asked in its training: the next token of the target"),
    "masked": Format("What it was asked in its training: the words behind the masks"),
    "answer": Format("What it was asked in its training: where the answer starts and ends"),
    "spans": Format("What it was asked in its training: all spans"),
}


def _input(cells: list[Cell | None]) -> Row:
    return Row(Format("input"), cells)


def _target(cells: list[Cell | None], own: bool = False) -> Row:
    return Row(Format("target"), cells, own)


def _goal(token: Words | None, at: int, tone: Expression | None = None) -> Cell:
    if token is None:
        return Cell("·", Format("place {at}: nothing is asked", at=at), faint=True)
    tip = Format("place {at}: it should say {token}", at=at, token=token)
    return Cell(token, tip, tone or colour("accent"), bold=True)


def _goals(tokens: list[str | None]) -> list[Cell | None]:
    return [_goal(token, at) for at, token in enumerate(tokens)]


def _shifts(given: list[str], target: list[str | None], row: int) -> list[Any]:
    """Each target is the token that goes in one place later."""
    return [
        ((row, at + 1), (row + 1, at)) for at, token in enumerate(target) if token is not None and at + 1 < len(given)
    ]


def _label(example: Example) -> Parts:
    label = in_languages(example["label"])
    cell = Cell(label, Format("the right class: {label}", label=label), colour("accent"), bold=True)
    said = Format("The whole input has one answer, a class: **{label}**.", label=label)
    return [_input(plain_cells(example["input"])), _target([cell], own=True)], [], [], [said]


def _tags(example: Example) -> Parts:
    labels = [label and in_languages(label) for label in example["labels"]]
    kinds = tag_kinds(english(in_languages(name)) for name in example["names"])
    cells: list[Cell | None] = []
    for at, label in enumerate(labels):
        goal, name = _goal(label, at), english(label) if label else ""
        named = "-" in name
        cells.append(
            Cell(goal.text, goal.tip, kind_colour(kinds.index(name[2:])) if named else None, goal.faint, named)
        )
    named = sum("-" in english(label) for label in labels if label)
    said = Format(
        "{n} tokens go in, {n} tags should come out, {named} of them other than O.", n=len(labels), named=named
    )
    return [_input(plain_cells(example["input"])), _target(cells)], [], [], [said]


def _stream(example: Example) -> Parts:
    given, target = example["input"], example["target"]
    said: list[Any] = [Format("The target is the input **moved by one**: at each place the token that comes next.")]
    asked = sum(token is not None for token in target)
    if asked < len(target):
        facts = {"asked": asked, "n": len(target)}
        one = Format("{asked} of {n} places is asked; what comes at the others cannot be known.", **facts)
        said.append(
            one
            if asked == 1
            else Format("{asked} of {n} places are asked; what comes at the others cannot be known.", **facts)
        )
    return [_input(plain_cells(given)), _target(_goals(target))], _shifts(given, target, 0), [], said


def _pairs(example: Example) -> Parts:
    given, target = example["input"], example["target"]
    rows = [
        Row(Format("source (encoder)"), plain_cells(example["source"]), own=True),
        Row(Format("input of the decoder"), plain_cells(given)),
        _target(_goals(target)),
    ]
    said = Format(
        "Teacher forcing: the decoder reads the **right** tokens so far, whatever it would have written itself, and should say the next one, {n} times at once.",
        n=len(target),
    )
    return rows, _shifts(given, target, 1), [], [said]


def _masked(example: Example) -> Parts:
    tones = {"masked": "accent", "swapped": "bad", "kept": "amber"}
    cells: list[Cell | None] = []
    for at, (token, fate, was) in enumerate(zip(example["input"], example["fates"], example["target"], strict=True)):
        facts = {"token": token, "at": at, "was": was or ""}
        tips = {
            "masked": Format("{was} was masked here (place {at}, {token})", **facts),
            "swapped": Format("{was} was replaced by the random word {token} (place {at})", **facts),
            "kept": Format("{was} was chosen and left as it is (place {at}, {token})", **facts),
        }
        tip = tips[fate] if fate else Format("{token}, place {at}", token=token, at=at)
        cells.append(Cell(token, tip, colour(tones[fate]) if fate else None, bold=bool(fate)))
    links = [((1, at), (2, at)) for at, token in enumerate(example["target"]) if token is not None]
    facts = {"chosen": len(links), **{fate: example["fates"].count(fate) for fate in tones}}
    chosen = Format(
        "**{chosen}** words were chosen: {masked} masked, {swapped} replaced by a random word, {kept} left as they are; only those are asked for.",
        **facts,
    )
    if len(links) == 1:
        chosen = Format(
            "**{chosen}** word was chosen: {masked} masked, {swapped} replaced by a random word, {kept} left as it is; only that is asked for.",
            **facts,
        )
    said: list[Any] = [
        chosen,
        Format("Of all chosen words {most:.0%} are masked, {few:.0%} replaced, {few:.0%} kept.", most=0.8, few=0.1),
    ]
    if example.get("follows"):
        said.append(Format("And of the two sentences: {follows}.", follows=in_languages(example["follows"])))
    rows = [Row(Format("the text"), plain_cells(example["text"])), _input(cells), _target(_goals(example["target"]))]
    return rows, links, [], said


def _answer(example: Example) -> Parts:
    start, end = example["span"]
    words, accent = " ".join(example["input"][start : end + 1]), colour("accent")
    cells: list[Cell | None] = [None] * len(example["input"])
    cells[end] = Cell(WORDS["last"], Format("the answer ends at place {at}", at=end), accent, bold=True)
    cells[start] = Cell(
        WORDS["both" if start == end else "first"],
        Format("the answer starts at place {at}", at=start),
        accent,
        bold=True,
    )
    said = Format(
        "The answer is **{words}**: it starts at place {start} and ends at place {end}.",
        words=quoted(words, 60),
        start=start,
        end=end,
    )
    spans = [Span(start, end, WORDS["answer"], words, accent)]
    return [_input(plain_cells(example["input"])), _target(cells)], [], spans, [said]


WORDS = {"first": Format("start"), "last": Format("end"), "both": Format("start, end"), "answer": Format("answer")}


def _spans(example: Example) -> Parts:
    tokens, labels = example["input"], [in_languages(label) for label in example["labels"]]
    spans = [
        Span(
            start,
            end,
            labels[kind],
            Format("{words}: {kind}", words=" ".join(tokens[start : end + 1]), kind=labels[kind]),
            kind_colour(kind),
        )
        for kind, start, end in example["spans"]
    ]
    said = Format(
        "**{n}** of {pairs} × {kinds} possible spans should score above 0, all others below.",
        n=len(spans), pairs=len(tokens) * (len(tokens) + 1) // 2, kinds=len(labels),
    )  # fmt: skip
    return [_input(plain_cells(tokens))], [], spans, [said]


FORMS: dict[str, Callable[[Example], Parts]] = {
    "label": _label,
    "tags": _tags,
    "stream": _stream,
    "pairs": _pairs,
    "masked": _masked,
    "answer": _answer,
    "spans": _spans,
}
