"""Date normalisation: dates in many styles → YYYY-MM-DD, with the alignment of year, month and day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from core.tasks.base import SPECIAL, Examples, Task
from core.tasks.layouts import pad_rows
from core.tasks.shared_options import integer, option
from core.tasks.validation import check_order
from core.translatable import Text

# fmt: off
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
# The separator decides the order, as is customary: 3.4. is the third of April, 3/4/ the fourth of March.
STYLES = [
    "{day} {Month} {year}", "{Month} {day}, {year}", "{day0}.{month0}.{year}", "{month0}/{day0}/{year}", "{year}年{month}月{day}日",
    "{Weekday}, {day} {Month} {year}", "{Mon} {day} {year}", "{day}-{Mon}-{year}", "the {nth} of {Month} {year}", "{year}/{month}/{day}",
    "{MONTH} {nth}, {year}", "{Weekday}, {Mon} {nth} {year}", "{day}.{month}.{year}", "{month}/{day}/{year}",
]
FIRST_YEAR = integer("first_year", 1, 9999, Text("The earliest year."))
LAST_YEAR = integer("last_year", 1, 9999, Text("The latest year."))
N_STYLES = integer("n_styles", 1, len(STYLES), Text("How many ways of writing a date are mixed."))
# fmt: on


@dataclass(frozen=True, kw_only=True)
class Dates(Task):
    name = "dates"
    help = Text("Rewrite dates as YYYY-MM-DD.")
    forms = ("pairs", "stream")
    joiner = ""

    first_year: int = option(FIRST_YEAR, 1900)
    last_year: int = option(LAST_YEAR, 2099)
    n_styles: int = option(N_STYLES, len(STYLES))

    def check(self) -> None:
        check_order("first_year", self.first_year, self.last_year)

    @cached_property
    def tokens(self) -> list[str]:
        letters = {c for name in [*MONTHS, *WEEKDAYS] for c in name + name.upper()}
        return [*SPECIAL, *sorted(letters | set("0123456789 ,./-年月日thestndrdof"))]

    @property
    def longest(self) -> int:
        return 28

    def max_tokens(self, form: str) -> int:
        return self.longest + 12 if form == "stream" else self.longest

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        """A date's length follows from its style: `low` and `high` have no effect."""
        first, last = date(self.first_year, 1, 1).toordinal(), date(self.last_year, 12, 31).toordinal()
        days = torch.randint(first, last + 1, (n,), generator=rng).tolist()
        styles = torch.randint(self.n_styles, (n,), generator=rng).tolist()
        dates = [date.fromordinal(day) for day in days]
        texts = [format_date(day, STYLES[style]) for day, style in zip(dates, styles, strict=True)]
        source, lengths = pad_rows([self._ids(text) for text in texts])
        target, target_lengths = pad_rows([self._ids(day.isoformat()) for day in dates])
        return Examples(source, lengths, target, target_lengths)

    def _ids(self, text: str) -> list[int]:
        return list(map(self.ids.__getitem__, text))

    def held_out(self, examples: Examples) -> Tensor:
        """By the date: a date is on the same side of the split in every style."""
        return self.hash_split(examples.target)

    def solve(self, source: list[int]) -> list[int] | None:
        match = match_date("".join(self.show(source)))
        if match is None:
            return None
        month = match["month"]
        number = int(month) if month.isdigit() else 1 + [m[:3].lower() for m in MONTHS].index(month[:3].lower())
        try:
            return self._ids(date(int(match["year"]), number, int(match["day"])).isoformat())
        except ValueError:  # the 30th of February
            return None

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]] | None:
        """Each digit of the year depends on that digit; month and day on all of their characters; a dash on nothing."""
        match = match_date("".join(self.show(source)))
        if match is None:
            return None
        year, month, day = (list(range(*match.span(part))) for part in ("year", "month", "day"))
        return [*([i] for i in year), [], month, month, [], day, day]

    def split(self, text: str) -> list[str]:
        return list(text.strip())


def format_date(day: date, style: str) -> str:
    month, number = MONTHS[day.month - 1], day.day
    ending = "th" if 10 < number < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return style.format(
        year=f"{day.year:04}", month=day.month, month0=f"{day.month:02}", day=number, day0=f"{number:02}",
        Month=month, Mon=month[:3], MONTH=month.upper(), nth=f"{number}{ending}", Weekday=WEEKDAYS[day.weekday()],
    )  # fmt: skip


@lru_cache(maxsize=1)
def style_patterns() -> list[re.Pattern[str]]:
    """A regular expression per style, with the groups year, month and day."""
    names = "|".join([*MONTHS, *(month.upper() for month in MONTHS)])
    parts = {
        "year": r"(?P<year>\d{4})", "month": r"(?P<month>\d{1,2})", "month0": r"(?P<month>\d\d)",
        "day": r"(?P<day>\d{1,2})", "day0": r"(?P<day>\d\d)", "nth": r"(?P<day>\d{1,2})(?:st|nd|rd|th)",
        "Month": f"(?P<month>{names})", "MONTH": f"(?P<month>{names})",
        "Mon": f"(?P<month>{'|'.join(month[:3] for month in MONTHS)})", "Weekday": f"(?:{'|'.join(WEEKDAYS)})",
    }  # fmt: skip
    return [re.compile(style.replace(".", r"\.").format(**parts), re.ASCII) for style in STYLES]


def match_date(text: str) -> re.Match[str] | None:
    return next(filter(None, (pattern.fullmatch(text) for pattern in style_patterns())), None)
