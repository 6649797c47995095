"""Token axes: one category per position, so that a token that occurs twice stands twice, with its position in the hover."""

from __future__ import annotations

from html import escape
from typing import Any

from app.figures.theme import MONO

LONGEST = 14  # characters of a token on an axis
MOST_TICKS = 64  # labels without a page that could measure its room


def plain_text(token: str) -> str:
    """Typed text as text: Plotly reads some HTML tags in labels, and these are never to be read in it."""
    return escape(token, quote=False)


def shortened(token: str, most: int = LONGEST) -> str:
    return token if len(token) <= most else f"{token[: most - 1]}…"


def quoted(token: str, most: int = 24) -> str:
    """A token inside a sentence: cut, kept from turning the text round when it runs from right to left; its own stars
    stay stars, where **stressed** parts are set in bold.
    """
    return f"\u2068{shortened(token, most)}\u2069".replace("**", "*\u2060*")


def tick_labels(tokens: list[str]) -> list[str]:
    return [plain_text(shortened(token)) for token in tokens]


def categories(tokens: list[str]) -> list[str]:
    """`t (8)`: what a hover says of a position."""
    return [f"{label} ({position})" for position, label in enumerate(tick_labels(tokens))]


def token_axis(tokens: list[str], **more: Any) -> dict[str, Any]:
    """An axis with a token at every position, as many labels as fit."""
    every = max(1, -(-len(tokens) // MOST_TICKS))
    return {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": categories(tokens),
        "range": [-0.5, len(tokens) - 0.5],
        "tickmode": "array",
        "tickvals": list(range(0, len(tokens), every)),
        "ticktext": tick_labels(tokens)[::every],
        "tickfont": {"family": MONO},
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "mirror": True,
        "ticks": "",
        **more,
    }


def token_axes(rows: list[str], columns: list[str]) -> dict[str, Any]:
    """Of a map: rows downwards, columns named above."""
    return {
        "xaxis": token_axis(columns, side="top", tickangle=0),
        "yaxis": token_axis(rows, range=[len(rows) - 0.5, -0.5]),
    }


def label_room(tokens: list[str]) -> int:
    """px beside an axis for the longest of its labels"""
    return 16 + 8 * min(LONGEST, max(map(len, tokens), default=1))


def end_room(tokens: list[str]) -> int:
    """px beyond an axis for the half of its last label that lies outside"""
    return max(6, 4 * min(LONGEST, len(tokens[-1]) if tokens else 1))
