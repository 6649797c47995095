"""Arrays to the browser: one JSON header and the bytes behind it, sent once, moved about in the page.

    4 bytes: length of the header | header (JSON, padded with spaces to 8 bytes) | array | array | …

The header's "arrays" tell each one's name, type ("f4", "u1"), shape and offset; a number that is not finite is null there.
`static/js/payload.js` reads it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

ALIGNED = 8


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    listed, parts, offset = [], [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        listed.append({"name": name, "type": array.dtype.str[1:], "shape": array.shape, "offset": offset})
        padding = -array.nbytes % ALIGNED
        parts += [array.tobytes(), bytes(padding)]
        offset += array.nbytes + padding
    head = written({**header, "arrays": listed}).encode()
    head += b" " * (-(4 + len(head)) % ALIGNED)
    return b"".join([len(head).to_bytes(4, "little"), head, *parts])


def written(header: Mapping[str, Any]) -> str:
    """As JSON the browser can read: what is no number, or infinite, as null. Few headers need it, so most are not searched."""
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


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The inverse, for whoever reads a payload outside the browser."""
    start = 4 + int.from_bytes(data[:4], "little")
    header = json.loads(data[4:start])
    arrays = {}
    for one in header.pop("arrays"):
        count = int(np.prod(one["shape"]))
        array = np.frombuffer(data, np.dtype(f"<{one['type']}"), count, start + one["offset"])
        arrays[one["name"]] = array.reshape(one["shape"])
    return header, arrays
