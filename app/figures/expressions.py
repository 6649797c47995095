"""Expressions over arrays and state: what a figure's attributes and captions are bound to.

A binding has to mean the same in Python (`evaluate`) and in the page (`static/js/live/expressions.js`), so there are few
kinds, each plain data:

    weights["snapshot", "layer", "head"]      a slice of an array, chosen by keys of the state
    State("snapshot")                         the state itself
    values["snapshot", :, "unit"]             with all of an axis where there is a colon
    Affine(State("key"), offset=-0.5)         scale · x + offset, rounded down where `whole`; of arrays, each number
    Choose(roles["snapshot"], ["a", "b"])     one of several expressions, by an index (beyond the end: the last) or a key (unknown: the first)
    Tile(weights["snapshot"], 2, 1)           (row, column, y, x) side by side as one matrix, with gaps
    Format("{share:.0%} of {n:,}", share=…)   a sentence in the reader's language; its template is a gettext message
    Term("gate", "input")                     a word whose translation depends on what it is about
    Fill("{run}-step{step}", run=…, step=…)   the same for what is not translated
    Sentences([…, …])                         one after another, as the language does it; empty ones are left out
    Take(values, order)                       values (or rows) in another order
    Item(State("customdata"), 0)              one value of a list
    Curves(weights[…], 0.1, 0.3, "y")         weights between two limits as curves from their row to their column
    Nearest(values, x, State("step"))         the value where the increasing x is nearest to that; none beyond its ends
    Log1p(State("step"))                      ln(1 + x), as steps lie on a log scale that has a 0
    Transpose(rows)                           rows as columns
    Concat([a, b])                            the values of one array after those of another
    Each(Fill("{unit} {r:+.2f}", …))          a list of texts, one for each of its values
    Sum([position, offset])                   of numbers
    Clamp(position, 0, 63)                    the nearest number between two others
    BySign(terms, BLUE, ORANGE)               one value for each number: the first where it is below 0
    First(values, 3)                          as many values from the beginning
    Join(tokens, State("y"), State("x"))      from one token to another as one text

Lists and dicts of expressions are expressions; anything else stands for itself. `State("width")` is that of the picture in
px, so that what is written into it can follow the room there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from app.figures.numbers import fill

Translate = Callable[[str, str], str]  # (message, language) → words


@dataclass(frozen=True)
class Context:
    """What expressions are evaluated in: the state, and words in its language."""

    state: Mapping[str, Any]
    translate: Translate

    @property
    def language(self) -> str:
        return self.state.get("language", "en")

    def value(self, part: Any) -> Any:
        if isinstance(part, Expression):
            return part.evaluate(self)
        if isinstance(part, dict):
            return {name: self.value(one) for name, one in part.items()}
        return [self.value(one) for one in part] if isinstance(part, list) else part


@dataclass(frozen=True, eq=False)
class Expression:
    """Base of all kinds: dataclasses whose fields are expressions or plain values. A kind's name in the page is its own."""

    def evaluate(self, context: Context) -> Any:
        raise NotImplementedError

    def to_json(self, json: Callable[[Any], Any], translate: Translate, languages: list[str]) -> dict[str, Any]:
        return {
            "$": type(self).__name__.lower(),
            **{part.name: json(getattr(self, part.name)) for part in fields(self)},
        }


@dataclass(frozen=True, eq=False)
class Array:
    """A named array; `array[keys]` is a slice by state. `unit` is what 1 stands for, where values travel as bytes."""

    name: str
    values: np.ndarray
    unit: float = 1.0

    def __getitem__(self, keys: Any) -> Slice:
        by = tuple(None if isinstance(key, slice) else key for key in (keys if isinstance(keys, tuple) else (keys,)))
        if len(by) > self.values.ndim:
            raise IndexError(f"{self.name} has {self.values.ndim} axes, not {len(by)}.")
        return Slice(self, by)


@dataclass(frozen=True, eq=False)
class Slice(Expression):
    """`array[state[by[0]], state[by[1]], …]`; an index beyond the end stands for the last, None for all of an axis."""

    array: Array
    by: tuple[Any, ...] = ()

    def evaluate(self, context: Context) -> Any:
        chosen = [context.state[key] if isinstance(key, str) else context.value(key) for key in self.by]
        sizes = self.array.values.shape
        indices = [
            slice(None) if key is None else min(int(key), size - 1) for key, size in zip(chosen, sizes, strict=False)
        ]
        values = self.array.values[tuple(indices)]
        scaled = values if self.array.unit == 1.0 else values * self.array.unit
        return scaled if isinstance(scaled, np.ndarray) and scaled.ndim else scaled.item()

    def to_json(self, json: Callable[[Any], Any], translate: Translate, languages: list[str]) -> dict[str, Any]:
        return {"$": "slice", "array": self.array.name, "by": [json(key) for key in self.by]}


@dataclass(frozen=True)
class State(Expression):
    key: str

    def evaluate(self, context: Context) -> Any:
        return context.state[self.key]


@dataclass(frozen=True)
class Affine(Expression):
    of: Any
    scale: Any = 1.0
    offset: Any = 0.0
    whole: bool = False  # rounded down

    def evaluate(self, context: Context) -> Any:
        number, scale, offset = (context.value(part) for part in (self.of, self.scale, self.offset))
        result = scale * (np.asarray(number) if isinstance(number, list) else number) + offset
        return int(np.floor(result)) if self.whole else result


@dataclass(frozen=True)
class Tile(Expression):
    """Small maps side by side as one matrix, so many empty cells (NaN) below and beside each."""

    of: Any
    gap_y: int = 1
    gap_x: int = 1

    def evaluate(self, context: Context) -> np.ndarray:
        maps = np.asarray(context.value(self.of))  # (row, column, y, x)
        rows, columns, height, width = maps.shape
        padded = np.full((rows, columns, height + self.gap_y, width + self.gap_x), np.nan)
        padded[:, :, :height, :width] = maps
        whole = padded.transpose(0, 2, 1, 3).reshape(rows * (height + self.gap_y), columns * (width + self.gap_x))
        return whole[: len(whole) - self.gap_y, : whole.shape[1] - self.gap_x]


@dataclass(frozen=True)
class Choose(Expression):
    by: Any
    among: list[Any] | dict[str, Any]

    def evaluate(self, context: Context) -> Any:
        chosen = context.value(self.by)
        if isinstance(self.among, dict):
            return context.value(self.among.get(chosen, next(iter(self.among.values()))))
        return context.value(self.among[min(int(chosen), len(self.among) - 1)])


@dataclass(frozen=True)
class Format(Expression):
    message: str
    values: dict[str, Any] = field(default_factory=dict)

    def __init__(self, message: str, /, **values: Any):
        object.__setattr__(self, "message", message)
        object.__setattr__(self, "values", values)

    def template(self, translate: Translate, language: str) -> str:
        return translate(self.message, language) if language != "en" else self.message

    def evaluate(self, context: Context) -> str:
        return fill(self.template(context.translate, context.language), context.value(self.values), context.language)

    def to_json(self, json: Callable[[Any], Any], translate: Translate, languages: list[str]) -> dict[str, Any]:
        template = {language: self.template(translate, language) for language in languages}
        return {"$": "format", "template": template, "values": json(self.values)}


class Term(Format):
    """A word that is translated by what it is about: `Term("gate", "input")` is not `Format("input")`."""

    context: str

    def __init__(self, context: str, message: str, /):
        super().__init__(message)
        object.__setattr__(self, "context", context)

    def template(self, translate: Translate, language: str) -> str:
        key = f"{self.context}\x04{self.message}"  # as gettext's catalogues spell it
        found = translate(key, language)
        return self.message if found == key else found


class Fill(Format):
    """A template that is the same in every language: a file's name, a bare number."""

    def template(self, translate: Translate, language: str) -> str:
        return self.message

    def to_json(self, json: Callable[[Any], Any], translate: Translate, languages: list[str]) -> dict[str, Any]:
        return super().to_json(json, translate, ["en"])


@dataclass(frozen=True)
class Each(Expression):
    """One text for each of the values of a template, which are lists or arrays of one length."""

    of: Format

    def evaluate(self, context: Context) -> list[str]:
        template, columns = self.of.template(context.translate, context.language), context.value(self.of.values)
        rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
        return [fill(template, dict(zip(columns, row, strict=True)), context.language) for row in rows]


@dataclass(frozen=True)
class Sentences(Expression):
    """Sentences one after another; in Chinese there is no space between them."""

    parts: list[Any]

    def evaluate(self, context: Context) -> str:
        return ("" if context.language == "zh" else " ").join(filter(None, context.value(self.parts)))


@dataclass(frozen=True)
class Take(Expression):
    """`of[order]`: the rows of a matrix, or the values of a list, in another order; `order` is a slice of whole numbers."""

    of: Any
    order: Any

    def evaluate(self, context: Context) -> Any:
        values, indices = context.value(self.of), context.value(self.order)
        if isinstance(values, np.ndarray):
            return values[np.asarray(indices, int)]
        return [values[int(i)] for i in indices]


@dataclass(frozen=True)
class Item(Expression):
    of: Any
    index: Any

    def evaluate(self, context: Context) -> Any:
        return context.value(self.of)[int(context.value(self.index))]


CURVE = np.arange(17) / 16  # the parameter t of a cubic Bézier curve that leaves and arrives horizontally
CURVE_X = 3 * 0.45 * CURVE * (1 - CURVE) ** 2 + 3 * 0.55 * CURVE**2 * (1 - CURVE) + CURVE**3
CURVE_Y = 3 * CURVE**2 - 2 * CURVE**3


@dataclass(frozen=True)
class Curves(Expression):
    """Of a matrix, the values in [low, high) as curves from (0, row) to (1, column), NaN behind each; of one row only,
    where `row` is given. part: "x" or "y" of the points, or "cells": [row, column, value] for each of them.
    """

    of: Any
    low: float
    high: float
    part: str
    row: Any = None

    def evaluate(self, context: Context) -> Any:
        values, row = np.asarray(context.value(self.of)), context.value(self.row)
        cells = np.argwhere((values >= self.low) & (values < self.high))
        cells = cells if row is None else cells[cells[:, 0] == row]
        if self.part == "cells":
            points = np.column_stack([cells, values[cells[:, 0], cells[:, 1]]])
            return np.repeat(points, len(CURVE) + 1, axis=0).tolist()
        gaps = np.full((len(cells), 1), np.nan)
        if self.part == "x":
            return np.hstack([np.tile(CURVE_X, (len(cells), 1)), gaps]).ravel()
        start, end = cells[:, :1], cells[:, 1:]
        return np.hstack([start + CURVE_Y * (end - start), gaps]).ravel()


@dataclass(frozen=True)
class Nearest(Expression):
    """`of[i]`, where i is the index at which the increasing `x` is nearest to `to`; None beyond the ends of `x`."""

    of: Any
    x: Any
    to: Any

    def evaluate(self, context: Context) -> Any:
        values, places, to = context.value(self.of), np.asarray(context.value(self.x), float), context.value(self.to)
        if to is None or not len(places) or not places[0] <= to <= places[-1]:
            return None
        found = values[int(np.abs(places - to).argmin())]
        return found.item() if isinstance(found, np.generic) else found


@dataclass(frozen=True)
class Log1p(Expression):
    of: Any

    def evaluate(self, context: Context) -> float:
        return float(np.log1p(context.value(self.of)))


@dataclass(frozen=True)
class Transpose(Expression):
    """(y, x) → (x, y)"""

    of: Any

    def evaluate(self, context: Context) -> np.ndarray:
        return np.asarray(context.value(self.of)).T


@dataclass(frozen=True)
class Concat(Expression):
    parts: list[Any]

    def evaluate(self, context: Context) -> np.ndarray:
        return np.concatenate([np.asarray(part) for part in context.value(self.parts)])


@dataclass(frozen=True)
class First(Expression):
    """`of[:count]`"""

    of: Any
    count: Any

    def evaluate(self, context: Context) -> Any:
        return context.value(self.of)[: int(context.value(self.count))]


@dataclass(frozen=True)
class Join(Expression):
    """`" ".join(of[start : end + 1])`"""

    of: Any
    start: Any
    end: Any

    def evaluate(self, context: Context) -> str:
        start, end = (int(context.value(part)) for part in (self.start, self.end))
        return " ".join(context.value(self.of)[start : end + 1])


@dataclass(frozen=True)
class Sum(Expression):
    parts: list[Any]

    def evaluate(self, context: Context) -> Any:
        return sum(context.value(self.parts))


@dataclass(frozen=True)
class Clamp(Expression):
    """The number between `low` and `high` that is nearest to `of`."""

    of: Any
    low: Any
    high: Any = 1e9

    def evaluate(self, context: Context) -> Any:
        return max(context.value(self.low), min(context.value(self.high), context.value(self.of)))


@dataclass(frozen=True)
class BySign(Expression):
    """For each number of `of`: `below` where it is negative, else `above`."""

    of: Any
    below: Any
    above: Any

    def evaluate(self, context: Context) -> list[Any]:
        below, above = context.value(self.below), context.value(self.above)
        return [below if number < 0 else above for number in context.value(self.of)]


def evaluate(
    expression: Any, state: Mapping[str, Any], translate: Translate = lambda message, language: message
) -> Any:
    """The value of an expression in a state; texts in the state's `language`, English unless it says otherwise."""
    return Context(state, translate).value(expression)


def to_json(expression: Any, translate: Translate, languages: list[str]) -> Any:
    """The same expression for the page: kinds marked by "$", templates in every language."""

    def json(part: Any) -> Any:
        match part:
            case Expression():
                return part.to_json(json, translate, languages)
            case dict():
                return {name: json(one) for name, one in part.items()}
            case list():
                return [json(one) for one in part]
            case np.ndarray():
                return json(part.tolist())
            case float() if not math.isfinite(part):
                return None  # JSON has no such numbers; Plotly takes null for a gap
            case _:
                return part

    return json(expression)


def walk(expression: Any) -> Iterator[Expression]:
    """Every expression within one, itself included."""
    parts: Any = ()
    if isinstance(expression, Expression):
        yield expression
        parts = [getattr(expression, part.name) for part in fields(expression)]
    elif isinstance(expression, dict | list | tuple):
        parts = expression.values() if isinstance(expression, dict) else expression
    for part in parts:
        yield from walk(part)


def arrays_of(expression: Any) -> dict[str, Array]:
    return {part.array.name: part.array for part in walk(expression) if isinstance(part, Slice)}


def keys_of(expression: Any) -> set[str]:
    """The keys of the state it depends on."""
    keys = {part.key for part in walk(expression) if isinstance(part, State)}
    keys |= {key for part in walk(expression) if isinstance(part, Slice) for key in part.by if isinstance(key, str)}
    return keys | ({"language"} if any(isinstance(part, Format | Sentences) for part in walk(expression)) else set())
