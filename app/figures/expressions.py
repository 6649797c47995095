"""Expressions over arrays and state: what a figure's attributes and captions are bound to.

A binding has to mean the same in Python (`evaluate`) and in the page (`static/js/live/expressions.js`), so there are few
kinds, each plain data:

    weights["snapshot", "layer", "head"]      a slice of an array, chosen by keys of the state
    State("snapshot")                         the state itself
    Affine(State("key"), offset=-0.5)         scale · x + offset, rounded down where `whole`
    Choose(roles["snapshot"], ["a", "b"])     one of several expressions, by an index or a key
    Tile(weights["snapshot"], 2, 1)           (row, column, y, x) side by side as one matrix, with gaps
    Format("{share:.0%} of {n:,}", share=…)   a sentence in the reader's language; its template is a gettext message
    Term("gate", "input")                     a word whose translation depends on what it is about
    Fill("{run}-step{step}", run=…, step=…)   the same for what is not translated
    Sentences([…, …])                         one after another, as the language does it; empty ones are left out
    Take(values, order)                       values (or rows) in another order
    First(values, 3)                          as many values from the beginning
    Transpose(rows)                           rows as columns
    Join(tokens, State("y"), State("x"))      from one token to another as one text

Lists and dicts of expressions are expressions; anything else stands for itself.
"""

from __future__ import annotations

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
        by = keys if isinstance(keys, tuple) else (keys,)
        if len(by) > self.values.ndim:
            raise IndexError(f"{self.name} has {self.values.ndim} axes, not {len(by)}.")
        return Slice(self, by)


@dataclass(frozen=True, eq=False)
class Slice(Expression):
    """`array[state[by[0]], state[by[1]], …]`; an index beyond the end stands for the last."""

    array: Array
    by: tuple[Any, ...] = ()


@dataclass(frozen=True)
class State(Expression):
    key: str


@dataclass(frozen=True)
class Affine(Expression):
    of: Any
    scale: float = 1.0
    offset: float = 0.0
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
class First(Expression):
    """`of[:count]`"""

    of: Any
    count: Any


@dataclass(frozen=True)
class Transpose(Expression):
    """(y, x) → (x, y)"""

    of: Any


@dataclass(frozen=True)
class Join(Expression):
    """`" ".join(of[start : end + 1])`"""

    of: Any
    start: Any
    end: Any


def evaluate(
    expression: Any, state: Mapping[str, Any], translate: Translate = lambda message, language: message
) -> Any:
    """The value of an expression in a state; texts in the state's `language`, English unless it says otherwise."""

    def value(part: Any) -> Any:
        match part:
            case Slice(array, by):
                values = array.values
                for key in by:
                    index = int(value(State(key) if isinstance(key, str) else key))
                    values = values[min(index, len(values) - 1)]
                scaled = values if array.unit == 1.0 else values * array.unit
                return scaled if isinstance(scaled, np.ndarray) and scaled.ndim else scaled.item()
            case State(key):
                return state[key]
            case Affine(of, scale, offset, whole):
                result = scale * value(of) + offset
                return int(np.floor(result)) if whole else result
            case Tile(of, gap_y, gap_x):
                return tile(np.asarray(value(of)), gap_y, gap_x)
            case Choose(by, among):
                chosen = value(by)
                return value(among[chosen] if isinstance(among, dict) else among[min(int(chosen), len(among) - 1)])
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
                return values[indices] if isinstance(values, np.ndarray) else [values[int(i)] for i in indices]
            case First(of, count):
                return value(of)[: int(value(count))]
            case Transpose(of):
                return np.asarray(value(of)).T
            case Join(of, start, end):
                return " ".join(value(of)[int(value(start)) : int(value(end)) + 1])
            case dict():
                return {name: value(one) for name, one in part.items()}
            case list():
                return [value(one) for one in part]
            case _:
                return part

    return value(expression)


def tile(maps: np.ndarray, gap_y: int, gap_x: int) -> np.ndarray:
    """(row, column, y, x) → (row · (y + gap_y) − gap_y, column · (x + gap_x) − gap_x)"""
    rows, columns, height, width = maps.shape
    padded = np.full((rows, columns, height + gap_y, width + gap_x), np.nan)
    padded[:, :, :height, :width] = maps
    whole = padded.transpose(0, 2, 1, 3).reshape(rows * (height + gap_y), columns * (width + gap_x))
    return whole[: rows * (height + gap_y) - gap_y, : columns * (width + gap_x) - gap_x]


def to_json(expression: Any, translate: Translate, languages: list[str]) -> Any:
    """The same expression for the page: kinds marked by "$", templates in every language."""
    match expression:
        case Slice(array, by):
            return {"$": "slice", "array": array.name, "by": [to_json(key, translate, languages) for key in by]}
        case State(key):
            return {"$": "state", "key": key}
        case Affine(of, scale, offset, whole):
            of = to_json(of, translate, languages)
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
        case First(of, count):
            of, count = (to_json(part, translate, languages) for part in (of, count))
            return {"$": "first", "of": of, "count": count}
        case Transpose(of):
            return {"$": "transpose", "of": to_json(of, translate, languages)}
        case Join(of, start, end):
            of, start, end = (to_json(part, translate, languages) for part in (of, start, end))
            return {"$": "join", "of": of, "start": start, "end": end}
        case dict():
            return {name: to_json(one, translate, languages) for name, one in expression.items()}
        case list():
            return [to_json(one, translate, languages) for one in expression]
        case np.ndarray():
            return expression.tolist()
        case _:
            return expression


def walk(expression: Any) -> Iterator[Expression]:
    """Every expression within one, itself included."""
    if isinstance(expression, Expression):
        yield expression
    match expression:
        case Slice(_, by):
            parts: Any = [key for key in by if not isinstance(key, str | int)]
        case Affine(of, _, _, _) | Tile(of, _, _):
            parts = [of]
        case Choose(by, among):
            parts = [by, *(among.values() if isinstance(among, dict) else among)]
        case Format(_, values):
            parts = values.values()
        case Sentences(sentences):
            parts = sentences
        case Take(of, order) | First(of, order):
            parts = [of, order]
        case Transpose(of):
            parts = [of]
        case Join(of, start, end):
            parts = [of, start, end]
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
