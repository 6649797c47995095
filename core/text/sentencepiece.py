"""Reads a SentencePiece model (Kudo & Richardson 2018), the format of T5's vocabulary, for the `tokenizers` library.

The file is a protocol buffer: fields one after another, each a tag (field number, wire type) and its value. Of
`ModelProto` we need the pieces (field 1: text 1, score 2, kind 3), the trainer's options (2: model type 3, unknown's
id 40) and the normaliser's table (3: 2).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

UNIGRAM = 1
NORMAL, USER_DEFINED, UNUSED, BYTE = 1, 4, 5, 6  # kinds of piece; the other two are control and unknown
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
EXTRA_IDS = 100  # T5's sentinels for the spans it fills in
SPACE = "▁"


def read_sentencepiece(path: Path) -> Tokenizer:
    """T5's tokenizer: a unigram model, `</s>` after every text; behind the vocabulary its sentinels, the last one first."""
    pieces, unknown, table = _read_model(path.read_bytes())
    sentinels = [f"<extra_id_{i}>" for i in reversed(range(EXTRA_IDS))]
    tokenizer = Tokenizer(
        models.Unigram(
            [*((text, score) for text, score, _ in pieces), *((sentinel, 0.0) for sentinel in sentinels)], unknown
        )
    )
    if table:
        tokenizer.normalizer = normalizers.Precompiled(table)
    splitting = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(SPACE, prepend_scheme="always")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splitting)
    tokenizer.decoder = decoders.Metaspace(SPACE, prepend_scheme="always")
    control = [text for text, _, kind in pieces if kind not in (NORMAL, USER_DEFINED, UNUSED, BYTE)]
    tokenizer.add_special_tokens([*control, *sentinels])
    end = tokenizer.token_to_id("</s>")
    if end is not None:
        tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", end)])
    return tokenizer


def _read_model(data: bytes) -> tuple[list[tuple[str, float, int]], int, bytes]:
    """The pieces (text, score, kind), the unknown piece's id, and the normaliser's table."""
    pieces, unknown, model_type, table = [], 0, UNIGRAM, b""
    for field, value in _fields(data):
        if field not in (1, 2, 3):
            continue
        inner = _Message(value)
        if field == 1:
            score = struct.unpack("<f", inner.raw(2, bytes(4)))[0]
            pieces.append((inner.raw(1).decode(), score, inner.integer(3, NORMAL)))
        elif field == 2:
            unknown, model_type = inner.integer(40, 0), inner.integer(3, UNIGRAM)
        else:
            table = inner.raw(2, b"")
    if model_type != UNIGRAM:
        raise ValueError("it is no unigram model")
    return pieces, unknown, table


class _Message:
    """The fields of a nested message; one of another type than expected means that the file is no such model."""

    def __init__(self, data: int | bytes):
        if isinstance(data, int):
            raise ValueError("it is no SentencePiece model")
        self.fields = dict(_fields(data))

    def raw(self, number: int, default: bytes | None = None) -> bytes:
        value = self.fields.get(number, default)
        if not isinstance(value, bytes):
            raise ValueError("it is no SentencePiece model")
        return value

    def integer(self, number: int, default: int) -> int:
        value = self.fields.get(number, default)
        if not isinstance(value, int):
            raise ValueError("it is no SentencePiece model")
        return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field: an integer for a varint, else the bytes of the value."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire_type = tag & 7
        if wire_type == VARINT:
            value, at = _varint(data, at)
        else:
            if wire_type == BYTES:
                size, at = _varint(data, at)
            elif wire_type in (FIXED64, FIXED32):
                size = 8 if wire_type == FIXED64 else 4
            else:
                raise ValueError("it is no SentencePiece model")
            if at + size > len(data):
                raise ValueError("it is cut short")
            value, at = data[at : at + size], at + size
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An integer in base 128, the lowest seven bits first; the eighth bit of a byte says that more follow."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("it is cut short")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
