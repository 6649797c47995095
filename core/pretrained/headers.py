"""What a safetensors file says it holds, checked against the file before any weight is read.

The file is an eight-byte length, a JSON header of that length (name → dtype, shape, place) and the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.pretrained.errors import PretrainedError
from core.pretrained.folder import parse

MOST_HEADER = 16 * 1024**2  # bytes
MOST_AXES = 8  # of a tensor
BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1,
    "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Stored:
    """A tensor as the header tells of it."""

    file: str
    dtype: str
    shape: tuple[int, ...]


def read_header(path: Path, file: str) -> dict[str, Stored]:
    size = path.stat().st_size
    with path.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if size < 8 or length > min(size - 8, MOST_HEADER):
            raise PretrainedError(
                "{file} is cut short or no safetensors file: its header would have {length:,} bytes, the "
                "whole file has {size:,}.",
                file=file,
                length=length,
                size=size,
            )
        header = parse(opened.read(length), file)
    header.pop("__metadata__", None)
    return stored(header, file, size - 8 - length)


def stored(header: Mapping[str, Any], file: str, size: int) -> dict[str, Stored]:
    """The header's entries; they must fill the `size` bytes behind it without gaps or overlaps."""
    found: dict[str, Stored] = {}
    places = []
    for name, facts in header.items():
        match facts:
            case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [begin, end]} if (
                dtype in BYTES and len(shape) <= MOST_AXES and all(map(_is_size, [*shape, begin, end]))
            ):
                pass
            case _:
                told = str(facts)[:100]
                raise PretrainedError(
                    "{file} does not say clearly what {name} is: {told}.", file=file, name=name, told=told
                )
        if end - begin != math.prod(shape) * BYTES[dtype]:
            raise PretrainedError(
                "{name} in {file} should take {needed:,} bytes for its shape {shape}, but has {n_bytes:,}.",
                name=name,
                file=file,
                needed=math.prod(shape) * BYTES[dtype],
                shape=tuple(shape),
                n_bytes=end - begin,
            )
        places.append((begin, end, name))
        found[name] = Stored(file, dtype, tuple(shape))
    at = 0
    for begin, end, name in sorted(places):
        if begin != at:
            raise PretrainedError(
                "{name} in {file} begins at byte {begin:,}, but {at:,} comes next.",
                name=name,
                file=file,
                begin=begin,
                at=at,
            )
        at = end
    if at != size:
        raise PretrainedError(
            "{file} is cut short or too long: its weights need {at:,} bytes, and there are {size:,}.",
            file=file,
            at=at,
            size=size,
        )
    return found


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**48
