"""Tokens and labels as figures draw and say them: shortened, escaped, quoted, with the room they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from unicodedata import east_asian_width

from app.figures.axes import plain_text, shortened
from app.figures.expressions import Choose, Format, State, evaluate

Words = Any  # a str, a Choose by language with a str for each, or a Format
LETTER = 0.6  # em of a letter in a monospaced font; a Chinese one takes a whole one


def in_languages(words: str | Mapping[str, str]) -> Words:
    """{"en": …, "zh": …} as an expression; where all are the same, as a str."""
    if isinstance(words, str):
        return words
    values = list(words.values())
    return values[0] if len(set(values)) == 1 else Choose(State("language"), dict(words))


def each_language(words: Words, change: Callable[[str], str]) -> Words:
    if isinstance(words, Choose) and isinstance(words.among, dict):
        return Choose(words.by, {language: change(text) for language, text in words.among.items()})
    return words if isinstance(words, Format) else change(words)


def seen(token: str) -> str:
    return "␣" if token == " " else token


def drawn(words: Words, most: int = 18) -> Words:
    """As Plotly's text: at most so many letters, and nothing in it is markup."""
    return each_language(words, lambda text: plain_text(shortened(text, most)))


def quoted(words: Words, most: int = 24) -> Words:
    """Within a sentence with **bold** parts: kept from turning it round when it runs from right to left; its stars stay."""
    return each_language(words, lambda text: f"\u2068{shortened(text, most)}\u2069".replace("**", "*\u2060*"))


def text_width(words: Words, size: float = 14, most: int = 18) -> float:
    """px, in the longest language"""
    if isinstance(words, Choose) and isinstance(words.among, dict):
        return max(text_width(text, size, most) for text in words.among.values())
    words = evaluate(words, {"language": "en"})
    return size * sum(1.0 if east_asian_width(letter) in "WF" else LETTER for letter in shortened(words, most))
