"""Numbers as they are read: a true minus, a dash for a missing one, shares with the language's percent sign.

`fill` understands Python's format marks `,` `.2f` `.0%` `.3g` `+.2f` `5.1f` (so many places wide), `g` for as many digits
as a number of its size needs, `r` for all;
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
SIGN_AND_WIDTH = re.compile(r"(\+?)(\d*)(.*)")
SPACE = "\u00a0"
MARK = re.compile(r"(,?)(?:\.(\d+))?([%fgr]?)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fill(template: str, values: Mapping[str, Any], language: str = "en") -> str:
    """`"{share:.0%} of {n:,}"` with its values written in."""
    return FIELD.sub(lambda field: write(values[field[1]], field[2] or "", language), template)


def write(value: Any, mark: str = "", language: str = "en") -> str:
    plus, width, rest = SIGN_AND_WIDTH.fullmatch(mark).groups()  # type: ignore[union-attr]
    if plus or width:
        sign = "+" if plus and isinstance(value, int | float) and value >= 0 else ""
        return (sign + write(value, rest, language)).rjust(int(width or 0), SPACE)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    match = MARK.fullmatch(mark)
    if match is None or isinstance(value, str):
        return str(value)
    comma, digits, kind = match.groups()
    if kind == "%":
        return f"{_share(100 * value, int(digits or 0))}{'' if language == 'zh' else ' '}%"
    if kind == "g":
        return brief(value, int(digits)) if digits else neat(value)
    if kind == "r":
        return exact(value)
    if kind == "f" or digits:
        return fixed(value, int(digits or 2), comma)
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return f"{whole:,}" if comma else str(whole)


def fixed(value: float, digits: int, comma: str = "") -> str:
    """So many digits behind the point, halves away from zero; no minus before a zero."""
    written = format(Decimal(float(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP), comma)
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


def brief(value: float, digits: int) -> str:
    """So many digits that count: 0.637, 1.46 × 10⁻⁴"""
    if _extreme(value):
        return _power(f"{value:.{digits - 1}e}")
    return _plain(float(f"{value:.{digits}g}")).replace("-", "−")


def exact(value: float) -> str:
    """All digits there are."""
    return _power(f"{Decimal(repr(value)).normalize():e}") if _extreme(value) else _plain(value).replace("-", "−")


def _extreme(value: float) -> bool:
    return value != 0 and not 1e-3 <= abs(value) < 1e6


def _power(written: str) -> str:
    digits, power = written.split("e")
    return f"{digits.replace('-', '−')} × 10{str(int(power)).translate(RAISED)}"


def _share(percent: float, digits: int) -> str:
    """What is more than nothing is not written as 0."""
    written = fixed(percent, digits)
    least = Decimal(1).scaleb(-digits)
    return f"< {least}" if percent > 0 and Decimal(written) == 0 else written


def _plain(value: Any) -> str:
    """As JavaScript writes a number: 3, not 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
