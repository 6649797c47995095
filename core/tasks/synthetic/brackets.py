"""Are the brackets balanced? Half are; the others miss it by one exchange, so that counting does not help."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.layers.masks import valid_mask
from core.messages import Text
from core.tasks.base import EOS, Examples, Task
from core.tasks.shared_options import MAX_LEN, MIN_LEN, integer, option
from core.tasks.synthetic.copying import check_lengths

FIRST = EOS + 1
KINDS = ("()", "[]", "{}", "<>")
# fmt: off
N_KINDS = integer("n_kinds", 1, len(KINDS), Text("How many kinds of bracket there are."))
MAX_DEPTH = integer("max_depth", 1, 64, Text("How deep brackets may be nested."))
# fmt: on


@dataclass(frozen=True, kw_only=True)
class Brackets(Task):
    """Token FIRST + 2 · kind opens, the next one closes."""

    name = "brackets"
    help = Text("Does every bracket close the one it should?")
    forms = ("label",)
    joiner = ""

    min_len: int = option(MIN_LEN, 4)
    max_len: int = option(MAX_LEN, 20)
    n_kinds: int = option(N_KINDS, 3)
    max_depth: int = option(MAX_DEPTH, 4)

    def check(self) -> None:
        check_lengths(self.min_len, self.max_len)

    @property
    def tokens(self) -> list[str]:
        return ["·", "<s>", "</s>", *"".join(KINDS[: self.n_kinds])]

    @property
    def label_names(self) -> list[Text]:
        return [Text("broken"), Text("balanced")]

    @property
    def chance(self) -> float:
        """Half of the problems are balanced."""
        return 0.5

    @property
    def longest(self) -> int:
        return self.max_len

    def room(self, form: str) -> int:
        return self.max_len + 1

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        """Lengths are even: odd limits go to the next even number."""
        high = -(-(high or self.max_len) // 2)
        low = min(-(-(low or self.min_len) // 2), high)
        lengths = 2 * torch.randint(low, high + 1, (n,), generator=rng)
        opens, levels = nesting(lengths, self.max_depth, rng)
        partner = partners(levels)
        kinds = torch.randint(self.n_kinds, opens.shape, generator=rng)
        kinds = torch.where(opens, kinds, kinds.gather(1, partner))
        rows = torch.where(levels > 0, FIRST + 1 + 2 * kinds - opens.long(), 0)
        balanced = torch.rand(n, generator=rng) < 0.5
        places = exchange(opens, levels, kinds, partner, lengths, rng)
        rows = torch.where(balanced[:, None], rows, rows.gather(1, places))
        return Examples(rows, lengths, balanced.long())

    def held_out(self, examples: Examples) -> Tensor:
        """What is shorter than `min_len`, where a curriculum starts, is all there to be learnt from."""
        return super().held_out(examples) & (examples.source_lengths >= self.min_len)

    def solve(self, source: list[int]) -> int:
        waiting: list[int] = []
        for token in source:
            kind, closes = divmod(token - FIRST, 2)
            if not closes:
                waiting.append(kind)
            elif not waiting or waiting.pop() != kind:
                return 0
        return int(not waiting)


def nesting(lengths: Tensor, max_depth: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """(n, longest): True where a bracket opens; and each bracket's level, from 1; 0 is padding.

    A random walk of as many steps up as down, folded like a paper strip of width `max_depth`, never leaves the strip
    and ends where it began: it is a nesting.
    """
    time = int(lengths.max())
    valid = valid_mask(lengths, time)
    random = torch.rand(len(lengths), time, generator=rng).masked_fill_(~valid, 2.0)
    median = random.sort(1).values.gather(1, lengths[:, None] // 2 - 1)
    steps = torch.where(random <= median, 1, -1) * valid
    height = steps.cumsum(1) % (2 * max_depth)
    depth = torch.minimum(height, 2 * max_depth - height)  # after each bracket
    before = torch.nn.functional.pad(depth[:, :-1], (1, 0))
    return depth > before, torch.maximum(depth, before)


def partners(levels: Tensor) -> Tensor:
    """(n, time): where each bracket's partner stands. On one level, opening and closing brackets take turns."""
    order = levels.argsort(dim=1, stable=True)
    swapped = order.unflatten(1, (-1, 2)).flip(2).flatten(1)
    return torch.empty_like(order).scatter_(1, order, swapped)


def exchange(opens: Tensor, levels: Tensor, kinds: Tensor, partner: Tensor, lengths: Tensor, rng) -> Tensor:
    """(n, time): which bracket stands where after two have changed places and broken the balance.

    Two closing brackets of different kinds, or an outermost bracket and its partner; where there is a choice, not
    next to the bracket they belong to and not at either end, where one look would do.
    """
    n, time = opens.shape
    places = torch.arange(time)
    keys = torch.rand(2, n, time, generator=rng)
    closes = (levels > 0) & ~opens
    likely = closes * (1 + 9 * (partner < places - 1))  # something stands between the two
    first = (keys[0] * likely).argmax(1, keepdim=True)
    second = keys[1] * likely * (kinds != kinds.gather(1, first))
    most, second = second.max(1, keepdim=True)
    outermost = opens & (levels == 1)
    inner = outermost & (places > 0) & (partner < lengths[:, None] - 1)
    outer = (keys[1] * outermost + inner).argmax(1, keepdim=True)
    mixed = (most > 0) & ((keys[0, :, :1] < 0.5) | ~inner.any(1, keepdim=True))
    a = torch.where(mixed, first, outer)
    b = torch.where(mixed, second, partner.gather(1, outer))
    return places.repeat(n, 1).scatter_(1, a, b).scatter_(1, b, a)
