"""Binary format in which arrays go to the browser: a JSON header, then the bytes of the arrays.

    4 bytes: length of the header | header (JSON, padded with spaces to 8 bytes) | array | array | …

The header's "arrays" lists each one's name, type ("f4", "u2"), shape and offset, and what 1 stands for where that is not 1
("unit": 1/65535 for shares that travel as whole numbers). JSON has no NaN and no infinity: such numbers are null in the header. `static/js/payload.js` reads it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Parts = tuple[dict[str, Any], dict[str, np.ndarray]]  # header and arrays, the arguments of `pack`
ALIGNMENT = 8  # bytes: typed arrays in the browser begin at multiples of their element's size


def pack(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], units: Mapping[str, float] | None = None
) -> bytes:
    entries, parts, offset = [], [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        entry = {"name": name, "type": array.dtype.str[1:], "shape": array.shape, "offset": offset}
        entries.append(entry | ({"unit": units[name]} if units and name in units else {}))
        padding = -array.nbytes % ALIGNMENT
        parts += [array.tobytes(), bytes(padding)]
        offset += array.nbytes + padding
    head = to_json({**header, "arrays": entries}).encode()
    head += b" " * (-(4 + len(head)) % ALIGNMENT)
    return b"".join([len(head).to_bytes(4, "little"), head, *parts])


def to_json(header: Mapping[str, Any]) -> str:
    """Strict JSON, NaN and infinities as null; only headers that have some are searched for them."""
    try:
        return json.dumps(header, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(header), ensure_ascii=False, allow_nan=False)


def _finite(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {name: _finite(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_finite(value) for value in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part


def unpack(data: bytes) -> Parts:
    """The inverse of `pack`: header and arrays."""
    start = 4 + int.from_bytes(data[:4], "little")
    header = json.loads(data[4:start])
    arrays = {}
    for entry in header.pop("arrays"):
        count = int(np.prod(entry["shape"]))
        array = np.frombuffer(data, np.dtype(f"<{entry['type']}"), count, start + entry["offset"])
        arrays[entry["name"]] = array.reshape(entry["shape"])
    return header, arrays
