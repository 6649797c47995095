"""What is to be seen of every choice while a model writes: the distributions, and of a beam search the tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from core.decoding import TokenChoice

SHOWN = 24  # of the likeliest tokens at each step
SAME = 1e-6  # shares that differ by less are the same
ABSENT = -1e8  # scores below belong to beams that are not there


def distribution(before: Tensor, after: Tensor, chosen: int) -> dict[str, Any]:
    """The likeliest tokens, as the model gave them and as they were chosen from; the chosen one is among them."""
    best = before.topk(min(SHOWN, len(before))).indices.tolist()
    shown = best if chosen in best else [*best[:-1], chosen]
    return {
        "chosen": chosen,
        "ids": shown,
        "before": before[shown].tolist(),
        "after": after[shown].tolist(),
        "left": int((after > 0).sum()),
        "narrowed": bool(((after - before).abs() > SAME).any() or ((before > 0) & (after == 0)).any()),
        "entropy": [entropy(before), entropy(after)],
    }


def entropy(p: Tensor) -> float:
    """In bits; what was ruled out is not made up for, so it is divided among the rest first."""
    p = p[p > 0] / p.sum()
    return float(-(p * p.log2()).sum())


@dataclass
class Watcher:
    """The rows of a beam search are its beams; each stands on a node of the tree's last level."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    tree: list[list[dict[str, Any]]] = field(default_factory=list)
    stands: list[int | None] = field(default_factory=lambda: [0])  # per beam; None: it is not there

    def __call__(self, choice: TokenChoice) -> None:
        if choice.parents is None:
            before, after = choice.logits.softmax(-1), choice.filtered.softmax(-1)
            self.steps.append(distribution(before[0], after[0], int(choice.tokens[0])))
        else:
            self.look_ahead(choice)
            self.grow(choice)

    def look_ahead(self, choice: TokenChoice) -> None:
        """To every node that goes on: from what its next token is chosen."""
        if not self.tree:
            return
        before, after = choice.logits.softmax(-1), choice.filtered.exp()
        for row, node in enumerate(self.stands):
            if node is not None:
                likeliest = int(after[row].argmax())
                self.tree[-1][node]["next"] = distribution(before[row], after[row], likeliest)

    def grow(self, choice: TokenChoice) -> None:
        """One level of the tree: every candidate, on which node of the last level it stands, and what became of it."""
        kept = choice.survivors[0].tolist()
        level, place = [], {}
        for i, token in enumerate(choice.tokens[0].tolist()):
            parent, score = int(choice.parents[0, i]), float(choice.scores[0, i])
            if score <= ABSENT:
                continue
            ended = bool(choice.finished[0, i])
            place[i] = None if ended else len(level)
            level.append(
                {
                    "id": token,
                    "parent": self.stands[parent],
                    "score": score,
                    "share": float(choice.filtered[parent, token].exp()),
                    "kept": i in kept and not ended,
                    "ended": ended and i < len(kept),
                    "next": None,
                }
            )
        self.stands = [place.get(i) for i in kept]
        self.tree.append(level)
