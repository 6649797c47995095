"""A SentencePiece model (Kudo & Richardson 2018), as T5 brings it, for the `tokenizers` library.

The file is a protocol buffer: fields one after another, each a number (which field, which kind) and its value. Of
`ModelProto` we need the pieces (field 1: text 1, score 2, kind 3), the trainer's facts (2: model type 3, unknown's
id 40) and the normaliser's table (3: 2).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

UNIGRAM = 1
NORMAL, USER_DEFINED, UNUSED, BYTE = 1, 4, 5, 6  # kinds of piece; the others are control and unknown
EXTRA_IDS = 100  # T5's sentinels for the spans it fills in
SPACE = "▁"


def read_sentencepiece(path: Path) -> Tokenizer:
    """T5's tokenizer: the likeliest pieces, then `</s>`; behind the vocabulary its sentinels, the last one first."""
    pieces, unknown, table = _parts(path.read_bytes())
    extra = [f"<extra_id_{i}>" for i in reversed(range(EXTRA_IDS))]
    tokenizer = Tokenizer(
        models.Unigram([*((text, score) for text, score, _ in pieces), *((e, 0.0) for e in extra)], unknown)
    )
    if table:
        tokenizer.normalizer = normalizers.Precompiled(table)
    words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(SPACE, prepend_scheme="always")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(words)
    tokenizer.decoder = decoders.Metaspace(SPACE, prepend_scheme="always")
    control = [text for text, _, kind in pieces if kind not in (NORMAL, USER_DEFINED, UNUSED, BYTE)]
    tokenizer.add_special_tokens([*control, *extra])
    end = tokenizer.token_to_id("</s>")
    if end is not None:
        tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", end)])
    return tokenizer


def _parts(data: bytes) -> tuple[list[tuple[str, float, int]], int, bytes]:
    pieces, unknown, kind, table = [], 0, UNIGRAM, b""
    for field, value in _fields(data):
        if field == 1:
            inner = dict(_fields(value))
            score = struct.unpack("<f", inner.get(2, bytes(4)))[0]
            pieces.append((inner[1].decode(), score, inner.get(3, NORMAL)))
        elif field == 2:
            inner = dict(_fields(value))
            unknown, kind = inner.get(40, 0), inner.get(3, UNIGRAM)
        elif field == 3:
            table = dict(_fields(value)).get(2, b"")
    if kind != UNIGRAM:
        raise ValueError("it is no unigram model")
    return pieces, unknown, table


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field: a whole number, or the bytes of anything else."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
        else:
            if kind == 2:
                size, at = _varint(data, at)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:
                raise ValueError("it is no SentencePiece model")
            if at + size > len(data):
                raise ValueError("it is cut short")
            value, at = data[at : at + size], at + size
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Seven bits per byte, the lowest first; the eighth says that more follow."""
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
