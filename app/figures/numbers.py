"""Numbers as they are read: a true minus, a dash for a missing one, shares with the language's percent sign.

`fill` understands Python's format marks `,` `.2f` `.0%` `+.2f`, `g` for as many digits as a number of its size needs, and
`p` for a probability: in percent, or `g` where that would be next to nothing;
`static/js/live/expressions.js` writes the same digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

MISSING = "—"
FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")
MARK = re.compile(r"(,?)(?:\.(\d+))?([%fgp]?)")
LEAST_PERCENT = 5e-4  # of a probability that is written in percent
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fill(template: str, values: Mapping[str, Any], language: str = "en") -> str:
    """`"{share:.0%} of {n:,}"` with its values written in."""
    return FIELD.sub(lambda field: write(values[field[1]], field[2] or "", language), template)


def write(value: Any, mark: str = "", language: str = "en") -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if mark.startswith("+") and not isinstance(value, str):
        return ("−" if value < 0 else "+") + write(abs(value), mark[1:], language)
    match = MARK.fullmatch(mark)
    if match is None or isinstance(value, str):
        return str(value)
    comma, digits, kind = match.groups()
    if kind == "%":
        return f"{_share(100 * value, int(digits or 0))}{'' if language == 'zh' else ' '}%"
    if kind == "p":
        return neat(value) if 0 < value < LEAST_PERCENT else write(value, ".1%", language)
    if kind == "g":
        return neat(value)
    if kind == "f" or digits:
        return fixed(value, int(digits or 2))
    return f"{value:,}" if comma else _plain(value)


def fixed(value: float, digits: int) -> str:
    """So many digits behind the point, halves away from zero; no minus before a zero."""
    written = str(Decimal(float(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    return written.replace("-", "−" if re.search("[1-9]", written) else "")


def neat(value: float) -> str:
    """0.4201, 12.30, 2.68 × 10¹⁰"""
    size = abs(value)
    if not math.isfinite(value):
        return "−Infinity" if value < 0 else "Infinity"
    if size and (size < 1e-3 or size >= 1e6):
        power = int(f"{value:e}".split("e")[1])
        power += Decimal(float(size)).scaleb(-power).quantize(Decimal("0.01"), ROUND_HALF_UP) >= 10
        digits = fixed(float(Decimal(float(value)).scaleb(-power)), 2)
        return f"{digits} × 10{str(power).translate(RAISED)}"
    return fixed(value, 1 if size >= 1000 else 2 if size >= 1 else 4)


def _share(percent: float, digits: int) -> str:
    """What is more than nothing is not written as 0."""
    written = fixed(percent, digits)
    least = Decimal(1).scaleb(-digits)
    return f"< {least}" if percent > 0 and Decimal(written) == 0 else written


def _plain(value: Any) -> str:
    """As JavaScript writes a number: 3, not 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
