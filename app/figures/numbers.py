"""Numbers as they are read: a true minus, a dash for a missing one, shares with the language's percent sign.

`fill` understands Python's format marks `,` `.2f` `.0%` `.3g` `#.3g` (with zeros at its end) `+` `5.1f` (so many places wide),
and three of its own: `g` for as many digits as a number of its size needs, `r` for all, `p` for probabilities, however
small. `static/js/live/expressions.js` writes the same digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

MISSING = "—"
SPACE = "\u00a0"
FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")
MARK = re.compile(r"(\+?)(\d*)(,?)(#?)(?:\.(\d+))?([%fgrp]?)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LEAST_PERCENT = 5e-4  # a probability below this is written as a power of ten
PREFIXES = ("", "k", "M", "G", "T", "P")


def fill(template: str, values: Mapping[str, Any], language: str = "en") -> str:
    """`"{share:.0%} of {n:,}"` with its values written in."""
    return FIELD.sub(lambda field: write(values[field[1]], field[2] or "", language), template)


def write(value: Any, mark: str = "", language: str = "en") -> str:
    match = MARK.fullmatch(mark)
    plus, width, comma, zeros, digits, kind = match.groups() if match else ("", "", "", "", None, "")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        written = MISSING
    elif isinstance(value, str) or match is None:
        written = str(value)
    else:
        signed = "+" if plus and (value > 0 or (value == 0 and digits)) else ""
        written = signed + _number(value, comma, zeros, digits, kind, language)
    return written.rjust(int(width or 0), SPACE)


def _number(value: float, comma: str, zeros: str, digits: str | None, kind: str, language: str) -> str:
    if kind == "%":
        return f"{_share(100 * value, int(digits or 0))}{'' if language == 'zh' else ' '}%"
    if kind == "p":
        return neat(value) if 0 < value < LEAST_PERCENT else write(value, ".1%", language)
    if kind == "g":
        if digits is None:
            return neat(value)
        return significant(value, int(digits)) if zeros else brief(value, int(digits))
    if kind == "r":
        return all_digits(value)
    if kind == "f" or digits:
        return fixed(value, int(digits or 2), comma)
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return f"{whole:,}".replace("-", "−") if comma else str(whole).replace("-", "−")


def fixed(value: float, digits: int, comma: str = "") -> str:
    """So many digits behind the point, halves away from zero; no minus before a zero."""
    written = format(Decimal(float(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP), comma)
    return written.replace("-", "−" if re.search("[1-9]", written) else "")


def neat(value: float) -> str:
    """0.4201, 12.30, 2.68 × 10¹⁰"""
    if not math.isfinite(value):
        return "−Infinity" if value < 0 else "Infinity"
    size = abs(value)
    return power_of_ten(value, 2) if _extreme(value) else fixed(value, 1 if size >= 1000 else 2 if size >= 1 else 4)


def significant(value: float, digits: int) -> str:
    """So many digits that count: 1.1, 177, 3.0 × 10⁻⁷"""
    if not value or not math.isfinite(value):
        return neat(value) if value else "0"
    if _extreme(value):
        return power_of_ten(value, digits - 1)
    return fixed(value, max(0, digits - 1 - int(f"{value:.{digits - 1}e}".split("e")[1])))


def brief(value: float, digits: int) -> str:
    """At most so many digits that count: 0.637, 2, 1.46 × 10⁻⁴"""
    if _extreme(value):
        return power_of_ten(value, digits - 1)
    return _plain(float(f"{value:.{digits}g}")).replace("-", "−")


def all_digits(value: float) -> str:
    if not _extreme(value):
        return _plain(value).replace("-", "−")
    digits, power = f"{Decimal(repr(value)).normalize():e}".split("e")
    return f"{digits.replace('-', '−')} × 10{str(int(power)).translate(RAISED)}"


def exact(value: float) -> str:
    """As it was chosen, every digit of it: 50,257, 0.1, 10⁻¹², 2.5 × 10⁻⁴"""
    if value == 0 or abs(value) >= 1e-3:
        return f"{Decimal(int(value)) if value == int(value) else Decimal(str(value)):,f}".replace("-", "−")
    return re.sub(r"^(−?)1 × ", r"\1", all_digits(value))


def scaled(value: float, unit: str = "") -> str:
    """With a unit: 131 kB, 684 M, 1.05 GB; the space does not break."""
    power = min(len(PREFIXES) - 1, int(math.log10(max(1, value)) + 1e-12) // 3)
    size = value / 1000**power
    digits = str(round(size)) if size >= 100 or size == int(size) else f"{size:#.3g}".rstrip(".")
    name = PREFIXES[power] + unit
    return f"{digits}{SPACE}{name}" if name else digits


def power_of_ten(value: float, digits: int) -> str:
    """2.68 × 10¹⁰"""
    power = int(f"{value:e}".split("e")[1])
    power += Decimal(float(abs(value))).scaleb(-power).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP) >= 10
    return f"{fixed(float(Decimal(float(value)).scaleb(-power)), digits)} × 10{str(power).translate(RAISED)}"


def _extreme(value: float) -> bool:
    return value != 0 and not 1e-3 <= abs(value) < 1e6


def _share(percent: float, digits: int) -> str:
    """What is more than nothing is not written as 0."""
    written = fixed(percent, digits)
    least = Decimal(1).scaleb(-digits)
    return f"< {least}" if percent > 0 and Decimal(written) == 0 else written


def _plain(value: Any) -> str:
    """As JavaScript writes a number: 3, not 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
