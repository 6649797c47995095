"""The header of a safetensors file, checked against the file's size before any weight is read.

The file is an eight-byte length, a JSON header of that length (name → dtype, shape, data_offsets) and the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.pretrained.checkpoint_folder import parse_json
from core.pretrained.errors import PretrainedError

MAX_HEADER_BYTES = 16 * 1024**2
MAX_AXES = 8  # of a tensor
DTYPE_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1,
    "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}  # fmt: skip


@dataclass(frozen=True)
class TensorHeader:
    """The entry of one tensor in a header."""

    file: str
    dtype: str
    shape: tuple[int, ...]


def read_header(path: Path, file: str) -> dict[str, TensorHeader]:
    size = path.stat().st_size
    with path.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if size < 8 or length > min(size - 8, MAX_HEADER_BYTES):
            raise PretrainedError(
                "{file} is cut short or no safetensors file: its header would have {length:,} bytes, the "
                "whole file has {size:,}.",
                file=file,
                length=length,
                size=size,
            )
        header = parse_json(opened.read(length), file)
    header.pop("__metadata__", None)
    return parse_header(header, file, size - 8 - length)


def parse_header(header: Mapping[str, Any], file: str, size: int) -> dict[str, TensorHeader]:
    """The entries of a header; refused unless they fill the `size` bytes behind it without gaps or overlaps."""
    tensors: dict[str, TensorHeader] = {}
    spans: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        match entry:
            case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [begin, end]} if (
                dtype in DTYPE_BYTES and len(shape) <= MAX_AXES and all(map(_is_size, [*shape, begin, end]))
            ):
                pass
            case _:
                raise PretrainedError(
                    "{file} does not say clearly what {name} is: {told}.",
                    file=file,
                    name=name,
                    told=str(entry)[:100],
                )
        if end - begin != math.prod(shape) * DTYPE_BYTES[dtype]:
            raise PretrainedError(
                "{name} in {file} should take {needed:,} bytes for its shape {shape}, but has {n_bytes:,}.",
                name=name,
                file=file,
                needed=math.prod(shape) * DTYPE_BYTES[dtype],
                shape=tuple(shape),
                n_bytes=end - begin,
            )
        spans.append((begin, end, name))
        tensors[name] = TensorHeader(file, dtype, tuple(shape))
    at = 0
    for begin, end, name in sorted(spans):
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
    return tensors


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**48
