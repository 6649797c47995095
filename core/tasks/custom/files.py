"""Reading a user's text or table file into records; a `DataError` names the file, the line and the cause."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from core.tasks.base import DataError
from core.translatable import Text, plural_text, verbatim

MAX_BYTES = 20_000_000
MAX_TOKENS = 512  # in one example
MIN_EXAMPLES = 10  # distinct ones; fewer leave nothing to train on or nothing to evaluate
COLUMNS = {"pairs": ("source", "target"), "labels": ("text", "label"), "tags": ("tokens", "tags")}
ENCODINGS = {  # by byte order mark at the beginning of a file; the longer ones first
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
EXPECTED = " / ".join(",".join(pair) for pair in COLUMNS.values())


@dataclass(frozen=True)
class Content:
    """A file's text, and the extension of its name, which says how to parse it."""

    ending: str
    text: str

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.ending}\n{self.text}".encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Record:
    line: int
    first: Any  # source, text or tokens
    second: Any  # target, label or tags


def fail(name: str, line: int | None, why: Text) -> NoReturn:
    name = name[-80:]
    if line is None:
        raise DataError("{file}: {why}", file=name, why=why)
    raise DataError("{file}, line {line}: {why}", file=name, line=line, why=why)


def file_name(path: Any) -> str:
    if not isinstance(path, str | os.PathLike):
        kind = type(path).__name__
        raise DataError("A file is named by a text or a path, not by {kind}.", kind=kind)
    return os.fsdecode(path)


def read_bytes(path: str) -> bytes:
    """A file's bytes; `DataError` if it cannot be read or is too large."""
    try:
        with Path(path).open("rb") as file:
            check_bytes(path, os.fstat(file.fileno()).st_size)
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        why = getattr(error, "strerror", None) or error
        fail(path, None, Text("the file cannot be read ({why}).", why=why))


def check_bytes(name: str, count: int) -> None:
    if count > MAX_BYTES:
        size, most = f"{count / 1e6:.1f} MB", f"{MAX_BYTES // 1_000_000} MB"
        fail(name, None, Text("the file has {size}; at most {most} can be used.", size=size, most=most))


def decode(name: str, data: bytes | bytearray) -> str:
    r"""The file's text, with newlines as \n. UTF-8, or the encoding of its byte order mark; none is guessed."""
    if not isinstance(data, bytes | bytearray):
        kind = type(data).__name__
        fail(
            name,
            None,
            Text(
                "its content must be bytes, not {kind}; use text.encode() for a text, or name only the path.",
                kind=kind,
            ),
        )
    check_bytes(name, len(data))
    encoding = next((known for mark, known in ENCODINGS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        _fail_decoding(name, data, encoding, error.start)
    if "\0" in text:
        fail(
            name,
            text.count("\n", 0, text.index("\0")) + 1,
            Text("there is a zero byte: this is not a text file. Save it as UTF-8 text."),
        )
    if not text.strip():
        fail(name, None, Text("the file is empty."))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _fail_decoding(name: str, data: bytes | bytearray, encoding: str, offset: int) -> NoReturn:
    line = data.count(b"\n", 0, offset) + 1
    byte, encoding_name = f"0x{data[offset]:02x}", encoding.removesuffix("-sig").upper()
    guess = Text(" It may be GB18030.") if _reads_as_chinese(data) else verbatim("")
    fail(
        name,
        line,
        Text(
            "the byte {byte} is not {encoding}.{guess} Save the file as UTF-8 text.",
            byte=byte,
            encoding=encoding_name,
            guess=guess,
        ),
    )


def _reads_as_chinese(data: bytes | bytearray) -> bool:
    """Whether the bytes are GB18030 and all its characters common ones (GB 2312), Chinese ones among them."""
    try:
        text = data.decode("gb18030")
        text.encode("gb2312")
    except UnicodeError:
        return False
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def parse_records(name: str, content: Content) -> tuple[str, list[Record]]:
    """The kind of examples in a table (pairs, labels or tags), and the examples."""
    if content.ending in ("csv", "tsv"):
        return parse_table(name, content.text, "," if content.ending == "csv" else "\t")
    if content.ending in ("jsonl", "ndjson"):
        return parse_json_lines(name, content.text)
    fail(
        name,
        None,
        Text("this kind of file cannot be read; use .txt, .csv, .tsv or .jsonl."),
    )


def parse_table(name: str, text: str, separator: str) -> tuple[str, list[Record]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    records: list[Record] = []
    kind, columns, width = "", (0, 0), 0
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if not kind:
                header, width = [cell.strip().lower() for cell in row], len(row)
                kind = detect_kind(name, reader.line_num, header)
                first, second = COLUMNS[kind]
                columns = header.index(first), header.index(second)
                continue
            if len(row) != width:
                fail(
                    name,
                    reader.line_num,
                    Text("it has {cells} columns, the first line has {width}.", cells=len(row), width=width),
                )
            records.append(Record(reader.line_num, row[columns[0]], row[columns[1]]))
    except csv.Error as error:
        fail(name, reader.line_num, Text("the table cannot be read ({error}).", error=error))
    if not kind:
        fail(name, None, Text("every cell of the table is empty."))
    return kind, records


def parse_json_lines(name: str, text: str) -> tuple[str, list[Record]]:
    records: list[Record] = []
    kind = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            lone_surrogate = "\\u" in line and has_lone_surrogate(value)
        except (ValueError, RecursionError):
            fail(name, number, Text("this is not JSON; each line must be one object."))
        if lone_surrogate:
            fail(
                name,
                number,
                Text("there is half a character, such as \\ud800 alone. Write both halves, or the character itself."),
            )
        if not isinstance(value, dict):
            fail(name, number, Text("an object with {expected} was expected.", expected=EXPECTED))
        kind = kind or detect_kind(name, number, list(value))
        if missing := [column for column in COLUMNS[kind] if column not in value]:
            fail(name, number, Text("“{missing}” is missing.", missing=missing[0]))
        records.append(Record(number, *(value[column] for column in COLUMNS[kind])))
    return kind, records


def has_lone_surrogate(value: Any) -> bool:
    """JSON can contain one half of a surrogate pair, which UTF-8 cannot encode."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def detect_kind(name: str, line: int, columns: list[str]) -> str:
    for kind, required in COLUMNS.items():
        if set(required) <= set(columns):
            return kind
    names = ", ".join(str(column)[:20] for column in columns[:5])
    fail(
        name,
        line,
        Text("the columns must be named {expected}; found: {seen}.", expected=EXPECTED, seen=names),
    )


def as_text(name: str, line: int, column: str, value: Any) -> str:
    """A cell that must not be empty; numbers count as text."""
    if isinstance(value, bool | int | float):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        fail(name, line, Text("“{column}” must be a text that is not empty.", column=column))
    return value.strip()


def as_list(name: str, line: int, column: str, value: Any) -> list[str]:
    """Tokens or tags: a list of texts, or one text with spaces."""
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list) or not value or not all(isinstance(x, str) and x for x in value):
        fail(
            name,
            line,
            Text("“{column}” must be words separated by spaces, or a list of texts, and not empty.", column=column),
        )
    return value


def number_labels(name: str, labels: Iterable[str]) -> dict[str, int]:
    """An id for each distinct label, in alphabetical order."""
    known = sorted(set(labels))
    if len(known) < 2:
        only = known[0][:20]
        fail(name, None, Text("every example has the same label, “{only}”.", only=only))
    return {label: i for i, label in enumerate(known)}


def check_size(name: str, line: int, size: int) -> None:
    if not 0 < size <= MAX_TOKENS:
        fail(
            name,
            line,
            Text(
                "the example has {size} tokens; from 1 to {max_tokens} can be used.", size=size, max_tokens=MAX_TOKENS
            ),
        )


def check_count(name: str, different: int, max_vocab: int | None = None) -> None:
    """`DataError` if there are too few distinct examples; with `max_vocab`, because rarer words became the same token."""
    if different < MIN_EXAMPLES:
        counted = plural_text(
            "there is only {n} different example; at least {most} are needed.",
            "there are {n} different examples; at least {most} are needed.",
            n=different,
            most=MIN_EXAMPLES,
        )
        if max_vocab is None:
            fail(name, None, counted)
        fail(
            name,
            None,
            Text(
                "{counted} With max_vocab = {max_vocab} the rarer words all look alike; use a greater one.",
                counted=counted,
                max_vocab=max_vocab,
            ),
        )


def without_text(recipe: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """A recipe's dictionary without the text of its task's file; and that text (None: it has no file)."""
    file = recipe["task"].get("file")
    if file is None:
        return recipe, None
    without = {name: value for name, value in file.items() if name != "text"}
    return {**recipe, "task": {**recipe["task"], "file": without}}, file["text"]


def with_text(recipe: dict[str, Any], text: str) -> dict[str, Any]:
    """The inverse of `without_text`."""
    return {**recipe, "task": {**recipe["task"], "file": {**recipe["task"]["file"], "text": text}}}
