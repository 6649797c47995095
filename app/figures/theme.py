"""One look for all figures: colours for light and dark, colour-blind-safe scales, and Plotly templates made of them."""

from __future__ import annotations

import json
from typing import Any

import plotly.graph_objects as go

from app.figures.expressions import Choose, State

FONT = "system-ui, 'Noto Sans CJK SC', sans-serif"
MONO = "ui-monospace, Menlo, 'Noto Sans Mono CJK SC', monospace"
SIZE = 13  # px
COLOURS: dict[str, dict[str, str]] = {  # the same as the custom properties in static/css/shell.css
    "light": {
        "paper": "#faf9f6", "card": "#ffffff", "ink": "#1b2130", "mute": "#5d6577", "line": "#e4e2dc",
        "accent": "#0b7a75", "soft": "#e3f1f0", "amber": "#9a5c00", "bad": "#b3423a", "good": "#0b7a55",
        "hidden": "#f3f2ee",
    },
    "dark": {
        "paper": "#0f131c", "card": "#171c28", "ink": "#e8ebf2", "mute": "#a3abbd", "line": "#2a3142",
        "accent": "#4fc3b8", "soft": "#17312f", "amber": "#f0b04a", "bad": "#ef8a80", "good": "#6fd3a0",
        "hidden": "#0f131c",
    },
}  # fmt: skip
GROUND = {"light": (255, 255, 255), "dark": (23, 28, 40)}
INK = {"light": (10, 60, 92), "dark": (122, 226, 214)}
LOW = {"light": (33, 102, 172), "dark": (103, 169, 240)}
HIGH = {"light": (200, 90, 10), "dark": (244, 165, 82)}
STOPS = 16  # of a colour scale
Scale = list[list[Any]]


def themed(light: Any, dark: Any) -> Choose:
    """A value that follows the page's theme."""
    return Choose(State("theme"), {"light": light, "dark": dark})


def colour(name: str) -> Choose:
    return themed(COLOURS["light"][name], COLOURS["dark"][name])


def _mix(a: tuple[int, ...], b: tuple[int, ...], share: float) -> str:
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in zip(a, b, strict=True))


def weight_colour(theme: str, share: float) -> str:
    return _mix(GROUND[theme], INK[theme], share**0.7)


def weight_scale(theme: str) -> Scale:
    """For shares from 0 to 1: one hue from the ground to ink, steeper at the start so that small weights are seen."""
    return [[i / STOPS, weight_colour(theme, i / STOPS)] for i in range(STOPS + 1)]


def signed_scale(theme: str) -> Scale:
    """For −1 to 1: blue, the ground at 0, orange."""
    low = [[i / STOPS / 2, _mix(LOW[theme], GROUND[theme], i / STOPS)] for i in range(STOPS)]
    return low + [[0.5 + i / STOPS / 2, _mix(GROUND[theme], HIGH[theme], i / STOPS)] for i in range(STOPS + 1)]


WEIGHT = themed(weight_scale("light"), weight_scale("dark"))
SIGNED = themed(signed_scale("light"), signed_scale("dark"))


BLUE, ORANGE = (themed(*(_mix(end[theme], end[theme], 0) for theme in ("light", "dark"))) for end in (LOW, HIGH))


def shade(share: float) -> Choose:
    """One of the colours of `WEIGHT`, for lines that have an order."""
    return themed(*(_mix(GROUND[theme], INK[theme], share**0.7) for theme in ("light", "dark")))


def template(theme: str) -> go.layout.Template:
    of = COLOURS[theme]
    axis = {
        "gridcolor": of["line"], "linecolor": of["line"], "zerolinecolor": of["line"], "tickcolor": of["line"],
        "tickfont": {"color": of["mute"]}, "title": {"font": {"color": of["mute"], "size": SIZE}},
    }  # fmt: skip
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": SIZE, "color": of["ink"]},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": [
                of["accent"],
                of["mute"],
                of["amber"],
                _mix(LOW[theme], LOW[theme], 0),
                of["bad"],
                of["good"],
            ],
            "hoverlabel": {
                "bgcolor": of["card"],
                "bordercolor": of["line"],
                "font": {"color": of["ink"], "size": SIZE},
            },
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "xaxis": axis,
            "yaxis": axis,
            "hovermode": "closest",
            "showlegend": False,
        }
    )


TEMPLATES = {theme: json.loads(template(theme).to_json()) for theme in COLOURS}
