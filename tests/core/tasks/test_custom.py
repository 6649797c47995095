"""A user's file becomes a task, or a `DataError` says where it goes wrong."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import torch

from core.errors import ConfigError
from core.tasks import DataError, custom_task
from core.tasks.custom.files import MAX_BYTES
from tests.words import chinese

PAIRS = "source,target\n" + "".join(f"number {i},数字 {i}\n" for i in range(40))
LABELS = "label\ttext\n" + "".join(f"{'even' if i % 2 == 0 else 'odd'}\tthe number {i}\n" for i in range(40))
TAGS = "\n".join(json.dumps({"tokens": ["see", f"w{i}", "."], "tags": ["O", "B", "O"]}) for i in range(30))
TEXT = "".join(f"Line {i}: the quick brown fox.\r\n" for i in range(100))
FILES = [("a.csv", PAIRS), ("b.tsv", LABELS), ("c.jsonl", TAGS), ("d.txt", TEXT)]


@pytest.mark.parametrize(("name", "content"), FILES)
def test_a_file_becomes_a_task(name, content):
    task = custom_task(name, content.encode())
    rng = torch.Generator().manual_seed(0)
    training, evaluation = task.gather(500, rng, held_out=False), task.evaluation(200)
    part = "target" if name == "d.txt" else "source"
    training_rows, evaluation_rows = (
        {tuple(row) for row in getattr(examples, part).tolist()} for examples in (training, evaluation)
    )
    assert not training_rows & evaluation_rows
    assert task.held_out(evaluation).all() and not task.held_out(training).any()
    assert len(evaluation_rows) >= 3 and len(training_rows) > 20
    assert 0 < task.chance <= 1 and task.families and task.example(1).answer
    assert task.read("the number 😀 </script> " + "x" * 10_000)


def test_content():
    pairs = custom_task("a.csv", PAIRS.encode())
    example = pairs.example(5)
    assert example.answer == "数字" + example.problem.split()[1]
    labels = custom_task("b.tsv", LABELS.encode())
    assert [str(name) for name in labels.label_names] == ["even", "odd"]
    for seed in range(10):
        example = labels.example(seed)
        assert example.answer == ("odd" if int(example.problem.split()[-1]) % 2 else "even")
    tags = custom_task("c.jsonl", TAGS.encode())
    assert tags.example(0).answer == "O B O"
    text = custom_task("d.txt", TEXT.encode(), context=32)
    assert text.example(0).answer in TEXT.replace("\r\n", "\n")


def test_a_whole_character_may_be_written_as_two_halves():
    lines = "\n".join(json.dumps({"text": f"😀 {i}", "label": i % 2}) for i in range(20))
    assert "\\ud83d" in lines and "😀" in custom_task("a.jsonl", lines.encode()).tokens


@pytest.mark.parametrize("option", ["name", "data", "unit"])
def test_the_error_names_the_bad_option(option):
    with pytest.raises(ConfigError) as caught:
        custom_task("d.txt", TEXT.encode(), **{option: ["word"]})
    assert caught.value.option == option


def test_units_and_vocabulary():
    by_character = custom_task("a.csv", PAIRS.encode(), unit="character")
    assert by_character.example(5).answer.startswith("数字 ")
    assert custom_task("a.csv", PAIRS.encode(), max_vocab=16).vocab_size == 4 + 16
    by_word = custom_task("d.txt", TEXT.encode(), unit="word", context=16)
    assert "quick" in by_word.tokens and by_word.longest == 16


def test_from_a_path(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("\ufeff" + PAIRS, "utf-8")
    assert custom_task(str(path)) == custom_task(path) == custom_task(path.name, bytearray(path.read_bytes()))
    assert custom_task(path).name == "own pairs"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((Path("missing.csv"),), "missing.csv: the file cannot be read"),
        (("a\0.csv",), "cannot be read"),
        ((3,), "named by a text or a path, not by int"),
        ((b"a.csv",), "not by bytes"),
        (("a.csv", PAIRS), "must be bytes, not str"),
        (("a.csv", "utf-8"), "must be bytes, not str"),
        (("a.csv", 3), "must be bytes, not int"),
    ],
)
def test_arguments_of_other_types_are_refused(arguments, says):
    with pytest.raises(DataError) as caught:
        custom_task(*arguments)
    assert says in str(caught.value) and chinese(caught.value) != str(caught.value)


COMMON = " ".join(f"often{i}" for i in range(16))
UNALIKE = [f"{COMMON} {COMMON}", *(f"{chr(97 + i)}{chr(97 + j)}" for i in range(8) for j in range(26))]  # rare words


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "source,target\n" + "".join(f"{words},{COMMON}\n" for words in UNALIKE)),
        ("b.csv", "text,label\n" + "".join(f"{words},{i % 2}\n" for i, words in enumerate(UNALIKE))),
        ("c.csv", "tokens,tags\n" + "".join(f"{words},{' '.join('AB'[i % 2] for _ in words.split())}\n" for i, words in enumerate(UNALIKE))),
        ("d.txt", " ".join(UNALIKE)),
    ],
)  # fmt: skip
def test_examples_that_differ_in_rare_words_only_are_the_same(name, content):
    more = {"unit": "word", "context": 8} if name == "d.txt" else {}
    assert custom_task(name, content.encode(), **more).evaluation(4)
    with pytest.raises(DataError, match=r"different examples.*max_vocab = 16") as caught:
        custom_task(name, content.encode(), max_vocab=16, **more)
    assert "max_vocab = 16" in chinese(caught.value)


def rows(n: int, label: str = "x") -> bytes:
    return b"text,label\n" + "".join(f"text {i},{label}\n" for i in range(n)).encode()


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.csv", b"", "a.csv: the file is empty"),
        ("a.txt", b" \n\n ", "a.txt: the file is empty"),
        ("a.csv", b"one,two\n1,2\n", "line 1: the columns must be named source,target"),
        ("a.csv", "text,label\n一,b\n\nc\n".encode(), "line 4: it has 1 columns, the first line has 2"),
        ("a.csv", b"text,label\nx,\n", "line 2: “label” must be a text"),
        ("a.tsv", b"text\tlabel\n" + b"y" * 200_000 + b"\tx", "line 2: the table cannot be read"),
        ("a.csv", b"text,label\nfine,a\n\xff\xfe,b\n", "line 3: the byte 0xff is not UTF-8"),
        ("a.exe", b"MZ", "use .txt, .csv, .tsv or .jsonl"),
        ("a", b"no ending", "use .txt"),
        ("a.csv", b"a" * (MAX_BYTES + 1), "at most 20 MB"),
        ("a.csv", rows(5), "5 different examples; at least 10"),
        ("a.csv", rows(0), "0 different examples"),
        ("a.csv", rows(30), "every example has the same label, “x”"),
        ("a.csv", b"text,label\n" + b"word " * 600 + b",x\n", "line 2: the example has 600 tokens; from 1 to 512"),
        ("a.jsonl", b'{"tokens": ["a", "b"], "tags": ["O"]}', "line 1: 2 tokens, but 1 tags"),
        ("a.jsonl", b'{"tokens": [], "tags": []}', "line 1: “tokens” must be words"),
        ("a.jsonl", b'{"tokens": [1], "tags": [null]}', "line 1: “tokens” must be words"),
        ("a.jsonl", b'{"text": "a", "label": "b"}\n{"text": "a"}', "line 2: “label” is missing"),
        ("a.jsonl", b'{"text": ["a"], "label": "b"}', "line 1: “text” must be a text"),
        ("a.jsonl", b"[" * 100_000, "line 1: this is not JSON"),
        ("a.jsonl", b'{"text": "a \\ud800", "label": "b"}', "line 1: there is half a character"),
        ("a.csv", b",,,\n,,,\n", "a.csv: every cell of the table is empty"),
        ("a.jsonl", b"\n[1, 2]", "line 2: an object with"),
        ("a.txt", b"short", "has 5 tokens; with context = 64 it needs at least 640"),
        ("a.txt", b"x" * 5000, "1 different example;"),
    ],
)  # fmt: skip
def test_the_error_says_what_is_wrong(name, data, says):
    with pytest.raises(DataError) as caught:
        custom_task(name, data)
    assert says in str(caught.value)
    assert any("一" <= c <= "鿿" for c in chinese(caught.value))
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, DataError) and chinese(again) == chinese(caught.value)
