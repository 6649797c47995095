"""The diagram's colours and type as a style sheet inside its SVG, and the frame it has in a file."""

from __future__ import annotations

from string import Template

from app.figures import svg
from app.figures.theme import COLOURS, FONT

EDGE, TITLE, CAPTION, LEAST = 24, 18, 14, 420  # px around; sizes of type; px of width for the words
RULES = Template("""
.diagram rect.frame { fill: $card; stroke: $line; stroke-width: 1.2; }
.diagram rect.copy { fill: $card; stroke: $line; }
.diagram .part { cursor: pointer; }
.diagram .part-open { cursor: default; }
.diagram .part-title, .diagram .diagram-button { cursor: pointer; }
.diagram .part-open.odd rect.frame, .diagram .part-input rect.frame { fill: $paper; }
.diagram .part-input rect.frame { stroke-dasharray: 4 3; }
.diagram .part-point rect.frame { fill: $soft; stroke: $soft; }
.diagram .part:hover > rect.frame { stroke: $accent; }
.diagram .part.differs > rect.frame { stroke: $amber; stroke-width: 2.2; }
.diagram .part[aria-selected=true] > rect.frame { stroke: $accent; stroke-width: 2.2; }
.diagram text { font-size: 13px; fill: $mute; }
.diagram .name { fill: $ink; font-weight: 600; }
.diagram .small { font-size: 11.5px; }
.diagram .tiny, .diagram .edge-shape { font-size: 10.5px; }
.diagram .ink, .diagram .part-input .station { fill: $ink; }
.diagram .part-point .station { fill: $accent; }
.diagram .diagram-button { fill: $accent; }
.diagram .diagram-button:not(.unroll) { font-size: 17px; }
.diagram .unroll { font-size: 12px; }
.diagram .part-title { stroke: $card; stroke-width: 5px; stroke-linejoin: round; paint-order: stroke; }
.diagram .part-title.odd { stroke: $paper; }
.diagram .edge path { fill: none; stroke: $mute; stroke-width: 1.3; stroke-opacity: .85; }
.diagram .edge.lane path { stroke: $ink; stroke-opacity: .55; }
.diagram .edge.again path { stroke: $amber; stroke-dasharray: 4 3; }
.diagram .edge path.grip { stroke: transparent; stroke-width: 9; }
.diagram .edge:hover path.line { stroke: $accent; stroke-opacity: 1; }
.diagram .head { fill: $mute; }
.diagram .lane .head { fill: $ink; }
.diagram .again .head, .diagram polygon.state, .diagram .state-name { fill: $amber; }
.diagram path.state { fill: none; stroke: $amber; stroke-width: 1.4; }
.diagram .state-name { font-size: 11px; }
.diagram-file rect.ground { fill: $card; }
.diagram-file .title, .diagram-file .caption { fill: $ink; }
.diagram-file .title { font-weight: 600; }
""")
NAMES = ("paper", "card", "ink", "mute", "line", "accent", "soft", "amber")


def style(theme: str | None) -> str:
    """Of one theme, in plain colours; or of the page's (its custom properties), else the reader's system."""
    if theme is not None:
        return RULES.substitute({name: COLOURS[theme][name] for name in NAMES})
    own = {
        theme: "".join(f"--diagram-{name}:var(--iv-{name},{COLOURS[theme][name]});" for name in NAMES)
        for theme in COLOURS
    }
    properties = f".diagram,.diagram-file{{{own['light']}}}"
    dark = f"@media (prefers-color-scheme:dark){{.diagram,.diagram-file{{{own['dark']}}}}}"
    return f"{properties}{dark}{RULES.substitute({name: f'var(--diagram-{name})' for name in NAMES})}"


def titled(drawn: str, drawn_size: tuple[float, float], title: str, caption: str) -> str:
    """A drawn SVG, which brings the style, within another, between its title and its caption."""
    width, height = drawn_size
    wide = max(width, LEAST) + 2 * EDGE
    texts, top = _lines(title, TITLE, "title", wide - 2 * EDGE, EDGE)
    below, end = _lines(caption, CAPTION, "caption", wide - 2 * EDGE, top + 14 + height + 8)
    high = round(end + EDGE)
    return svg.element(
        "svg", svg.element("rect", width=round(wide), height=high, class_="ground"),
        *texts, *below, svg.element("g", drawn, transform=f"translate({EDGE} {top + 14:.0f})"), xmlns="http://www.w3.org/2000/svg",
        class_="diagram-file", width=round(wide), height=high, viewBox=f"0 0 {round(wide)} {high}", font_family=FONT,
        style=f"max-width:{round(wide)}px;height:auto",
    )  # fmt: skip


def _lines(text: str, size: float, kind: str, width: float, y: float) -> tuple[list[str], float]:
    """A text in lines from y on, and where it ends."""
    lines = svg.wrapped(text, size, width)
    high = size * svg.LINE
    places = [y + (i + 1) * high - 0.35 * size for i in range(len(lines))]
    written = [svg.words(line, EDGE, at, kind, font_size=size) for line, at in zip(lines, places, strict=True)]
    return written, y + len(lines) * high
