"""Tokenizers: texts come back, tokens can be read, files are those of transformers' own classes."""

from __future__ import annotations

import json
from functools import cache

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.convert_slow_tokenizer import bytes_to_unicode

import core
from core.text import tokenizer
from core.text.tokenizer import KINDS, SPECIAL_TOKENS, load_tokenizer, show_bytes, train_tokenizer

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
        if kind in ("words", "wordpiece"):  # which do not encode where spaces were
            back, text = back.replace(" ", ""), text.replace(" ", "")
        assert back == text


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_bytes_encode_every_text(text):
    tokenizer = bytes_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text), special=True) == text
    assert not any(shown == "" for shown in tokenizer.show(tokenizer.encode(text)))


@cache  # trained once for all examples
def bytes_tokenizer():
    return train_tokenizer("bytes", TEXTS, 400)


def test_bytes_are_shown_as_text_or_in_hexadecimal():
    tokenizer = train_tokenizer("bytes", ["the cat"], 300)
    assert "".join(tokenizer.show(tokenizer.encode("the cat"))) == "the␣cat"
    shown = tokenizer.show(tokenizer.encode("猫"))
    assert "".join(shown) == "⟨E7⟩⟨8C⟩⟨AB⟩"  # the three bytes of 猫
    visible = {" ": "␣", "\n": "⏎", "\r": "⏎", "\t": "⇥"}
    for byte in range(256):  # the library's alphabet, byte by byte
        (piece,) = tokenizer.show([tokenizer.id_of(alphabet_of(byte))])
        assert piece == (visible.get(chr(byte), chr(byte)) if byte < 128 else f"⟨{byte:02X}⟩")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("北京".encode(), "北京"),
        ("北京".encode()[:5], "北⟨E4 BA⟩"),
        ("北京".encode()[1:], "⟨8C 97⟩京"),
        (b" " + "猫".encode()[:2], "␣⟨E7 8C⟩"),
        (b"\x8c\xabok \xe7", "⟨8C AB⟩ok␣⟨E7⟩"),
        (b"\xff\xfe", "⟨FF FE⟩"),
    ],
)
def test_a_token_that_splits_characters_shows_its_complete_ones(raw, shown):
    assert show_bytes("".join(map(alphabet_of, raw))) == shown


def alphabet_of(byte: int) -> str:
    return next(c for c, b in tokenizer.BYTE_BY_CHARACTER.items() if b == byte)


def test_the_byte_alphabet_is_the_librarys():
    from tokenizers.pre_tokenizers import ByteLevel

    assert set(tokenizer.BYTE_BY_CHARACTER) == set(ByteLevel.alphabet())
    assert {byte: c for c, byte in tokenizer.BYTE_BY_CHARACTER.items()} == bytes_to_unicode()
    assert show_bytes("Ġcat") == "␣cat"


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


def wordpiece_files(folder, **settings):
    """BERT's files, as they lie in a checkpoint without tokenizer.json"""
    folder.mkdir()
    trained = train_tokenizer("wordpiece", TEXTS, 400, lower=settings.get("do_lower_case", True))
    (folder / "vocab.txt").write_text("\n".join(trained.tokens), "utf-8")
    if settings:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    return folder


def merges_files(folder):
    """GPT-2's"""
    folder.mkdir()
    model = json.loads(train_tokenizer("bytes", TEXTS, 400).backend.to_str())["model"]
    vocabulary = {**model["vocab"], "<|endoftext|>": len(model["vocab"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    merges = [" ".join(pair) for pair in model["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges), "utf-8")
    return folder


EDGE_CASES = [*TEXTS[:4], "", "  two  spaces\n", "ÀÉÎ 北京 ZEBRA", "x" * 120, "naïve [MASK] [SEP]", "a<|endoftext|>b"]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"do_lower_case": False},
        {"tokenize_chinese_chars": False},
        {"do_lower_case": False, "strip_accents": True},
    ],
    ids=str,
)
def test_wordpiece_files_are_read_as_transformers_reads_them(settings, tmp_path):
    folder = wordpiece_files(tmp_path / "bert", **settings)
    theirs, ours = transformers.BertTokenizer.from_pretrained(folder), load_tokenizer(folder)
    for text in EDGE_CASES:
        expected = theirs(text, return_offsets_mapping=True)
        assert (ours.encode(text), ours.offsets(text)) == (expected.input_ids, expected.offset_mapping)
        assert ours.decode(expected.input_ids) == theirs.decode(expected.input_ids, skip_special_tokens=True)
    pair = theirs("The cat", "她买书", return_token_type_ids=True)
    assert (
        ours.encode("The cat", "她买书") == pair.input_ids
        and ours.segments("The cat", "她买书") == pair.token_type_ids
    )


def test_byte_files_are_read_as_transformers_reads_them(tmp_path):
    folder = merges_files(tmp_path / "gpt")
    theirs, ours = transformers.GPT2Tokenizer.from_pretrained(folder), load_tokenizer(folder)
    for text in EDGE_CASES:
        expected = theirs(text, return_offsets_mapping=True)
        assert (ours.encode(text), ours.offsets(text)) == (expected.input_ids, expected.offset_mapping)
        assert ours.decode(expected.input_ids, special=True) == theirs.decode(expected.input_ids)
    assert ours.show(ours.encode("a<|endoftext|>b")) == ["a", "<|endoftext|>", "b"]


def test_unigram_files_are_read_as_transformers_reads_them(tmp_path):
    train_tokenizer("unigram", TEXTS, 300).save(tmp_path)
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path, unk_token="<unk>")
    ours = load_tokenizer(tmp_path)
    for text in EDGE_CASES:
        assert ours.encode(text) == theirs(text).input_ids
        assert ours.decode(ours.encode(text), special=True) == theirs.decode(theirs(text).input_ids)


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_are_the_spans_of_tokens(kind):
    tokenizer = train_tokenizer(kind, TEXTS, 600)
    for text in TEXTS[:4]:
        offsets, shown = tokenizer.offsets(text), tokenizer.show(tokenizer.encode(text))
        assert len(offsets) == len(shown)
        for (start, end), piece in zip(offsets, shown, strict=True):
            if (
                "⟨" not in piece and piece != "␣" and not piece.startswith("[")
            ):  # a part of a character has the span of all of it
                assert piece.removeprefix("##").replace("␣", " ").strip() == text[start:end].strip()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "bytes"])
def test_unknown_text_becomes_the_unknown_token(kind):
    tokenizer = train_tokenizer(kind, TEXTS, 600)
    unknown = "[UNK]" if kind == "wordpiece" else "<unk>"
    ids = tokenizer.encode("龘")
    assert tokenizer.id_of(unknown) in ids and unknown in tokenizer.show(ids)
    assert tokenizer.decode(ids).strip() == "" and unknown in tokenizer.decode(ids, special=True)
    assert tokenizer.encode("龘", "龘").count(tokenizer.id_of(unknown)) == 2


def test_special_tokens_stand_where_core_expects_them():
    assert [SPECIAL_TOKENS.index(token) for token in ("<pad>", "<s>", "</s>")] == [0, 1, 2]
    assert train_tokenizer("characters", TEXTS).tokens[:5] == list(SPECIAL_TOKENS)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(core.InputError, match="no tokenizer"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{broken")
    with pytest.raises(core.InputError, match="cannot be read"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "spiece.model").write_bytes(b"...")
    with pytest.raises(core.InputError, match="no SentencePiece model"):
        load_tokenizer(tmp_path)
    with pytest.raises(core.ConfigError, match="kind"):
        train_tokenizer("syllables", TEXTS)


@pytest.mark.parametrize("kind", KINDS)
def test_invalid_texts_and_ids_are_refused(kind):
    for texts, message in (("a text", r"\[text\]"), ([], "no text"), (["", " "], "no text"), ([3], "type int")):
        with pytest.raises(core.InputError, match=message):
            train_tokenizer(kind, texts)
    tokenizer = train_tokenizer(kind, TEXTS, 600)
    for text in (None, 7, b"bytes", ["list"], "half \ud83d"):
        with pytest.raises(core.InputError, match="text"):
            tokenizer.encode(text)
    for ids in ([10_000], [-1]):
        for method in (tokenizer.show, tokenizer.decode):
            with pytest.raises(core.InputError, match="ids go from 0 to"):
                method(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_that_is_too_small_is_refused_with_one_that_is_not(kind):
    for size in (0, -1, 2.5):
        with pytest.raises(core.ConfigError, match="vocab_size"):
            train_tokenizer(kind, TEXTS, size)
    if kind in ("bytes", "unigram"):
        with pytest.raises(core.ConfigError) as caught:
            train_tokenizer(kind, TEXTS, 30)
        enough = int(str(caught.value.remedy).split()[1])
        assert train_tokenizer(kind, TEXTS, enough).vocab_size <= enough
