"""Trace of a decoding: the distribution behind every chosen token and, for a beam search, the tree of candidates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from core.decoding import TokenChoice

TOP_TOKENS = 24  # listed at each position
TOLERANCE = 1e-6  # probabilities that differ by less are equal
MIN_SCORE = -1e8  # scores below belong to beams that do not exist


def distribution(before: Tensor, after: Tensor, chosen: int) -> dict[str, Any]:
    """The likeliest tokens with their probabilities before and after filtering; the chosen one is among them."""
    top = before.topk(min(TOP_TOKENS, len(before))).indices.tolist()
    ids = top if chosen in top else [*top[:-1], chosen]
    return {
        "chosen": chosen,
        "ids": ids,
        "before": before[ids].tolist(),
        "after": after[ids].tolist(),
        "left": int((after > 0).sum()),
        "narrowed": bool(((after - before).abs() > TOLERANCE).any() or ((before > 0) & (after == 0)).any()),
        "entropy": [entropy_bits(before), entropy_bits(after)],
    }


def entropy_bits(p: Tensor) -> float:
    """−Σ p log₂ p of p normalised to 1: where filters removed tokens, the rest may add up to less."""
    p = p[p > 0] / p.sum()
    return float(-(p * p.log2()).sum())


@dataclass
class DecodeTrace:
    """Called with every `TokenChoice` of a decoding of one prompt.

    In a beam search, each beam ends in a node of the tree's last level.
    """

    steps: list[dict[str, Any]] = field(default_factory=list)  # one distribution per token; empty for a beam search
    tree: list[list[dict[str, Any]]] = field(default_factory=list)  # one level of candidates per token
    beam_nodes: list[int | None] = field(default_factory=lambda: [0])  # per beam, its node; None: no such beam

    def __call__(self, choice: TokenChoice) -> None:
        if choice.parents is None:
            before, after = choice.logits.softmax(-1), choice.filtered.softmax(-1)
            self.steps.append(distribution(before[0], after[0], int(choice.tokens[0])))
        else:
            self._add_distributions(choice)
            self._add_level(choice)

    @property
    def text(self) -> list[int]:
        """The tokens so far; of a beam search, those of its best beam."""
        if not self.tree:
            return [step["chosen"] for step in self.steps]
        place = next((i for i, node in enumerate(self.tree[-1]) if node["kept"]), 0)
        ids: list[int] = []
        for level in reversed(self.tree):
            node = level[place]
            ids.insert(0, node["id"])
            place = node["parent"]
        return ids

    def _add_distributions(self, choice: TokenChoice) -> None:
        """To every node that a beam ends in, the distribution of its next token."""
        if not self.tree:
            return
        before, after = choice.logits.softmax(-1), choice.filtered.exp()
        for beam, node in enumerate(self.beam_nodes):
            if node is not None:
                likeliest = int(after[beam].argmax())
                self.tree[-1][node]["next"] = distribution(before[beam], after[beam], likeliest)

    def _add_level(self, choice: TokenChoice) -> None:
        """One level of the tree: every candidate, its parent in the level before, and whether it goes on or ended."""
        parents, scores = choice.parents, choice.scores
        survivors, finished = choice.survivors, choice.finished
        assert parents is not None and scores is not None and survivors is not None and finished is not None
        continued = survivors[0].tolist()  # candidates that become beams
        level, nodes = [], {}
        for i, token in enumerate(choice.tokens[0].tolist()):
            parent, score = int(parents[0, i]), float(scores[0, i])
            if score <= MIN_SCORE:
                continue
            is_complete = bool(finished[0, i])
            nodes[i] = None if is_complete else len(level)
            level.append(
                {
                    "id": token,
                    "parent": self.beam_nodes[parent],
                    "score": score,
                    "share": float(choice.filtered[parent, token].exp()),
                    "kept": i in continued and not is_complete,
                    "ended": is_complete and i < len(continued),
                    "next": None,
                }
            )
        self.beam_nodes = [nodes.get(i) for i in continued]
        self.tree.append(level)
