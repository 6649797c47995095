"""What the Attention tab looks at first: the kind of attention, the head and the cell that tell most."""

from __future__ import annotations

from collections.abc import Mapping

from app.figures.attention_view import AttentionView

TELLING = ("agreement", "induction", "previous")  # the more telling first


def clearest_head(view: AttentionView) -> tuple[int, int, float]:
    """Layer, head and share of the head with the clearest role at the end of training."""
    best = (0, 0, -1.0)
    for name in TELLING:
        if name in view.measures:
            shares = view.measures[name].values[-1]  # (layer, head)
            layer, head = divmod(int(shares.argmax()), shares.shape[1])
            best = max(best, (layer, head, float(shares[layer, head])), key=lambda one: one[2])
        if best[2] >= view.clear:
            break
    return best


def most_telling(views: Mapping[str, AttentionView]) -> str:
    """The last stack in which a head has a clear role (decoder before encoder, cross before self); else the last."""
    clear = [name for name, view in views.items() if clearest_head(view)[2] >= view.clear]
    return (clear or list(views))[-1]


def strongest_cell(view: AttentionView, snapshot: int, layer: int, head: int) -> tuple[int, int]:
    """Query and key of the largest weight in the middle row."""
    rows, side = len(view.queries), max(1, view.pooled)
    query = min(rows - 1, (rows + 1) // 2)
    weights = view.weights.values[min(snapshot, len(view.weights.values) - 1), layer, head, query // side]
    return query, int(weights.argmax()) * side
