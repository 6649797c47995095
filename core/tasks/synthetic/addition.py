"""Addition of two decimal numbers, digit by digit: 12+34 → 46.

Backwards (12+34 → 64), each digit needs only the carry of the digits before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.tasks.base import EOS, SPECIAL, Examples
from core.tasks.layouts import remove_zeros
from core.tasks.length_range import LengthRange
from core.tasks.shared_options import integer, option, switch
from core.translatable import Text

FIRST = EOS + 1  # id of the first symbol
PLUS = FIRST + 10
# fmt: off
MIN_DIGITS = integer("min_len", 1, 64, Text("Digits of the shortest numbers."))
MAX_DIGITS = integer("max_len", 1, 64, Text("Digits of the longest numbers in training."))
BACKWARDS = switch("backwards", Text("Write the sum from its last digit on: 12+34 → 64."))
# fmt: on


@dataclass(frozen=True, kw_only=True)
class Addition(LengthRange):
    name = "addition"
    help = Text("Add two numbers, digit by digit.")
    forms = ("pairs", "stream")
    joiner = ""

    min_len: int = option(MIN_DIGITS, 2)
    max_len: int = option(MAX_DIGITS, 4)
    backwards: bool = option(BACKWARDS, False)

    @property
    def tokens(self) -> list[str]:
        return [*SPECIAL, *"0123456789+"]

    def max_tokens(self, form: str) -> int:
        source, target = 2 * self.max_len + 1, self.max_len + 2
        return source + target + 1 if form == "stream" else source

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        low, high = self.length_bounds(low, high)
        lengths = torch.randint(low, high + 1, (2, n, 1), generator=rng)
        digits = torch.randint(10, (2, n, high), generator=rng)  # least significant first
        leading = torch.randint(1, 10, (2, n, 1), generator=rng)
        place = torch.arange(high)
        digits = torch.where((place == lengths - 1) & (lengths > 1), leading, digits)  # only 0 itself starts with 0
        valid = place < lengths
        digits *= valid
        total = add_digits(*digits)
        ids = ((FIRST + digits) * valid).flip(-1)
        source, source_lengths = remove_zeros(torch.cat([ids[0], torch.full((n, 1), PLUS), ids[1]], dim=1))
        places = lengths.amax(0)  # (n, 1): of the longer number
        target_lengths = places + total.gather(1, places)  # the last carry is 0 or 1
        target = (FIRST + total) * (torch.arange(high + 1) < target_lengths)
        if not self.backwards:
            target = remove_zeros(target.flip(1))[0]
        return Examples(source, source_lengths, target, target_lengths.squeeze(1))

    def solve(self, source: list[int]) -> list[int] | None:
        a, plus, b = "".join(self.show(source)).partition("+")
        if not (plus and a.isdigit() and b.isdigit()):
            return None
        digits = [FIRST + int(digit) for digit in add_text(a, b)]
        return digits[::-1] if self.backwards else digits

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]]:
        """Each digit depends on the two digits of its place; the last carry, on the place that produces it."""
        plus = source.index(PLUS)
        ends = [plus - 1, len(source) - 1]
        starts = [0, plus + 1]
        rows = []
        for i in range(len(target)):
            place = i if self.backwards else len(target) - 1 - i
            digits = [end - place for start, end in zip(starts, ends, strict=True) if end - place >= start]
            rows.append(digits or [s for s, e in zip(starts, ends, strict=True) if e - place + 1 >= s])
        return rows


def add_digits(a: Tensor, b: Tensor) -> Tensor:
    """Sum of numbers as digits, least significant first, padded with 0: (n, places) → (n, places + 1).

    Carry lookahead: a place whose digits sum to 9 passes on the carry it receives; any other place decides its own.
    """
    sums = torch.nn.functional.pad(a + b, (0, 1))
    deciding_place = torch.where(sums != 9, torch.arange(sums.shape[1]), 0).cummax(1).values
    carry = (sums > 9).gather(1, deciding_place)  # out of each place
    sums[:, 1:] += carry[:, :-1]
    return sums % 10


def add_text(a: str, b: str) -> str:
    """Sum of two decimal strings of any length (`int` limits their digits); leading zeros are kept."""
    carry, digits = 0, []
    for i in range(1, max(len(a), len(b)) + 1):
        carry += (int(a[-i]) if i <= len(a) else 0) + (int(b[-i]) if i <= len(b) else 0)
        digits.append(str(carry % 10))
        carry //= 10
    return ("1" if carry else "") + "".join(reversed(digits))
