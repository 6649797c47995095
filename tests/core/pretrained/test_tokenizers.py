"""Tokenizers from a checkpoint's files give the ids that transformers gives."""

from __future__ import annotations

import shutil

import pytest
import sentencepiece
import transformers as hf

import core
from core.text.tokenizer import load_tokenizer, train_tokenizer
from tests.core.pretrained.tiny import CHECKPOINTS
from tests.words import chinese

TEXTS = [
    "The cat sat on the mat.", "a  cat,   two cats!", "naïve café – 世界 你好", "UPPER lower", "x", "don't  stop", "1,234.5",
    "ﬁne ﬂow ①", "tab\tand\nline", "🙂 ok",
]  # fmt: skip
CORPUS = ["the cat sat on the mat and the dog ran", "two cats don't stop", "naive cafe flow fine world", *TEXTS] * 20


def test_sentencepiece(tmp_path):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_prefix=str(tmp_path / "spiece"), vocab_size=120, model_type="unigram",
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    ours = load_tokenizer(tmp_path)
    reference = sentencepiece.SentencePieceProcessor(str(tmp_path / "spiece.model"))
    theirs = hf.T5Tokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert ours.encode(text) == theirs(text)["input_ids"], text
        assert ours.encode(text) == [*reference.encode(text), 1], text
    assert ours.id_of("<extra_id_0>") in ours.encode("fill <extra_id_0> in")
    assert ours.vocab_size == reference.get_piece_size() + 100 == len(theirs)
    assert ours.encode("a", "b") == theirs("a", "b")["input_ids"]


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.999])
def test_a_sentencepiece_model_that_is_cut_short(cut, tmp_path):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_prefix=str(tmp_path / "spiece"), vocab_size=120, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    complete = (tmp_path / "spiece.model").read_bytes()
    (tmp_path / "spiece.model").write_bytes(complete[: int(len(complete) * cut)])
    with pytest.raises(core.InputError, match=r"spiece\.model in .* cannot be read as a tokenizer"):
        load_tokenizer(tmp_path)


def test_roberta_from_merges(tmp_path):
    """Its five special tokens, a text's ends, and a mask that takes the space before it."""
    trained = train_tokenizer("bytes", CORPUS, 400)
    trained.backend.model.save(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "roberta"}')
    theirs = hf.RobertaTokenizer.from_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    for text in TEXTS:
        assert ours.encode(text) == theirs(text)["input_ids"], text
    assert ours.show(ours.encode("a <mask>.")) == ["<s>", "a", "<mask>", ".", "</s>"]
    assert ours.encode("a cat", "the mat") == theirs("a cat", "the mat")["input_ids"]


def test_gpt2_from_merges(tmp_path):
    trained = train_tokenizer("bytes", CORPUS, 400)
    trained.backend.model.save(str(tmp_path))
    vocabulary = tmp_path / "vocab.json"
    vocabulary.write_text(
        vocabulary.read_text("utf-8").replace('"<s>"', '"<|endoftext|>"').replace('"</s>"', '"<x>"'), "utf-8"
    )
    theirs, ours = hf.GPT2Tokenizer.from_pretrained(tmp_path), load_tokenizer(tmp_path)
    for text in [*TEXTS, "end<|endoftext|>begin"]:
        assert ours.encode(text) == theirs(text)["input_ids"], text


def test_padding_and_truncation_are_switched_off(tmp_path):
    """all-MiniLM's tokenizer.json pads and truncates every text to 128 tokens."""
    trained = train_tokenizer("wordpiece", CORPUS, 200)
    trained.backend.enable_padding(length=16, pad_token="[PAD]")
    trained.backend.enable_truncation(8)
    trained.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert len(loaded.encode("cat")) < 8
    assert len(loaded.encode("the cat sat on the mat and the dog ran")) > 8


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram"])
def test_saved_and_loaded_with_the_model(kind, tmp_path):
    trained = train_tokenizer(kind, CORPUS, 300)
    CHECKPOINTS["BertModel"]().save_pretrained(tmp_path / "theirs")
    model, _ = core.load_pretrained(tmp_path / "theirs")
    core.save_pretrained(model, tmp_path / "ours", trained)
    _, again = core.load_pretrained(tmp_path / "ours")
    theirs = hf.AutoTokenizer.from_pretrained(tmp_path / "ours")
    for text in TEXTS:
        assert again.encode(text) == trained.encode(text) == theirs(text)["input_ids"]
    assert theirs.pad_token_id == trained.id_of("[PAD]" if kind == "wordpiece" else "<pad>")
    assert theirs.mask_token_id == trained.id_of("[MASK]" if kind == "wordpiece" else "<mask>")


def test_a_broken_tokenizer_is_a_broken_checkpoint(tmp_path):
    CHECKPOINTS["BertModel"]().save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(core.PretrainedError, match=r"tokenizer\.json in .* cannot be read") as refused:
        core.load_pretrained(tmp_path)
    assert "无法作为分词器读取" in chinese(refused.value)


def test_a_tokenizer_that_is_too_large(tmp_path):
    CHECKPOINTS["BertModel"]().save_pretrained(tmp_path)
    with (tmp_path / "tokenizer.json").open("wb") as file:
        file.truncate(65 * 1024**2)
    with pytest.raises(core.PretrainedError, match=r"tokenizer\.json has more than"):
        core.load_pretrained(tmp_path)
    shutil.rmtree(tmp_path)
