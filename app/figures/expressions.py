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
    First(values, 3)                          as many values from the beginning
    Join(tokens, State("y"), State("x"))      from one token to another as one text

Lists and dicts of expressions are expressions; anything else stands for itself. `State("width")` is that of the picture in
px, so that what is written into it can follow the room there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.figures.numbers import fill

Key = "str | int | Expression"
Translate = Callable[[str, str], str]  # (message, language) → words


class Expression:
    """Base of all kinds; `evaluate`, `to_json`, `arrays_of` and `keys_of` walk them."""


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


@dataclass(frozen=True)
class State(Expression):
    key: str


@dataclass(frozen=True)
class Affine(Expression):
    of: Any
    scale: Any = 1.0
    offset: Any = 0.0
    whole: bool = False  # rounded down


@dataclass(frozen=True)
class Tile(Expression):
    """Small maps side by side as one matrix, so many empty cells (NaN) below and beside each."""

    of: Any
    gap_y: int = 1
    gap_x: int = 1


@dataclass(frozen=True)
class Choose(Expression):
    by: Any
    among: list[Any] | dict[str, Any]


@dataclass(frozen=True)
class Format(Expression):
    message: str
    values: dict[str, Any] = field(default_factory=dict)

    def __init__(self, message: str, /, **values: Any):
        object.__setattr__(self, "message", message)
        object.__setattr__(self, "values", values)


class Term(Format):
    """A word that is translated by what it is about: `Term("gate", "input")` is not `Format("input")`."""

    context: str

    def __init__(self, context: str, message: str, /):
        super().__init__(message)
        object.__setattr__(self, "context", context)

    def translated(self, translate: Translate, language: str) -> str:
        key = f"{self.context}\x04{self.message}"  # as gettext's catalogues spell it
        found = translate(key, language)
        return self.message if found == key else found


class Fill(Format):
    """A template that is the same in every language: a file's name, a bare number."""


@dataclass(frozen=True)
class Sentences(Expression):
    """Sentences one after another; in Chinese there is no space between them."""

    parts: list[Any]


@dataclass(frozen=True)
class Take(Expression):
    """`of[order]`: the rows of a matrix, or the values of a list, in another order; `order` is a slice of whole numbers."""

    of: Any
    order: Any


@dataclass(frozen=True)
class Item(Expression):
    of: Any
    index: Any


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


@dataclass(frozen=True)
class Nearest(Expression):
    """`of[i]`, where i is the index at which the increasing `x` is nearest to `to`; None beyond the ends of `x`."""

    of: Any
    x: Any
    to: Any


@dataclass(frozen=True)
class Log1p(Expression):
    of: Any


@dataclass(frozen=True)
class Transpose(Expression):
    """(y, x) → (x, y)"""

    of: Any


@dataclass(frozen=True)
class Concat(Expression):
    parts: list[Any]


@dataclass(frozen=True)
class Each(Expression):
    """One text for each of the values of a template, which are lists or arrays of one length."""

    of: Format


@dataclass(frozen=True)
class First(Expression):
    """`of[:count]`"""

    of: Any
    count: Any


@dataclass(frozen=True)
class Join(Expression):
    """`" ".join(of[start : end + 1])`"""

    of: Any
    start: Any
    end: Any


@dataclass(frozen=True)
class Sum(Expression):
    parts: list[Any]


@dataclass(frozen=True)
class Clamp(Expression):
    """The number between `low` and `high` that is nearest to `of`."""

    of: Any
    low: Any
    high: Any = 1e9


def evaluate(
    expression: Any, state: Mapping[str, Any], translate: Translate = lambda message, language: message
) -> Any:
    """The value of an expression in a state; texts in the state's `language`, English unless it says otherwise."""

    def value(part: Any) -> Any:
        match part:
            case Slice(array, by):
                indices = [
                    slice(None)
                    if key is None
                    else min(int(value(State(key) if isinstance(key, str) else key)), size - 1)
                    for key, size in zip(by, array.values.shape, strict=False)
                ]
                values = array.values[tuple(indices)]
                scaled = values if array.unit == 1.0 else values * array.unit
                return scaled if isinstance(scaled, np.ndarray) and scaled.ndim else scaled.item()
            case State(key):
                return state[key]
            case Affine(of, scale, offset, whole):
                number = value(of)
                result = value(scale) * (np.asarray(number) if isinstance(number, list) else number) + value(offset)
                return int(np.floor(result)) if whole else result
            case Tile(of, gap_y, gap_x):
                return tile(np.asarray(value(of)), gap_y, gap_x)
            case Choose(by, among):
                chosen = value(by)
                if isinstance(among, dict):
                    return value(among.get(chosen, next(iter(among.values()))))
                return value(among[min(int(chosen), len(among) - 1)])
            case Format(message, values):
                language = state.get("language", "en")
                template = (
                    part.translated(translate, language) if isinstance(part, Term) else translate(message, language)
                )
                return fill(template, {name: value(one) for name, one in values.items()}, language)
            case Sentences(parts):
                separator = "" if state.get("language") == "zh" else " "
                return separator.join(sentence for sentence in map(value, parts) if sentence)
            case Take(of, order):
                values, indices = value(of), value(order)
                if isinstance(values, np.ndarray):
                    return values[np.asarray(indices, int)]
                return [values[int(i)] for i in indices]
            case Item(of, index):
                return value(of)[int(value(index))]
            case Curves(of, low, high, kind, row):
                return curves(np.asarray(value(of)), low, high, kind, None if row is None else value(row))
            case Nearest(of, x, to):
                return nearest(value(of), value(x), value(to))
            case Log1p(of):
                return float(np.log1p(value(of)))
            case Transpose(of):
                return np.asarray(value(of)).T
            case Concat(parts):
                return np.concatenate([np.asarray(value(one)) for one in parts])
            case Each(of):
                language = state.get("language", "en")
                template, columns = (
                    translate(of.message, language),
                    {name: value(one) for name, one in of.values.items()},
                )
                rows = zip(*columns.values(), strict=True)
                return [
                    fill(template, {name: _number(x) for name, x in zip(columns, row, strict=True)}, language)
                    for row in rows
                ]
            case First(of, count):
                return value(of)[: int(value(count))]
            case Join(of, start, end):
                return " ".join(value(of)[int(value(start)) : int(value(end)) + 1])
            case Sum(parts):
                return sum(value(one) for one in parts)
            case Clamp(of, low, high):
                return max(value(low), min(value(high), value(of)))
            case dict():
                return {name: value(one) for name, one in part.items()}
            case list():
                return [value(one) for one in part]
            case _:
                return part

    return value(expression)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def tile(maps: np.ndarray, gap_y: int, gap_x: int) -> np.ndarray:
    """(row, column, y, x) → (row · (y + gap_y) − gap_y, column · (x + gap_x) − gap_x)"""
    rows, columns, height, width = maps.shape
    padded = np.full((rows, columns, height + gap_y, width + gap_x), np.nan)
    padded[:, :, :height, :width] = maps
    whole = padded.transpose(0, 2, 1, 3).reshape(rows * (height + gap_y), columns * (width + gap_x))
    return whole[: rows * (height + gap_y) - gap_y, : columns * (width + gap_x) - gap_x]


CURVE = np.arange(17) / 16  # the parameter t of a cubic Bézier curve that leaves and arrives horizontally
CURVE_X = (
    3 * 0.45 * CURVE * (1 - CURVE) * (1 - CURVE) + 3 * 0.55 * CURVE * CURVE * (1 - CURVE) + CURVE * CURVE * CURVE
)
CURVE_Y = 3 * CURVE * CURVE - 2 * CURVE * CURVE * CURVE


def curves(values: np.ndarray, low: float, high: float, part: str, row: int | None = None) -> Any:
    cells = np.argwhere((values >= low) & (values < high))
    cells = cells if row is None else cells[cells[:, 0] == row]
    if part == "cells":
        points = np.column_stack([cells, values[cells[:, 0], cells[:, 1]]])
        return np.repeat(points, len(CURVE) + 1, axis=0).tolist()
    gaps = np.full((len(cells), 1), np.nan)
    if part == "x":
        return np.hstack([np.tile(CURVE_X, (len(cells), 1)), gaps]).ravel()
    start, end = cells[:, :1], cells[:, 1:]
    return np.hstack([start + CURVE_Y * (end - start), gaps]).ravel()


def nearest(values: Any, x: Any, to: float | None) -> Any:
    places = np.asarray(x, float)
    if to is None or not len(places) or not places[0] <= to <= places[-1]:
        return None
    found = values[int(np.abs(places - to).argmin())]
    return found.item() if isinstance(found, np.generic) else found


def to_json(expression: Any, translate: Translate, languages: list[str]) -> Any:
    """The same expression for the page: kinds marked by "$", templates in every language."""
    match expression:
        case Slice(array, by):
            return {"$": "slice", "array": array.name, "by": [to_json(key, translate, languages) for key in by]}
        case State(key):
            return {"$": "state", "key": key}
        case Affine(of, scale, offset, whole):
            of, scale, offset = (to_json(part, translate, languages) for part in (of, scale, offset))
            return {"$": "linear", "of": of, "scale": scale, "offset": offset, "whole": whole}
        case Tile(of, gap_y, gap_x):
            return {"$": "tile", "of": to_json(of, translate, languages), "gap": [gap_y, gap_x]}
        case Choose(by, among):
            return {
                "$": "choose",
                "by": to_json(by, translate, languages),
                "among": to_json(among, translate, languages),
            }
        case Format(message, values):
            words = ["en"] if isinstance(expression, Fill) else languages
            template = {language: translate(message, language) if language != "en" else message for language in words}
            if isinstance(expression, Term):
                template = {language: expression.translated(translate, language) for language in words}
            return {"$": "format", "template": template, "values": to_json(values, translate, languages)}
        case Sentences(parts):
            return {"$": "sentences", "parts": to_json(parts, translate, languages)}
        case Take(of, order):
            of, order = (to_json(part, translate, languages) for part in (of, order))
            return {"$": "take", "of": of, "order": order}
        case Item(of, index):
            of, index = (to_json(part, translate, languages) for part in (of, index))
            return {"$": "item", "of": of, "index": index}
        case Curves(of, low, high, part, row):
            of, row = (to_json(one, translate, languages) for one in (of, row))
            return {"$": "curves", "of": of, "low": low, "high": high, "part": part, "row": row}
        case Nearest(of, x, to):
            of, x, to = (to_json(part, translate, languages) for part in (of, x, to))
            return {"$": "nearest", "of": of, "x": x, "to": to}
        case Log1p(of):
            return {"$": "log1p", "of": to_json(of, translate, languages)}
        case Transpose(of):
            return {"$": "transpose", "of": to_json(of, translate, languages)}
        case Concat(parts):
            return {"$": "concat", "parts": to_json(parts, translate, languages)}
        case Each(of):
            return {"$": "each", "of": to_json(of, translate, languages)}
        case First(of, count):
            of, count = (to_json(part, translate, languages) for part in (of, count))
            return {"$": "first", "of": of, "count": count}
        case Join(of, start, end):
            of, start, end = (to_json(part, translate, languages) for part in (of, start, end))
            return {"$": "join", "of": of, "start": start, "end": end}
        case Sum(parts):
            return {"$": "sum", "parts": to_json(parts, translate, languages)}
        case Clamp(of, low, high):
            of, low, high = (to_json(part, translate, languages) for part in (of, low, high))
            return {"$": "clamp", "of": of, "low": low, "high": high}
        case dict():
            return {name: to_json(one, translate, languages) for name, one in expression.items()}
        case list():
            return [to_json(one, translate, languages) for one in expression]
        case np.ndarray():
            return to_json(expression.tolist(), translate, languages)
        case float() if not math.isfinite(expression):
            return None  # JSON has no such numbers; Plotly takes null for a gap
        case _:
            return expression


def walk(expression: Any) -> Iterator[Expression]:
    """Every expression within one, itself included."""
    if isinstance(expression, Expression):
        yield expression
    match expression:
        case Slice(_, by):
            parts: Any = [key for key in by if not isinstance(key, str | int)]
        case Affine(of, scale, offset, _):
            parts = [of, scale, offset]
        case Tile(of, _, _) | Log1p(of) | Transpose(of) | Each(of):
            parts = [of]
        case Choose(by, among):
            parts = [by, *(among.values() if isinstance(among, dict) else among)]
        case Format(_, values):
            parts = values.values()
        case Sentences(several) | Concat(several):
            parts = several
        case Take(of, order) | First(of, order):
            parts = [of, order]
        case Join(of, start, end):
            parts = [of, start, end]
        case Item(of, index):
            parts = [of, index]
        case Curves(of, _, _, _, row):
            parts = [of, row]
        case Nearest(of, x, to):
            parts = [of, x, to]
        case Sum(numbers):
            parts = numbers
        case Clamp(of, low, high):
            parts = [of, low, high]
        case dict():
            parts = expression.values()
        case list():
            parts = expression
        case _:
            parts = ()
    for part in parts:
        yield from walk(part)


def arrays_of(expression: Any) -> dict[str, Array]:
    return {part.array.name: part.array for part in walk(expression) if isinstance(part, Slice)}


def keys_of(expression: Any) -> set[str]:
    """The keys of the state it depends on."""
    keys = {part.key for part in walk(expression) if isinstance(part, State)}
    keys |= {key for part in walk(expression) if isinstance(part, Slice) for key in part.by if isinstance(key, str)}
    return keys | ({"language"} if any(isinstance(part, Format | Sentences) for part in walk(expression)) else set())
