"""Reading somebody's file: what is in it, or in one sentence where it goes wrong and what was expected."""

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

MAX_BYTES = 20_000_000
MAX_TOKENS = 512  # in one example
MIN_EXAMPLES = 10  # different ones; fewer leave nothing to train on or nothing to test with
COLUMNS = {"pairs": ("source", "target"), "labels": ("text", "label"), "tags": ("tokens", "tags")}
MARKS = {  # what a file may begin with to say how it is written; the longer ones first
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
EXPECTED = " / ".join(",".join(pair) for pair in COLUMNS.values())


@dataclass(frozen=True)
class Content:
    """What was in a file: the end of its name, which says how to read it, and its text."""

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


def fail(name: str, line: int | None, en: str, zh: str) -> NoReturn:
    name = name[-80:]
    if line is None:
        raise DataError(f"{name}: {en}", f"{name}：{zh}")
    raise DataError(f"{name}, line {line}: {en}", f"{name} 第 {line} 行：{zh}")


def file_name(given: Any) -> str:
    if not isinstance(given, str | os.PathLike):
        kind = type(given).__name__
        raise DataError(
            f"A file is named by a text or a path, not by {kind}.", f"文件名须为文本或路径，而不是 {kind}。"
        )
    return os.fsdecode(given)


def read(path: str) -> bytes:
    """A file's bytes, if it can be read at all and is not too large."""
    try:
        with Path(path).open("rb") as file:
            check_bytes(path, os.fstat(file.fileno()).st_size)
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # a name with a zero in it is no OSError
        why = getattr(error, "strerror", None) or error
        fail(path, None, f"the file cannot be read ({why}).", f"无法读取文件（{why}）。")


def check_bytes(name: str, count: int) -> None:
    if count > MAX_BYTES:
        size, most = f"{count / 1e6:.1f} MB", f"{MAX_BYTES // 1_000_000} MB"
        fail(name, None, f"the file has {size}; at most {most} can be used.", f"文件大小为 {size}，最多 {most}。")


def decode(name: str, data: bytes) -> str:
    """The file's text, with newlines as \\n. UTF-8, or what its first bytes say; nothing is guessed."""
    if not isinstance(data, bytes | bytearray):
        kind = type(data).__name__
        fail(
            name,
            None,
            f"its content must be bytes, not {kind}; use text.encode() for a text, or name only the path.",
            f"内容须为 bytes，而不是 {kind}；文本请用 text.encode()，或只给出路径。",
        )
    check_bytes(name, len(data))
    encoding = next((known for mark, known in MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        _not_decoded(name, data, encoding, error.start)
    if "\0" in text:
        fail(
            name,
            text.count("\n", 0, text.index("\0")) + 1,
            "there is a zero byte: this is not a text file. Save it as UTF-8 text.",
            "含有零字节：这不是文本文件。请将其另存为 UTF-8 文本。",
        )
    if not text.strip():
        fail(name, None, "the file is empty.", "文件为空。")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _not_decoded(name: str, data: bytes, encoding: str, place: int) -> NoReturn:
    line = data.count(b"\n", 0, place) + 1
    byte, called = f"0x{data[place]:02x}", encoding.removesuffix("-sig").upper()
    alike_en, alike_zh = (" It may be GB18030.", "它可能是 GB18030。") if _reads_as_chinese(data) else ("", "")
    fail(
        name,
        line,
        f"the byte {byte} is not {called}.{alike_en} Save the file as UTF-8 text.",
        f"字节 {byte} 不是 {called}。{alike_zh}请将文件另存为 UTF-8 文本。",
    )


def _reads_as_chinese(data: bytes) -> bool:
    """Read as GB18030, is all of it that is not ASCII among the characters in common use?"""
    try:
        text = data.decode("gb18030")
        text.encode("gb2312")
    except UnicodeError:
        return False
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def records(name: str, content: Content) -> tuple[str, list[Record]]:
    """The kind of examples in a table (pairs, labels or tags), and the examples."""
    if content.ending in ("csv", "tsv"):
        return from_table(name, content.text, "," if content.ending == "csv" else "\t")
    if content.ending in ("jsonl", "ndjson"):
        return from_json(name, content.text)
    fail(
        name,
        None,
        "this kind of file cannot be read; use .txt, .csv, .tsv or .jsonl.",
        "无法读取这种文件；请用 .txt、.csv、.tsv 或 .jsonl。",
    )


def from_table(name: str, text: str, separator: str) -> tuple[str, list[Record]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    found: list[Record] = []
    kind, places, width = "", (0, 0), 0
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if not kind:
                header, width = [cell.strip().lower() for cell in row], len(row)
                kind = which_kind(name, reader.line_num, header)
                places = tuple(header.index(column) for column in COLUMNS[kind])
                continue
            if len(row) != width:
                fail(
                    name,
                    reader.line_num,
                    f"it has {len(row)} columns, the first line has {width}.",
                    f"有 {len(row)} 列，而首行有 {width} 列。",
                )
            found.append(Record(reader.line_num, row[places[0]], row[places[1]]))
    except csv.Error as error:
        fail(name, reader.line_num, f"the table cannot be read ({error}).", f"无法读取表格（{error}）。")
    if not kind:
        fail(name, None, "every cell of the table is empty.", "表格的每一格都是空的。")
    return kind, found


def from_json(name: str, text: str) -> tuple[str, list[Record]]:
    found: list[Record] = []
    kind = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            halved = "\\u" in line and holds_half_character(value)
        except (ValueError, RecursionError):
            fail(name, number, "this is not JSON; each line must be one object.", "不是 JSON；每行须是一个对象。")
        if halved:
            fail(
                name,
                number,
                "there is half a character, such as \\ud800 alone. Write both halves, or the character itself.",
                "含有半个字符，例如单独的 \\ud800。请写出两半，或直接写该字符。",
            )
        if not isinstance(value, dict):
            fail(name, number, f"an object with {EXPECTED} was expected.", f"应为含有 {EXPECTED} 的对象。")
        kind = kind or which_kind(name, number, list(value))
        if missing := [column for column in COLUMNS[kind] if column not in value]:
            fail(name, number, f"“{missing[0]}” is missing.", f"缺少“{missing[0]}”。")
        found.append(Record(number, *(value[column] for column in COLUMNS[kind])))
    return kind, found


def holds_half_character(value: Any) -> bool:
    """JSON can name one half of a surrogate pair, which no encoding can write."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def which_kind(name: str, line: int, columns: list[str]) -> str:
    for kind, wanted in COLUMNS.items():
        if set(wanted) <= set(columns):
            return kind
    seen = ", ".join(str(column)[:20] for column in columns[:5])
    fail(
        name,
        line,
        f"the columns must be named {EXPECTED}; found: {seen}.",
        f"列名须为 {EXPECTED}；实际为：{seen}。",
    )


def as_text(name: str, line: int, column: str, value: Any) -> str:
    """A cell that must hold something; numbers count as text."""
    if isinstance(value, bool | int | float):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        fail(name, line, f"“{column}” must be a text that is not empty.", f"“{column}”须为非空文本。")
    return value.strip()


def as_list(name: str, line: int, column: str, value: Any) -> list[str]:
    """Tokens or tags: a list of texts, or one text with spaces."""
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list) or not value or not all(isinstance(x, str) and x for x in value):
        fail(
            name,
            line,
            f"“{column}” must be words separated by spaces, or a list of texts, and not empty.",
            f"“{column}”须为以空格分隔的词或文本列表，且不能为空。",
        )
    return value


def numbered(name: str, labels: Iterable[str]) -> dict[str, int]:
    known = sorted(set(labels))
    if len(known) < 2:
        only = known[0][:20]
        fail(name, None, f"every example has the same label, “{only}”.", f"所有样本的标签都是“{only}”。")
    return {label: i for i, label in enumerate(known)}


def check_size(name: str, line: int, size: int) -> None:
    if not 0 < size <= MAX_TOKENS:
        fail(
            name,
            line,
            f"the example has {size} tokens; from 1 to {MAX_TOKENS} can be used.",
            f"样本有 {size} 个词元；可用范围为 1 到 {MAX_TOKENS}。",
        )


def check_count(name: str, different: int, max_vocab: int | None = None) -> None:
    """How many examples can be told apart; with `max_vocab`, where rarer words all look alike."""
    if different < MIN_EXAMPLES:
        alike_en, alike_zh = "", ""
        if max_vocab is not None:
            alike_en = f" With max_vocab = {max_vocab} the rarer words all look alike; use a greater one."
            alike_zh = f"max_vocab = {max_vocab} 时，较少见的词都不再区分；请用更大的值。"
        fail(
            name,
            None,
            f"there are {different} different examples; at least {MIN_EXAMPLES} are needed.{alike_en}",
            f"只有 {different} 个不同的样本；至少需要 {MIN_EXAMPLES} 个。{alike_zh}",
        )


def without_text(recipe: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """What a recipe tells of itself, and the text of its task's file apart (None: it has no file)."""
    file = recipe["task"].get("file")
    if file is None:
        return recipe, None
    short = {name: value for name, value in file.items() if name != "text"}
    return {**recipe, "task": {**recipe["task"], "file": short}}, file["text"]


def with_text(recipe: dict[str, Any], text: str) -> dict[str, Any]:
    return {**recipe, "task": {**recipe["task"], "file": {**recipe["task"]["file"], "text": text}}}
