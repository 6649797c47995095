"""Reading somebody's file: what is in it, or in one sentence where it goes wrong and what was expected."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any, NoReturn

from core.tasks.base import DataError

MAX_BYTES = 20_000_000
MIN_EXAMPLES = 10  # different ones; fewer leave nothing to train on or nothing to test with
COLUMNS = {"pairs": ("source", "target"), "labels": ("text", "label"), "tags": ("tokens", "tags")}
EXPECTED = " / ".join(",".join(pair) for pair in COLUMNS.values())


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


def decode(name: str, data: bytes) -> str:
    """The file's text, with newlines as \\n."""
    if len(data) > MAX_BYTES:
        size, most = f"{len(data) / 1e6:.1f} MB", f"{MAX_BYTES // 1_000_000} MB"
        fail(name, None, f"the file has {size}; at most {most} can be used.", f"文件大小为 {size}，最多 {most}。")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"0x{data[error.start]:02x}"
        fail(
            name,
            line,
            f"the byte {byte} is not UTF-8. Save the file as UTF-8 text.",
            f"字节 {byte} 不是 UTF-8。请将文件另存为 UTF-8 文本。",
        )
    if not text.strip():
        fail(name, None, "the file is empty.", "文件为空。")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def records(name: str, data: bytes) -> tuple[str, list[Record]]:
    """The kind of examples in a table (pairs, labels or tags), and the examples."""
    text = decode(name, data)
    ending = name.lower().rpartition(".")[2]
    if ending in ("csv", "tsv"):
        return from_table(name, text, "," if ending == "csv" else "\t")
    if ending in ("jsonl", "ndjson"):
        return from_json(name, text)
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
    return kind, found


def from_json(name: str, text: str) -> tuple[str, list[Record]]:
    found: list[Record] = []
    kind = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            fail(name, number, "this is not JSON; each line must be one object.", "不是 JSON；每行须是一个对象。")
        if not isinstance(value, dict):
            fail(name, number, f"an object with {EXPECTED} was expected.", f"应为含有 {EXPECTED} 的对象。")
        kind = kind or which_kind(name, number, list(value))
        if missing := [column for column in COLUMNS[kind] if column not in value]:
            fail(name, number, f"“{missing[0]}” is missing.", f"缺少“{missing[0]}”。")
        found.append(Record(number, *(value[column] for column in COLUMNS[kind])))
    return kind, found


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
