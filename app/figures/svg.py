"""SVG as text: elements whose attributes and words are escaped."""

from __future__ import annotations

from html import escape
from typing import Any

from app.figures.diagram_layout import text_width

PROPORTIONAL = 0.9  # width of a line in a proportional face, of its width in a monospaced one
LINE = 1.45  # height of a line of type


def element(tag: str, *children: str, **attributes: Any) -> str:
    """`children` are markup; attributes that are None are left out, `_` stands for `-`, a last one is dropped (`class_`)."""
    given = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    written = "".join(f' {name}="{escape(_plain(value))}"' for name, value in given.items())
    return f"<{tag}{written}>{''.join(children)}</{tag}>" if children else f"<{tag}{written}/>"


def words(text: str, x: float, y: float, class_: str, **attributes: Any) -> str:
    return element("text", escape(text), x=x, y=y, class_=class_, **attributes)


def tooltip(text: str) -> str:
    return element("title", escape(text))


def wrapped(text: str, size: float, width: float) -> list[str]:
    """Lines of at most this width; Chinese is broken between any two characters."""
    pieces: list[str] = []
    for letter in text:
        joins = pieces and letter < "\u2e80" and pieces[-1][-1] < "\u2e80" and not pieces[-1].endswith(" ")
        pieces[-1:] = [pieces[-1] + letter] if joins else [*pieces[-1:], letter]
    lines = [""]
    for piece in pieces:
        longer = lines[-1] + piece
        if lines[-1] and PROPORTIONAL * text_width(longer.rstrip(), size) > width:
            lines.append("")
            longer = piece
        lines[-1] = longer
    return [line.strip() for line in lines if line.strip()]


def _plain(value: Any) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
