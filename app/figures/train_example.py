"""One problem of a task with its right answer, and where whoever knows the rule would look."""

from __future__ import annotations

from functools import reduce
from typing import Any

from app.figures.expressions import Expression, Fill, Format
from app.figures.live import Live
from app.figures.theme import colour
from app.figures.token_rows import Cell, Row, token_rows
from app.figures.tokens import Words, in_languages, quoted

MOST, MOST_PLACES = 3, 6  # pairs that are spelled out, and places of one of them
INVISIBLE = {" ": "␣", "\n": "⏎", "\t": "⇥"}
END = "</s>"


def worked_example(example: dict[str, Any]) -> Live:
    """example: of `app.service.training.requests.example_problem`."""
    source, answers = [_visible(token) for token in example["source"]], example["answer"]
    said: list[Words] = _by_position(answers)
    alignment = example["alignment"]
    places = [list(at) for at in alignment or []] + [[]] * len(said)
    problem = [Cell(token, Format("{token}, position {at}", token=token, at=at)) for at, token in enumerate(source)]
    answer = [
        Cell(words, _looks_at(words, source, at) if at else words, colour("good"), bold=True)
        for words, at in zip(said, places, strict=False)
    ]  # fmt: skip
    rows = [Row(Format("problem"), problem)] if source else []
    links = [
        ((0, at), (1, i))
        for i, some in enumerate(places)
        if len(some) < MOST_PLACES
        for at in some
        if at < len(source)
    ]
    rows.append(Row(Format("right answer"), answer, own=True))
    return token_rows(
        rows, links if source else [], caption=_sentence(source, said, alignment), file="innerview-problem"
    )


def _by_position(answers: dict[str, list[str]]) -> list[Words]:
    """Tokens that may differ from language to language."""
    columns = zip(*answers.values(), strict=False)
    return [in_languages(dict(zip(answers, map(_visible, column), strict=True))) for column in columns]


def _visible(token: str) -> str:
    return INVISIBLE.get(token, token)


def _looks_at(words: Words, source: list[str], places: list[int]) -> Format:
    listed = [
        Fill("{token} ({at})", token=quoted(source[at] if at < len(source) else END), at=at)
        for at in places[:MOST_PLACES]
    ]
    if len(places) > MOST_PLACES:
        listed.append(Fill("…"))
    together = reduce(lambda first, second: Format("{first}, {second}", first=first, second=second), listed)
    return Format("“{token}” looks at {places}", token=quoted(words), places=together)


def _sentence(source: list[str], said: list[Any], alignment: list[list[int]] | None) -> Expression | str:
    pairs = [(words, at) for words, at in zip(said, alignment or [], strict=False) if at]
    if not pairs:
        return ""
    if len(source) > 1 and all(len(at) == len(source) for _, at in pairs):
        return Format("Ideal attention: every token counts.")
    parts = [_looks_at(words, source, at) for words, at in pairs[:MOST]]
    told = reduce(lambda first, second: Format("{first}; {second}", first=first, second=second), parts)
    if len(pairs) > MOST:
        return Format("Ideal attention: {pairs}; and so on for {more} more.", pairs=told, more=len(pairs) - MOST)
    return Format("Ideal attention: {pairs}.", pairs=told)
