"""Tokenizers: texts come back, tokens can be read, files are those of transformers' own classes."""

from __future__ import annotations

import json

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

import core
from core.text import KINDS, SPECIAL, load_tokenizer, shown_bytes, train_tokenizer

TEXTS = [
    "The small cat sees the old dog.",
    "Yesterday my sister bought three books in Beijing.",
    "她昨天在北京买了三本书。",
    "An emoji 🙂 and a résumé.",
] * 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_of_known_parts_comes_back(kind):
    tokenizer = train_tokenizer(kind, TEXTS, 600)
    for text in TEXTS[:4]:
        ids = tokenizer.encode(text)
        assert max(ids) < tokenizer.vocab_size
        back = tokenizer.decode(ids)
        if kind in ("words", "wordpiece"):  # they do not remember where spaces were
            back, text = back.replace(" ", ""), text.replace(" ", "")
        assert back == text


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_bytes_know_every_text(text):
    tokenizer = bytes_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert not any(shown == "" for shown in tokenizer.show(tokenizer.encode(text)))


def bytes_tokenizer(made={}):  # noqa: B006  trained once for all examples
    return made.setdefault("it", train_tokenizer("bytes", TEXTS, 400))


def test_bytes_are_shown_as_text_or_as_bytes_of_a_part():
    tokenizer = train_tokenizer("bytes", ["the cat"], 300)
    assert "".join(tokenizer.show(tokenizer.encode("the cat"))) == "the␣cat"
    shown = tokenizer.show(tokenizer.encode("猫"))
    assert "".join(shown) == "⟨E7⟩⟨8C⟩⟨AB⟩"  # the three bytes of 猫
    for byte in range(256):  # the library's alphabet, byte by byte
        piece = "".join(tokenizer.show([tokenizer.id_of(c) for c in alphabet_of(byte)]))
        assert piece == (bytes([byte]).decode().replace(" ", "␣") if byte < 128 else f"⟨{byte:02X}⟩")


def alphabet_of(byte: int) -> str:
    return next(c for c, b in core.text.BYTE_OF.items() if b == byte)


def test_the_byte_alphabet_is_the_librarys():
    from tokenizers.pre_tokenizers import ByteLevel

    assert set(core.text.BYTE_OF) == set(ByteLevel.alphabet())
    assert shown_bytes("Ġcat") == "␣cat"


def test_wordpiece_frames_one_text_and_two():
    tokenizer = train_tokenizer("wordpiece", TEXTS, 400, lower=True)
    tokens = tokenizer.show(tokenizer.encode("The cat", "the dog"))
    assert tokens[0] == "[CLS]" and tokens.count("[SEP]") == 2
    assert tokenizer.segments("The cat", "the dog")[0] == 0 and tokenizer.segments("The cat", "the dog")[-1] == 1
    assert tokenizer.encode("The") == tokenizer.encode("the")


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    tokenizer = train_tokenizer(kind, TEXTS, 500)
    tokenizer.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert [loaded.encode(text) for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    assert [theirs(text).input_ids for text in TEXTS] == [loaded.encode(text) for text in TEXTS]


def test_vocabulary_files_are_read_as_transformers_reads_them(tmp_path):
    bert, gpt = tmp_path / "bert", tmp_path / "gpt"
    bert.mkdir(), gpt.mkdir()
    trained = train_tokenizer("wordpiece", TEXTS, 400, lower=True)
    (bert / "vocab.txt").write_text("\n".join(trained.tokens), "utf-8")
    theirs = transformers.BertTokenizer.from_pretrained(bert)
    assert [load_tokenizer(bert).encode(text) for text in TEXTS] == [theirs(text).input_ids for text in TEXTS]

    model = json.loads(train_tokenizer("bytes", TEXTS, 400).backend.to_str())["model"]
    (gpt / "vocab.json").write_text(json.dumps(model["vocab"]), "utf-8")
    merges = [" ".join(pair) for pair in model["merges"]]
    (gpt / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges), "utf-8")
    theirs = transformers.GPT2Tokenizer.from_pretrained(gpt)
    assert [load_tokenizer(gpt).encode(text) for text in TEXTS] == [theirs(text).input_ids for text in TEXTS]


def test_special_tokens_stand_where_core_expects_them():
    assert [SPECIAL.index(token) for token in ("<pad>", "<s>", "</s>")] == [0, 1, 2]
    assert train_tokenizer("characters", TEXTS).tokens[:5] == list(SPECIAL)


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(core.InputError, match="no tokenizer"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{broken")
    with pytest.raises(core.InputError, match="cannot be read"):
        load_tokenizer(tmp_path)
    with pytest.raises(core.ConfigError, match="kind"):
        train_tokenizer("syllables", TEXTS)
