"""Adding digit by digit: 12+34 → 46. Written from the last digit on, every carry is known when it is needed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.messages import Text
from core.tasks.base import EOS, Examples, Task
from core.tasks.layouts import close_gaps
from core.tasks.shared_options import integer, option, switch
from core.tasks.synthetic.copying import check_lengths

FIRST = EOS + 1
PLUS = FIRST + 10
# fmt: off
MIN_DIGITS = integer("min_len", 1, 64, Text("Digits of the shortest numbers."))
MAX_DIGITS = integer("max_len", 1, 64, Text("Digits of the longest numbers in training."))
BACKWARDS = switch("backwards", Text("Write the sum from its last digit on: 12+34 → 64."))
# fmt: on


@dataclass(frozen=True, kw_only=True)
class Addition(Task):
    name = "addition"
    help = Text("Add two numbers, digit by digit.")
    forms = ("pairs", "stream")
    joiner = ""

    min_len: int = option(MIN_DIGITS, 2)
    max_len: int = option(MAX_DIGITS, 4)
    backwards: bool = option(BACKWARDS, False)

    def check(self) -> None:
        check_lengths(self.min_len, self.max_len)

    @property
    def tokens(self) -> list[str]:
        return ["·", "<s>", "</s>", *"0123456789+"]

    @property
    def longest(self) -> int:
        return self.max_len

    def room(self, form: str) -> int:
        source, target = 2 * self.max_len + 1, self.max_len + 2
        return source + target + 1 if form == "stream" else source

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        high = high or self.max_len
        low = min(low or self.min_len, high)
        lengths = torch.randint(low, high + 1, (2, n, 1), generator=rng)
        digits = torch.randint(10, (2, n, high), generator=rng)  # the last place first
        leading = torch.randint(1, 10, (2, n, 1), generator=rng)
        place = torch.arange(high)
        digits = torch.where((place == lengths - 1) & (lengths > 1), leading, digits)  # only 0 itself starts with 0
        written = place < lengths
        digits *= written
        total = add(*digits)
        ids = ((FIRST + digits) * written).flip(-1)
        source, source_lengths = close_gaps(torch.cat([ids[0], torch.full((n, 1), PLUS), ids[1]], dim=1))
        longer = lengths.amax(0)  # (n, 1)
        target_lengths = longer + total.gather(1, longer)  # the last carry is 0 or 1
        target = (FIRST + total) * (torch.arange(high + 1) < target_lengths)
        if not self.backwards:
            target = close_gaps(target.flip(1))[0]
        return Examples(source, source_lengths, target, target_lengths.squeeze(1))

    def solve(self, source: list[int]) -> list[int] | None:
        a, plus, b = "".join(self.show(source)).partition("+")
        if not (plus and a.isdigit() and b.isdigit()):
            return None
        written = [FIRST + int(digit) for digit in add_text(a, b)]
        return written[::-1] if self.backwards else written

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]]:
        """Each digit looks at the two digits of its place; the last carry, at the place that makes it."""
        plus = source.index(PLUS)
        ends = [plus - 1, len(source) - 1]
        starts = [0, plus + 1]
        found = []
        for written in range(len(target)):
            place = written if self.backwards else len(target) - 1 - written
            looks = [end - place for start, end in zip(starts, ends, strict=True) if end - place >= start]
            found.append(looks or [s for s, e in zip(starts, ends, strict=True) if e - place + 1 >= s])
        return found


def add(a: Tensor, b: Tensor) -> Tensor:
    """Digits with the last place first and zeros beyond a number's end: (n, places) → (n, places + 1)."""
    sums = torch.nn.functional.pad(a + b, (0, 1))
    decides = torch.where(sums != 9, torch.arange(sums.shape[1]), 0).cummax(1).values  # a 9 passes on what it gets
    carried = (sums > 9).gather(1, decides)  # out of each place
    sums[:, 1:] += carried[:, :-1]
    return sums % 10


def add_text(a: str, b: str) -> str:
    """As int would, but for numbers of any length and without leading zeros of its own."""
    carry, digits = 0, []
    for i in range(1, max(len(a), len(b)) + 1):
        carry += (int(a[-i]) if i <= len(a) else 0) + (int(b[-i]) if i <= len(b) else 0)
        digits.append(str(carry % 10))
        carry //= 10
    return ("1" if carry else "") + "".join(reversed(digits))
