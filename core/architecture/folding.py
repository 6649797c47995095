"""An anatomy as plain data, with equal neighbours, such as the blocks of a stack, folded into one part with a number of `times`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.architecture.anatomy import Part


def part_tree(root: Part) -> dict[str, Any]:
    """The tree of parts as nested dictionaries, without the copies of repeated parts."""
    return _FoldedTree(root).part(root)


class _FoldedTree:
    def __init__(self, root: Part):
        self.representatives: dict[str, str] = {}  # node of a folded copy → node that stands for it
        self.repeats: dict[str, int] = {}  # node that stands for others → number of equal neighbours, itself included
        self.fold(root)

    def fold(self, part: Part) -> None:
        """Group consecutive rows that hold one part of the same outline each, such as the blocks of a stack."""
        first, outline = None, None  # of the current group of equal neighbours
        for row in part.rows:
            alone = row[0] if len(row) == 1 and row[0].rows else None
            if alone is not None and first is not None and alone.outline() == outline:
                self.repeats[first.node] += 1
                for original, copy in zip(first.walk(), alone.walk(), strict=True):
                    self.representatives[copy.node] = original.node
                continue
            first, outline = alone, alone and alone.outline()
            if first is not None:
                self.repeats[first.node] = 1
            for inner in row:
                self.fold(inner)

    def part(self, part: Part) -> dict[str, Any]:
        """A part and all below it; sources that are folded copies are named by what stands for them."""
        rows = [[self.part(inner) for inner in row if inner.node not in self.representatives] for row in part.rows]
        sources = {(self.representatives.get(s.node, s.node), s.recurrent) for s in part.sources}
        return {
            "id": part.node,
            "path": part.path,
            "kind": part.kind,
            "module": part.module,
            "facts": part.extra_repr,
            "shape": part.shape,
            "axes": part.axes,
            "formula": part.description.formula if part.description else "",
            "meaning": part.description.meaning if part.description else None,  # a Text
            "count": part.count,
            "times": self.repeats.get(part.node, 1),
            "weights": [
                {"name": w.name, "shape": w.shape, "count": w.count, "same_as": w.same_as} for w in part.weights
            ],
            "sources": sorted(sources),
            "rows": [row for row in rows if row],
        }
