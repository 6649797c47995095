"""Numbers as they are read: a true minus, a dash for a missing one, shares with the language's percent sign.

`fill` understands Python's format marks `,` `.2f` `.0%`, and `g` for as many digits as a number of its size needs;
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
MARK = re.compile(r"(,?)(?:\.(\d+))?([%fg]?)")
PREFIXES = ("", "k", "M", "G", "T", "P")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fill(template: str, values: Mapping[str, Any], language: str = "en") -> str:
    """`"{share:.0%} of {n:,}"` with its values written in."""
    return FIELD.sub(lambda field: write(values[field[1]], field[2] or "", language), template)


def write(value: Any, mark: str = "", language: str = "en") -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    match = MARK.fullmatch(mark)
    if match is None or isinstance(value, str):
        return str(value)
    comma, digits, kind = match.groups()
    if kind == "%":
        return f"{_share(100 * value, int(digits or 0))}{'' if language == 'zh' else ' '}%"
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


def exact(value: float) -> str:
    """As it was chosen, every digit of it: 50,257, 0.1, 10⁻¹², 2.5 × 10⁻⁴"""
    if value == 0 or abs(value) >= 1e-3:
        return f"{Decimal(int(value)) if value == int(value) else Decimal(str(value)):,f}".replace("-", "−")
    digits, power = f"{Decimal(str(value)):e}".split("e")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    written = f"{digits} × 10{str(int(power)).translate(RAISED)}".replace("-", "−")
    return re.sub(r"^(−?)1 × ", r"\1", written)


def scaled(value: float, unit: str = "") -> str:
    """With a unit: 131 kB, 684 M, 1.05 GB; the space does not break."""
    power = min(len(PREFIXES) - 1, int(math.log10(max(1, value)) + 1e-12) // 3)
    size = value / 1000**power
    digits = str(round(size)) if size >= 100 or size == int(size) else f"{size:#.3g}".rstrip(".")
    name = PREFIXES[power] + unit
    return f"{digits}\u00a0{name}" if name else digits


def _share(percent: float, digits: int) -> str:
    """What is more than nothing is not written as 0."""
    written = fixed(percent, digits)
    least = Decimal(1).scaleb(-digits)
    return f"< {least}" if percent > 0 and Decimal(written) == 0 else written


def _plain(value: Any) -> str:
    """As JavaScript writes a number: 3, not 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
