"""How each kind of tokenizer is put together from the parts of the `tokenizers` library: to be trained, or from files."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import (
    AddedToken,
    Regex,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from tokenizers import Tokenizer as Backend

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", "<mask>")
BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
GPT_SPECIAL = ("<|endoftext|>",)
SMALLEST = {"bytes": len(SPECIAL) + 256}  # no fewer tokens will do
Parts = tuple[Backend, trainers.Trainer]


def characters(vocab_size: int) -> Parts:
    backend = Backend(models.WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    return backend, trainers.WordLevelTrainer(special_tokens=list(SPECIAL), show_progress=False)


def words(vocab_size: int) -> Parts:
    backend = Backend(models.WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=list(SPECIAL), show_progress=False)
    return backend, trainer


def wordpiece(vocab_size: int) -> Parts:
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=list(BERT_SPECIAL), show_progress=False)
    return backend, trainer


def byte_pairs(vocab_size: int) -> Parts:
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return backend, trainer


def unigram(vocab_size: int) -> Parts:
    backend = Backend(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL), unk_token="<unk>", show_progress=False
    )
    return backend, trainer


RULES = {
    "characters": characters,
    "words": words,
    "wordpiece": wordpiece,
    "bytes": byte_pairs,
    "unigram": unigram,
}


def around(backend: Backend, begin: str = "[CLS]", end: str = "[SEP]") -> processors.PostProcessor:
    """BERT's: [CLS] first [SEP], or [CLS] first [SEP] second [SEP]"""
    ids = [(token, backend.token_to_id(token)) for token in (begin, end)]
    return processors.TemplateProcessing(f"{begin} $A {end}", f"{begin} $A {end} $B:1 {end}:1", ids)


def from_json(folder: Path) -> Backend:
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    backend.no_padding()  # a checkpoint's may fill up and cut to a fixed length; here one text is one row
    backend.no_truncation()
    return backend


def from_wordpieces(folder: Path) -> Backend:
    """BERT's vocab.txt; tokenizer_config.json says how its text was prepared."""
    how = settings(folder, "tokenizer_config.json")
    vocabulary = models.WordPiece.read_file(str(folder / "vocab.txt"))
    backend = Backend(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=how.get("do_lower_case", True),
        handle_chinese_chars=how.get("tokenize_chinese_chars", True),
        strip_accents=how.get("strip_accents"),
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens([token for token in BERT_SPECIAL if token in vocabulary])
    backend.post_processor = around(backend)
    return backend


def from_merges(folder: Path) -> Backend:
    """GPT-2's vocab.json and merges.txt, or RoBERTa's"""
    vocabulary, merges = models.BPE.read_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    backend = Backend(models.BPE(vocabulary, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    if settings(folder, "config.json").get("model_type") != "roberta":
        backend.add_special_tokens([token for token in (*GPT_SPECIAL, *SPECIAL) if token in vocabulary])
        return backend
    # <s> first </s>, or <s> first </s></s> second </s>; a mask takes the space before it with it.
    special = [AddedToken(token, lstrip=token == "<mask>", special=True) for token in SPECIAL if token in vocabulary]
    backend.add_special_tokens(special)
    begin, end = (("<s>", vocabulary["<s>"]), ("</s>", vocabulary["</s>"]))
    backend.post_processor = processors.RobertaProcessing(end, begin, add_prefix_space=False)
    return backend


def settings(folder: Path, name: str) -> dict:
    return json.loads((folder / name).read_text("utf-8")) if (folder / name).is_file() else {}
