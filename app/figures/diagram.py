"""The diagram of a model as SVG, made from its anatomy: modules as boxes that fold, capture points as stations, data flow as arrows.

    diagram(core.anatomy(model))                                shows itself in Jupyter, VS Code and Colab
    diagram(core.anatomy("gpt", n_layers=6)).unfold()           all of it; `.unfold("blocks.0")` that part
    diagram(core.anatomy("lstm")).write_svg("lstm.svg")         with title and caption

The page shows the same SVG and asks for another when a part is folded or unfolded; it marks what is selected by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from app.figures import svg
from app.figures.diagram_drawing import Drawing, Words
from app.figures.diagram_layout import FACE, Layout, Part, lay_out, line_to, parts_of, walk_parts
from app.figures.diagram_style import style, titled
from app.figures.expressions import Format, Sentences, Translate
from app.figures.live import untranslated


def diagram(anatomy: Any, **options: Any) -> Diagram:
    """The diagram of an anatomy: a `core.Anatomy`, or the plain data of its `to_dict()`."""
    return Diagram(anatomy if isinstance(anatomy, Mapping) else anatomy.to_dict(), **options)


@dataclass(frozen=True)
class Diagram:
    """A picture of a model's parts.

    opened    ids of unfolded parts ("blocks.0()"); None: those of the first level
    unrolled  ids of recurrent layers that are drawn over time
    index     id of a folded group → which of its equal parts is named (0 for the first)
    theme     "light" or "dark"; None: the page's own, or the reader's system
    """

    anatomy: Mapping[str, Any]
    opened: tuple[str, ...] | None = None
    unrolled: tuple[str, ...] = ()
    index: Mapping[str, int] = field(default_factory=dict)
    theme: str | None = None
    language: str = "en"
    translate: Translate = untranslated

    @property
    def words(self) -> Words:
        return Words(self.anatomy["family"], self.index, self.language, self.translate)

    @property
    def root(self) -> Part:
        return self.anatomy["root"]

    def unfold(self, *paths: str) -> Diagram:
        """The parts at these paths unfolded too, with what holds them; no path: all parts."""
        holding = [
            part["id"]
            for part in walk_parts(self.root)
            if part["rows"]
            and (not paths or any(f"{path}.".startswith(f"{part['path']}.".lstrip(".")) for path in paths))
        ]
        return replace(self, opened=tuple({*self.open_ids, *holding}))

    def reveal(self, part: str) -> Diagram:
        """Whatever holds a part, by its id, unfolded too."""
        return replace(self, opened=tuple({*self.open_ids, *(one["id"] for one in line_to(self.root, part)[1:-1])}))

    def fold(self) -> Diagram:
        return replace(self, opened=())

    @property
    def open_ids(self) -> tuple[str, ...]:
        if self.opened is not None:
            return self.opened
        return tuple(part["id"] for part in parts_of(self.root) if part["rows"] and part["path"] != "head")

    @cached_property
    def layout(self) -> Layout:
        words, time = self.words, self.anatomy["time"]
        return lay_out(self.root, set(self.open_ids), set(self.unrolled), time, words.local_name, words.module)

    @property
    def summary(self) -> str:
        facts = {"n": self.anatomy["parameters"], "time": self.anatomy["time"]}
        if self.anatomy["target_time"] is None:
            return self.words.say(
                Format("**{n:,}** parameters; shapes are those for one sequence of **{time}** tokens.", **facts)
            )
        return self.words.say(Format(
            "**{n:,}** parameters; shapes are those for a source of **{time}** tokens and a target of **{target_time}**.",
            **facts, target_time=self.anatomy["target_time"],
        ))  # fmt: skip

    @property
    def caption(self) -> str:
        """As the page says it, where a click does something."""
        hint = Format("Click a box to unfold it, a station to see what flows there.")
        return self.words.say(Sentences([self.summary, hint]))

    @property
    def label(self) -> str:
        facts = {"family": self.anatomy["family"], "n": self.anatomy["parameters"], "parts": len(self.layout.boxes)}
        return self.words.say(Format(
            "Parts of the {family}: {n:,} parameters, {parts} parts unfolded. Arrow keys move, Enter unfolds.", **facts
        ))  # fmt: skip

    @property
    def svg(self) -> str:
        """As wide as there is room, but never too small to be read (8.6 px for the names)."""
        layout = self.layout
        boxes = [box for box in layout.boxes if box.parent]
        drawing = Drawing(self.words, self.unrolled)
        order = {box.id: i for i, box in enumerate(boxes)}
        drawn = [
            *(drawing.box(box, order[box.id]) for box in boxes if box.is_open),
            *(drawing.edge(edge) for edge in layout.edges),
            *(drawing.title(box) for box in boxes if box.is_open),
            *(drawing.box(box, order[box.id]) for box in boxes if not box.is_open),
            *(drawing.strip(box, box.strip) for box in boxes if box.strip),
        ]
        width, height = round(layout.width), round(layout.height)
        return svg.element(
            "svg", svg.element("style", style(self.theme)), *drawn, xmlns="http://www.w3.org/2000/svg",
            class_="diagram", role="tree", tabindex=0, aria_label=self.label, viewBox=f"0 0 {width} {height}",
            width=width, height=height, font_family=FACE,
            style=f"width:{width}px;max-width:100%;min-width:{0.66 * width:.0f}px;height:auto",
        )  # fmt: skip

    def to_svg(self, title: str | None = None, theme: str | None = None) -> str:
        """As a file holds it: on its ground, with a title (the family's name unless told otherwise) and its summary."""
        themed = replace(self, theme=theme or self.theme)
        size, summary = (self.layout.width, self.layout.height), self.summary.replace("**", "")
        return titled(themed.svg, size, title or self.anatomy["family"], summary)

    def write_svg(self, path: str | Path, title: str | None = None, theme: str | None = None) -> None:
        Path(path).write_text(self.to_svg(title, theme), "utf-8")

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return self.to_svg()

    def table(self) -> dict[str, list[Any]]:
        """Every part as a row, whether it is unfolded or not: columns by name."""
        parts = list(walk_parts(self.root))
        columns = {name: [part[name] for part in parts] for name in ("path", "kind", "module")}
        shapes = ["x".join(map(str, part["shape"] or ())) for part in parts]
        return {
            **columns,
            "shape": shapes,
            "parameters": [p["count"] for p in parts],
            "times": [p["times"] for p in parts],
        }
