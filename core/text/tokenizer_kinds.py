"""The pipeline of each kind of tokenizer in the `tokenizers` library: untrained with its trainer, or from files."""

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

SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>", "<mask>")
BERT_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
GPT_SPECIAL_TOKENS = ("<|endoftext|>",)
MIN_VOCAB_SIZE = {"bytes": len(SPECIAL_TOKENS) + 256}
Trainable = tuple[Backend, trainers.Trainer]


def characters(vocab_size: int) -> Trainable:
    backend = Backend(models.WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    return backend, trainers.WordLevelTrainer(special_tokens=list(SPECIAL_TOKENS), show_progress=False)


def words(vocab_size: int) -> Trainable:
    backend = Backend(models.WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL_TOKENS), show_progress=False
    )
    return backend, trainer


def wordpiece(vocab_size: int) -> Trainable:
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=list(BERT_SPECIAL_TOKENS), show_progress=False
    )
    return backend, trainer


def byte_pairs(vocab_size: int) -> Trainable:
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return backend, trainer


def unigram(vocab_size: int) -> Trainable:
    backend = Backend(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL_TOKENS), unk_token="<unk>", show_progress=False
    )
    return backend, trainer


TRAINABLE_KINDS = {
    "characters": characters,
    "words": words,
    "wordpiece": wordpiece,
    "bytes": byte_pairs,
    "unigram": unigram,
}


def bert_template(backend: Backend, begin: str = "[CLS]", end: str = "[SEP]") -> processors.PostProcessor:
    """BERT's input: [CLS] first [SEP], or [CLS] first [SEP] second [SEP]"""
    ids = [(token, backend.token_to_id(token)) for token in (begin, end)]
    return processors.TemplateProcessing(f"{begin} $A {end}", f"{begin} $A {end} $B:1 {end}:1", ids)


def load_tokenizer_json(folder: Path) -> Backend:
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    backend.no_padding()  # a checkpoint's may pad and truncate to a fixed length
    backend.no_truncation()
    return backend


def load_wordpiece(folder: Path) -> Backend:
    """BERT's vocab.txt, normalised as tokenizer_config.json says."""
    settings = read_json(folder, "tokenizer_config.json")
    vocabulary = models.WordPiece.read_file(str(folder / "vocab.txt"))
    backend = Backend(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=settings.get("do_lower_case", True),
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens([token for token in BERT_SPECIAL_TOKENS if token in vocabulary])
    backend.post_processor = bert_template(backend)
    return backend


def load_byte_pairs(folder: Path) -> Backend:
    """Byte-level BPE from vocab.json and merges.txt: GPT-2, or RoBERTa with its special tokens and template"""
    vocabulary, merges = models.BPE.read_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    backend = Backend(models.BPE(vocabulary, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    if read_json(folder, "config.json").get("model_type") != "roberta":
        backend.add_special_tokens([token for token in (*GPT_SPECIAL_TOKENS, *SPECIAL_TOKENS) if token in vocabulary])
        return backend
    # <s> first </s>, or <s> first </s></s> second </s>; the mask token includes the space before it.
    special = [
        AddedToken(token, lstrip=token == "<mask>", special=True) for token in SPECIAL_TOKENS if token in vocabulary
    ]
    backend.add_special_tokens(special)
    begin, end = (("<s>", vocabulary["<s>"]), ("</s>", vocabulary["</s>"]))
    backend.post_processor = processors.RobertaProcessing(end, begin, add_prefix_space=False)
    return backend


def read_json(folder: Path, name: str) -> dict:
    """Empty if there is no such file."""
    return json.loads((folder / name).read_text("utf-8")) if (folder / name).is_file() else {}
