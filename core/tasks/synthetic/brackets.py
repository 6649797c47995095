"""Balanced brackets (a bounded Dyck language): half are balanced, the others differ from such by one swap.

A swap leaves the number of each bracket as it was, so that counting does not help.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.layers.masks import valid_mask
from core.tasks.base import EOS, SPECIAL, Examples
from core.tasks.length_range import LengthRange
from core.tasks.shared_options import integer, option
from core.translatable import Text

FIRST = EOS + 1  # id of the first symbol
KINDS = ("()", "[]", "{}", "<>")
# fmt: off
N_KINDS = integer("n_kinds", 1, len(KINDS), Text("How many kinds of bracket there are."))
MAX_DEPTH = integer("max_depth", 1, 64, Text("How deep brackets may be nested."))
# fmt: on


@dataclass(frozen=True, kw_only=True)
class Brackets(LengthRange):
    """Token FIRST + 2 · kind opens, FIRST + 2 · kind + 1 closes."""

    name = "brackets"
    help = Text("Does every bracket close the one it should?")
    forms = ("label",)
    joiner = ""

    n_kinds: int = option(N_KINDS, 3)
    max_depth: int = option(MAX_DEPTH, 4)

    @property
    def tokens(self) -> list[str]:
        return [*SPECIAL, *"".join(KINDS[: self.n_kinds])]

    @property
    def label_names(self) -> list[Text]:
        return [Text("broken"), Text("balanced")]

    @property
    def chance(self) -> float:
        """Half of the problems are balanced."""
        return 0.5

    def max_tokens(self, form: str) -> int:
        return self.max_len + 1

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        """Lengths are even: odd limits are rounded up."""
        shortest, longest = (-(-length // 2) for length in self.length_bounds(low, high))  # in pairs
        lengths = 2 * torch.randint(shortest, longest + 1, (n,), generator=rng)
        opens, levels = random_nesting(lengths, self.max_depth, rng)
        partner = partners(levels)
        kinds = torch.randint(self.n_kinds, opens.shape, generator=rng)
        kinds = torch.where(opens, kinds, kinds.gather(1, partner))
        rows = torch.where(levels > 0, FIRST + 1 + 2 * kinds - opens.long(), 0)
        balanced = torch.rand(n, generator=rng) < 0.5
        swapped = swap_two(opens, levels, kinds, partner, lengths, rng)
        rows = torch.where(balanced[:, None], rows, rows.gather(1, swapped))
        return Examples(rows, lengths, balanced.long())

    def held_out(self, examples: Examples) -> Tensor:
        """Problems shorter than `min_len`, with which a curriculum starts, are few: all of them are trained on."""
        return super().held_out(examples) & (examples.source_lengths >= self.min_len)

    def solve(self, source: list[int]) -> int:
        stack: list[int] = []
        for token in source:
            kind, closes = divmod(token - FIRST, 2)
            if not closes:
                stack.append(kind)
            elif not stack or stack.pop() != kind:
                return 0
        return int(not stack)


def random_nesting(lengths: Tensor, max_depth: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """(n, longest): True where a bracket opens; and each bracket's nesting level, from 1; 0 is padding.

    A random walk with as many +1 as −1, reflected at 0 and at `max_depth`, stays between them and ends at 0: its
    heights are the depths of a balanced sequence.
    """
    time = int(lengths.max())
    valid = valid_mask(lengths, time)
    random = torch.rand(len(lengths), time, generator=rng).masked_fill_(~valid, 2.0)
    median = random.sort(1).values.gather(1, lengths[:, None] // 2 - 1)
    moves = torch.where(random <= median, 1, -1) * valid
    height = moves.cumsum(1) % (2 * max_depth)
    depth = torch.minimum(height, 2 * max_depth - height)  # after each bracket
    before = torch.nn.functional.pad(depth[:, :-1], (1, 0))
    return depth > before, torch.maximum(depth, before)


def partners(levels: Tensor) -> Tensor:
    """(n, time): position of each bracket's partner. Within one level, opening and closing brackets alternate."""
    order = levels.argsort(dim=1, stable=True)
    partner = order.unflatten(1, (-1, 2)).flip(2).flatten(1)
    return torch.empty_like(order).scatter_(1, order, partner)


def swap_two(
    opens: Tensor, levels: Tensor, kinds: Tensor, partner: Tensor, lengths: Tensor, rng: torch.Generator
) -> Tensor:
    """(n, time): a permutation of positions that swaps two brackets and so breaks the balance.

    Swapped are two closing brackets of different kinds, or an outermost bracket and its partner; preferably not ones
    next to their partner nor at either end, where two neighbouring tokens or the end would give the answer away.
    """
    n, time = opens.shape
    position = torch.arange(time)
    keys = torch.rand(2, n, time, generator=rng)
    closes = (levels > 0) & ~opens
    preference = closes * (1 + 9 * (partner < position - 1))  # higher with something between bracket and partner
    first = (keys[0] * preference).argmax(1, keepdim=True)
    second_key = keys[1] * preference * (kinds != kinds.gather(1, first))
    best_key, second = second_key.max(1, keepdim=True)
    outermost = opens & (levels == 1)
    inner = outermost & (position > 0) & (partner < lengths[:, None] - 1)
    outer = (keys[1] * outermost + inner).argmax(1, keepdim=True)
    two_kinds = (best_key > 0) & ((keys[0, :, :1] < 0.5) | ~inner.any(1, keepdim=True))
    a = torch.where(two_kinds, first, outer)
    b = torch.where(two_kinds, second, partner.gather(1, outer))
    return position.repeat(n, 1).scatter_(1, a, b).scatter_(1, b, a)
