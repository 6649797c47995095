"""What is known of one part of a model, as HTML: its formula, the shape of its tensor, its parameters."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from app.figures.diagram_layout import Part, walk_parts
from app.i18n import translate
from core.translatable import Text

INDEX_OR_POWER = re.compile(r"(_\{[^}]*\}|_[A-Za-z0-9]+|\^\([^)]*\))")


def part_html(part: Part, name: str, language: str, side: str = "") -> str:
    """`name`: its path, or the family's; `side`: which of two configurations, where two are compared."""

    def say(text: Text) -> str:
        return escape(translate(text, language))

    kinds = {"input": Text("input"), "point": Text("station")}
    kind = say(kinds[part["kind"]]) if part["kind"] in kinds else escape(part["module"])
    lines = [f"<h3>{escape(side + name)}</h3>", f'<p class="build-kind">{kind}</p>']
    if part["meaning"]:
        lines.append(f"<p>{say(part['meaning'])}</p>")
    if part["formula"]:
        lines.append(f'<p class="build-formula">{typeset(part["formula"])}</p>')
    if part["facts"]:
        lines.append(f'<p class="build-facts">{escape(part["facts"])}</p>')
    if part["shape"]:
        axes = [*part["axes"], *[""] * len(part["shape"])]
        sizes = "".join(
            f"<span><b>{size:,}</b><small>{escape(axis)}</small></span>"
            for size, axis in zip(part["shape"], axes, strict=False)
        )
        lines.append(f'<div class="build-shape">{sizes}</div>')
    rows = [_weight_row(weight, language) for weight in part["weights"]]
    if rows:
        lines.append(f'<table class="build-weights">{"".join(rows)}</table>')
    if part["count"] and (part["rows"] or len(rows) != 1):
        lines.append(f'<p class="build-count">{say(Text("{n:,} parameters", n=part["count"]))}</p>')
    return "\n".join(lines)


def _weight_row(weight: dict[str, Any], language: str) -> str:
    shape = " × ".join(f"{size:,}" for size in weight["shape"])
    same = weight["same_as"]
    count = translate(Text("is {name}", name=same), language) if same else f"{weight['count']:,}"
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in (weight["name"], shape, count)) + "</tr>"


def typeset(formula: str) -> str:
    """h_t and h_{t−1} with their index below, 10000^(2i/d) with its power above."""
    pieces = []
    for piece in INDEX_OR_POWER.split(formula):
        if piece.startswith("_"):
            pieces.append(f"<sub>{escape(piece[1:].strip('{}'))}</sub>")
        elif piece.startswith("^("):
            pieces.append(f"<sup>{escape(piece[2:-1])}</sup>")
        else:
            pieces.append(escape(piece))
    return "".join(pieces)


def first_point(root: Part) -> Part:
    """The part shown while none is selected: attention weights, else a hidden state."""
    points = [part for part in walk_parts(root) if part["kind"] == "point"]
    for ending in ("weights", "hidden", ""):
        for part in points:
            if part["id"].endswith(ending):
                return part
    return root
