"""What the Attention tab's figures are drawn from: the weights of one stack of heads, their measures, and roles read off them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from app.figures.axes import quoted
from app.figures.expressions import Array, Choose, Expression, Format, State

ROLES = ("agreement", "induction", "previous", "own", "first")  # the more telling first, when shares are equal
SHARES = frozenset(ROLES)  # measures from 0 to 1; the others go to their own largest
FAINT = 0.25  # maps whose largest weight is below this are coloured up to that weight
FEWEST_TOKENS = 4  # from which on a role is claimed
CHOSEN = ("snapshot", "layer", "head")


@dataclass
class AttentionView:
    """One stack of attention maps of a run on one input, at every snapshot of its training.

    weights    (snapshot, layer, head, query, key), or pooled to the largest of every `pooled` × `pooled` cells
    measures   name → (snapshot, layer, head)
    allowed    (query, key): where the mask lets a query look; None: everywhere
    rollout    (snapshot, layer, query, key) for self-attention, pooled like the weights
    alignment  query → the keys it should look at, where the task knows
    """

    name: str
    weights: Array
    measures: dict[str, Array]
    steps: list[int]
    queries: list[str]
    keys: list[str]
    query_axis: str = "source"
    key_axis: str = "source"
    allowed: np.ndarray | None = None
    rollout: Array | None = None
    alignment: list[list[int]] | None = None
    pooled: int = 0
    has_heads: bool = True  # a recurrent decoder has one alignment and no heads
    clear: float = 0.5  # the share of its weight from which a head has a role
    trained: bool = True  # False: a checkpoint, whose training is not known
    file: str = field(default="attention")

    @cached_property
    def role(self) -> Array:
        """(snapshot, layer, head): 0 for none, else 1 + the index in `ROLES`"""
        shares = self._shares
        clear = (shares.max(0) >= self.clear) & (not self.too_short)
        return Array(f"{self.name}.role", np.where(clear, shares.argmax(0) + 1, 0).astype(np.int32))

    @property
    def too_short(self) -> bool:
        """Are there so few tokens that almost any head looks as if it had a role?"""
        return max(len(self.queries), len(self.keys)) < FEWEST_TOKENS

    @cached_property
    def share(self) -> Array:
        """(snapshot, layer, head): the share of its weight that the likeliest role explains"""
        return Array(f"{self.name}.share", self._shares.max(0).astype(np.float32))

    @cached_property
    def since(self) -> Array:
        """(snapshot, layer, head): the step of the first snapshot from which on it has had the role it has now"""
        role, first = self.role.values, np.zeros(self.role.values.shape, np.int32)
        for snapshot in range(1, len(role)):
            first[snapshot] = np.where(role[snapshot] == role[snapshot - 1], first[snapshot - 1], snapshot)
        return Array(f"{self.name}.since", np.asarray(self.steps, np.int32)[first])

    @cached_property
    def limit(self) -> Array:
        """(snapshot, layer, head): the weight that gets the strongest colour"""
        return Array(f"{self.name}.limit", strongest_colour(self._largest))

    @cached_property
    def grid_limit(self) -> Array:
        """(snapshot,): the same for all heads together"""
        return Array(f"{self.name}.grid_limit", strongest_colour(self._largest.max((1, 2))))

    def strongest(self, axis: int) -> tuple[Array, Array]:
        """For every query (axis −1) or key (axis −2) the other token with the largest weight, and that weight:
        (snapshot, layer, head, token) each.
        """
        weights, name = self.weights.values, f"{self.name}.{'key' if axis == -1 else 'query'}"
        largest = (weights.max(axis) * self.weights.unit).astype(np.float32)
        return Array(f"{name}.strongest", weights.argmax(axis).astype(np.int32)), Array(f"{name}.largest", largest)

    @property
    def who(self) -> Expression:
        """Head **1.0**, or The **alignment**"""
        if not self.has_heads:
            return Format("The **alignment**")
        return Format("Head **{layer}.{head}**", layer=State("layer"), head=State("head"))

    @property
    def heading(self) -> Expression:
        if not self.has_heads:
            return Format("The alignment")
        return Format("Head {layer}.{head}", layer=State("layer"), head=State("head"))

    @property
    def where(self) -> Expression:
        """Head 1.0, step 400"""
        if not self.trained:
            return self.heading
        return Format("{head}, step {step}", head=self.heading, step=self.step)

    @property
    def step(self) -> Expression:
        return Array("steps", np.asarray(self.steps, np.int32))["snapshot"]

    def query_token(self, index: Expression) -> Expression:
        return Choose(index, [quoted(token) for token in self.queries])

    def key_token(self, index: Expression) -> Expression:
        return Choose(index, [quoted(token) for token in self.keys])

    @cached_property
    def _largest(self) -> np.ndarray:
        return self.weights.values.max((-2, -1)) * self.weights.unit

    @property
    def _shares(self) -> np.ndarray:
        missing = np.zeros(self.weights.values.shape[:3], np.float32)
        return np.stack([self.measures[role].values if role in self.measures else missing for role in ROLES])


def strongest_colour(largest: np.ndarray) -> np.ndarray:
    """1, or the largest weight itself where all are so small that nothing could be seen."""
    return np.where((largest < FAINT) & (largest > 0), largest, 1.0).astype(np.float32)
