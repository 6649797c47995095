"""A user's files: encodings that are read, and errors for those that cannot be used."""

from __future__ import annotations

import codecs
import random
import zipfile
from io import BytesIO

import pytest

from core.tasks import DataError, custom_task
from core.tasks.custom.files import MAX_BYTES
from tests.words import chinese

LABELS = "text,label\n" + "".join(f"我有 {i} 本书,{'奇' if i % 2 else '偶'}\n" for i in range(40))
NOISE = random.Random(0).randbytes(5_000)


def archive() -> bytes:
    """A spreadsheet, as such programs save by default."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("xl/worksheets/sheet1.xml", "<row/>" * 100)
    return content.getvalue()


def error_message(name: str, data: bytes | None = None) -> str:
    with pytest.raises(DataError) as caught:
        custom_task(name, data)
    assert any("一" <= character <= "鿿" for character in chinese(caught.value))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "encoded",
    [
        codecs.BOM_UTF8 + LABELS.encode(),
        codecs.BOM_UTF16_LE + LABELS.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + LABELS.encode("utf-16-be"),
        LABELS.encode("utf-16"),
        LABELS.encode("utf-32"),
        LABELS.replace("\n", "\r\n").encode(),
        LABELS.replace("\n", "\r").encode(),
    ],
)
def test_encodings_that_say_what_they_are(encoded):
    assert custom_task("a.csv", encoded) == custom_task("a.csv", LABELS.encode())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (LABELS.encode("gb18030"), "line 2: the byte 0xce is not UTF-8. It may be GB18030. Save the file as UTF-8"),
        (LABELS.encode("utf-16-le"), "there is a zero byte: this is not a text file"),
        (LABELS.encode("big5", "replace"), "is not UTF-8"),
        ("text,label\ncafé,a\n".encode("latin-1"), "line 2: the byte 0xe9 is not UTF-8. Save the file as UTF-8"),
        (LABELS.encode() + "书,奇\n".encode("gb18030"), "line 42: the byte 0xca is not UTF-8. Save"),
        (codecs.BOM_UTF16_LE + LABELS.encode("utf-16-le") + b"x", "is not UTF-16. Save the file as UTF-8"),
        (codecs.BOM_UTF8 + LABELS.encode("gb18030"), "is not UTF-8"),
        (b"\x89PNG\r\n\x1a\n" + NOISE, "line 1: the byte 0x89 is not UTF-8"),
        (archive(), "not"),
        (NOISE, "not"),
        (b"\0" * 1000, "line 1: there is a zero byte"),
        (codecs.BOM_UTF8, "the file is empty"),
        (codecs.BOM_UTF16_LE, "the file is empty"),
        (b"text,label\none row,a\n", "1 different example; at least 10 are needed"),
        (b"text,label\n" + b"the same,a\nthe same,b\n" * 50, "1 different example;"),
        (b"text,label\n" + b"".join(b"t%d,only\n" % i for i in range(30)), "every example has the same label"),
        (b"name,age\n" + b"".join(b"t%d,4\n" % i for i in range(30)), "must be named source,target / text,label"),
        (b"text,label\n" + b"".join(b"t%d,4,5\n" % i for i in range(30)), "line 2: it has 3 columns, the first line"),
        (b"tokens,tags\na b c,O O\n", "line 2: 3 tokens, but 2 tags"),
        (b"tokens,tags\n" + b"".join(b"a b%d,O O\n" % i for i in range(30)), "every example has the same label"),
    ],
)  # fmt: skip
def test_what_cannot_be_used(data, message):
    assert message in error_message("a.csv", data)


def test_paths_that_cannot_be_read(tmp_path):
    assert "cannot be read (No such file" in error_message(str(tmp_path / "none.csv"))
    assert "cannot be read (Is a directory)" in error_message(str(tmp_path))
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(100_000_000)  # takes no room
    assert "large.csv: the file has 100.0 MB; at most 20 MB can be used." in error_message(str(large))
    assert "20.0 MB; at most 20 MB" in error_message("a.csv", b"a" * (MAX_BYTES + 1))
