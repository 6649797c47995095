"""The parts of a diagram as SVG elements: boxes, titles, arrows, and cells over time."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from app.figures import svg
from app.figures.diagram_layout import (
    CELL,
    NAME,
    SMALL,
    STACK,
    STRIP,
    Box,
    Edge,
    Part,
    Strip,
    parts_of,
    shape_text,
    size_text,
    text_width,
)  # fmt: skip
from app.figures.expressions import Expression, Format, Translate, evaluate
from app.figures.live import untranslated

STATES = {"hidden": "h", "cell": "c"}  # as they are written beside their arrows
MODULES = {  # classes in words
    "AdditiveAlignment": Format("additive attention"), "Attention": Format("attention"), "BahdanauDecoder": Format("Bahdanau decoder"),
    "LuongDecoder": Format("Luong decoder"), "BidirectionalLayer": Format("both directions"), "Block": Format("block"),
    "Crf": Format("random field"), "CrfHead": Format("random field"), "Embedding": Format("embedding"), "Encoder": Format("encoder"),
    "FeedForward": Format("feed-forward layer"), "GruLayer": Format("GRU layer"), "LstmLayer": Format("LSTM layer"),
    "RnnLayer": Format("RNN layer"), "LayerNorm": Format("layer norm"), "RmsNorm": Format("RMS norm"), "Learned": Format("learned positions"),
    "Rotary": Format("rotary positions"), "Sinusoidal": Format("sinusoidal positions"), "T5Bias": Format("bucketed bias"),
    "Linear": Format("linear layer"), "MaskedTokenHead": Format("masked-token head"), "Stack": Format("stack"),
}  # fmt: skip
ROUND = 6  # px: radius of a lane's corners


@dataclass(frozen=True)
class Words:
    """What is written in a diagram: messages in the reader's language, and parts by the number chosen in their group."""

    family: str
    index: Mapping[str, int]
    language: str = "en"
    translate: Translate = untranslated

    def say(self, message: Expression) -> str:
        return evaluate(message, {"language": self.language}, self.translate)

    def path(self, part: Part) -> str:
        """A part of a folded group stands for the one whose number was chosen."""
        path = part["path"]
        for leader, by in self.index.items():
            outer = leader.removesuffix("()")
            if by and f"{path}.".startswith(f"{outer}."):
                return renumbered(outer, by) + path[len(outer) :]
        return path

    def local_name(self, part: Part, parent: Part | None) -> str:
        path, outer = self.path(part), self.path(parent) if parent else ""
        return path.removeprefix(f"{outer}.") if outer else path

    def describe(self, part: Part) -> str:
        shape = f" · {shape_text(part['shape'])}" if part["shape"] else ""
        if part["kind"] != "module":
            return f"{self.path(part)}{shape}"
        count = self.say(Format("{n:,} parameters", n=part["count"]))
        return f"{self.path(part) or self.family} · {self.module(part)} · {count}{shape}"

    def module(self, part: Part) -> str:
        """Its class; in other languages than English in words, where there are some."""
        title = MODULES.get(part["module"])
        return part["module"] if title is None or self.language == "en" else self.say(title)


class Drawing:
    """Boxes, their titles, arrows and strips of a layout as SVG elements."""

    def __init__(self, words: Words, unrolled: Collection[str]):
        self.words, self.unrolled = words, unrolled
        self.labelled: set[str] = set()  # boxes whose outgoing shape is written

    def box(self, box: Box, order: int) -> str:
        part, told = box.part, self.words.describe(box.part)
        kind = part["kind"]
        if kind == "module":
            kind = "open" if box.is_open else "closed" if part["rows"] else "leaf"
        rounded = box.height / 2 if kind in ("point", "input") else 10
        at = {"width": box.width, "height": box.height, "rx": 10}
        copies = (STACK, STACK / 2) if part["times"] > 1 else ()
        return svg.element(
            "g",
            svg.tooltip(told),
            *(svg.element("rect", x=box.x + by, y=box.y + by, class_="copy", **at) for by in copies),
            svg.element("rect", x=box.x, y=box.y, class_="frame", **{**at, "rx": rounded}),
            *([] if box.is_open else self._names(box)),
            class_=f"part part-{kind}{' odd' if box.is_open and box.depth % 2 else ''}", role="treeitem",
            data_id=box.id, data_path=self.words.path(part), data_order=order, data_count=part["count"],
            data_parent=box.parent.id if box.parent and box.parent.parent else None, aria_selected="false",
            data_shape=",".join(map(str, part["shape"])) if part["shape"] else None, aria_label=told,
            aria_expanded=str(box.is_open).lower() if part["rows"] else None,
        )  # fmt: skip

    def _names(self, box: Box) -> list[str]:
        if box.part["kind"] == "module":
            name, size = box.lines
            return [svg.words(name, box.x + 13, box.y + 18, "name"), svg.words(size, box.x + 13, box.y + 34, "small")]
        shape = shape_text(box.part["shape"])
        return [
            svg.words(box.name, box.x + 11, box.y + 18, "station"),
            svg.words(shape, box.x + box.width - 11, box.y + 18, "shape", text_anchor="end"),
        ]

    def title(self, box: Box) -> str:
        """Name, class and size of an open box; above the arrows, which pass behind its words."""
        part, y, right = box.part, box.y + 21, box.x + box.width
        name, size = f"▾ {box.name}", size_text(part)
        parts = [
            svg.words(name, box.x + 12, y, "name"),
            svg.words(box.module, box.x + 20 + text_width(name, NAME), y, "small"),
            svg.words(size, right - 12, y, "small", text_anchor="end"),
        ]
        before = right - 16 - text_width(size, SMALL)
        if part["times"] > 1:
            parts += self._stepper(box, before, y)
        if box.is_recurrent:
            on = box.id in self.unrolled
            words = self.words.say(Format("⇤ folded") if on else Format("in time ⇥"))
            at = before - 2 - (90 if part["times"] > 1 else 0)
            parts.append(svg.words(words, at, y, "diagram-button unroll", text_anchor="end", role="button", data_unroll=box.id))  # fmt: skip
        ground = "odd" if box.depth % 2 else "even"
        return svg.element("g", *parts, class_=f"part-title {ground}", data_title=box.id)

    def _stepper(self, box: Box, right: float, y: float) -> list[str]:
        """‹ 3 of 12 ›: which of the equal parts is named"""
        times, index = box.part["times"], self.words.index.get(box.id, 0)

        def button(sign: str, by: int, x: float, label: Format) -> str:
            return svg.words(
                sign, x, y + 1, "diagram-button", font_size=17, text_anchor="middle", role="button",
                aria_label=self.words.say(label), data_group=box.id, data_index=(index + by) % times,
            )  # fmt: skip

        place = self.words.say(Format("{i} of {n}", i=index + 1, n=times))
        return [
            button("‹", -1, right - 78, Format("Previous block")),
            svg.words(place, right - 43, y, "small", text_anchor="middle"),
            button("›", 1, right - 8, Format("Next block")),
        ]

    def strip(self, box: Box, strip: Strip | None) -> str:
        """The cell, once per time step, and the states that go from one to the next."""
        assert strip is not None
        left, y = box.x + (box.width - strip.width) / 2 + 16, strip.y
        name, parts = box.part["path"].rpartition(".")[2], []
        for step in range(strip.steps):
            at = left + step * CELL
            parts += [
                svg.element("rect", x=at, y=y, width=40, height=STRIP, rx=8, class_="copy"),
                svg.words(name, at + 20, y + 15, "small ink", text_anchor="middle"),
                svg.words(f"t={step}", at + 20, y + 28, "tiny", text_anchor="middle"),
            ]
            if step == strip.steps - 1 and strip.time == strip.steps:
                continue
            for i, state in enumerate(strip.states):
                level, ends = y + 11 + i * 13, (at + 40, at + CELL)
                tail, tip = reversed(ends) if strip.is_backward else ends
                parts += [
                    svg.element("path", d=f"M{tail:.1f} {level:.1f}H{tip:.1f}", class_="state"),
                    arrowhead(tip, level, "left" if strip.is_backward else "right", "state"),
                ]
                if not step:
                    letter = STATES.get(state["path"].rpartition(".")[2], "")
                    parts.append(svg.words(letter, at - 6, level + 4, "state-name", text_anchor="end"))
        if strip.time > strip.steps:
            parts.append(svg.words(f"+{strip.time - strip.steps}", left + strip.steps * CELL + 4, y + 22, "shape"))
        shape = strip.states[0]["shape"]
        told = Format(
            "From one time step to the next: {states}, each {shape}",
            states=", ".join(state["path"] for state in strip.states), shape=shape_text([shape[0], shape[-1]]),
        )  # fmt: skip
        return svg.element("g", svg.tooltip(self.words.say(told)), *parts, class_="strip")

    def edge(self, edge: Edge) -> str:
        source, target = edge.source.part, edge.target.part
        shape = source["shape"] or shape_out(source)
        told = shape_text(shape) if shape else ""
        if shape and is_time_first(shape, target["shape"]):
            turned = self.words.say(Format("time first"))
            told = f"{told} · {turned}"
        path = _straight(edge) if edge.lane_x is None else _by_lane(edge, edge.lane_x)
        parts = [f"{self.words.path(source)} → {self.words.path(target)}", told]
        parts += [self.words.say(Format("from the time step before"))] if edge.recurrent else []
        (x, y), drawn = (
            edge.start,
            [svg.element("path", d=path, class_="grip"), svg.element("path", d=path, class_="line")],
        )
        drawn.append(arrowhead(*edge.end, "down", "head"))
        if edge.lane_x is None and source["kind"] == "module" and told and edge.source.id not in self.labelled:
            self.labelled.add(edge.source.id)
            right = edge.end[0] > x + 4
            drawn.append(svg.words(told, x - 6 if right else x + 6, y + 13, "edge-shape", text_anchor="end" if right else "start"))  # fmt: skip
        kind = " again" if edge.recurrent else " lane" if edge.lane_x is not None else ""
        tooltip = svg.tooltip(" · ".join(filter(None, parts)))
        return svg.element(
            "g", tooltip, *drawn, class_=f"edge{kind}", data_from=edge.source.id, data_to=edge.target.id
        )


def renumbered(path: str, by: int) -> str:
    """From "blocks.0", 3 to "blocks.3"; from "layers.1.fwd", 2 to "layers.3.fwd"."""
    names = path.split(".")
    last = max(i for i, name in enumerate(names) if re.fullmatch(r"\d+", name))
    names[last] = str(int(names[last]) + by)
    return ".".join(names)


def shape_out(part: Part) -> tuple[int, ...] | None:
    """What leaves a folded box: the tensor of its last station."""
    inner = parts_of(part)
    return (inner[-1]["shape"] or shape_out(inner[-1])) if inner else None


def is_time_first(shape: Any, arriving: Any) -> bool:
    """Whether the first two axes of what arrives are the other way round."""
    turned = [shape[1], shape[0], *shape[2:]] if len(shape) > 1 else []
    return bool(arriving) and len(shape) > 1 and shape[0] != shape[1] and turned == list(arriving)


def _straight(edge: Edge) -> str:
    """A curve down to the gate of whatever holds the end, and straight on from there."""
    (x, y), (to_x, to_y) = edge.start, edge.end
    to = to_y - 4 if edge.gate is None else max(edge.gate, y + 14)
    bend = min(18, (to - y) / 2)
    rest = "" if edge.gate is None else f"V{to_y - 4:.1f}"
    return f"M{x:.1f} {y:.1f}C{x:.1f} {y + bend:.1f} {to_x:.1f} {to - bend:.1f} {to_x:.1f} {to:.1f}{rest}"


def _by_lane(edge: Edge, lane_x: float) -> str:
    (x, y), (to_x, to_y) = edge.start, edge.end
    leaving, arriving = y + 7, to_y - 9
    corners = [(x, leaving), (lane_x, leaving), (lane_x, arriving), (to_x, arriving)]
    points = [(x, y), *corners, (to_x, to_y - 4)]
    path = f"M{x:.1f} {y:.1f}"
    for before, corner, after in zip(points, corners, points[2:], strict=False):
        (ax, ay), (bx, by) = _toward(corner, before), _toward(corner, after)
        path += f"L{ax:.1f} {ay:.1f}Q{corner[0]:.1f} {corner[1]:.1f} {bx:.1f} {by:.1f}"
    return f"{path}L{to_x:.1f} {to_y - 4:.1f}"


def _toward(corner: tuple[float, float], to: tuple[float, float]) -> tuple[float, float]:
    dx, dy = to[0] - corner[0], to[1] - corner[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1
    by = min(ROUND, length / 2) / length
    return corner[0] + dx * by, corner[1] + dy * by


def arrowhead(x: float, y: float, way: str, class_: str) -> str:
    far, near = {"down": ((-3.6, -7), (3.6, -7)), "right": ((-6, -3), (-6, 3)), "left": ((6, -3), (6, 3))}[way]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in ((0, 0), far, near))
    return svg.element("polygon", points=points, class_=class_)
