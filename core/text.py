"""From text to token ids and back: five ways to cut, one interface. The cutting itself is the `tokenizers` library's.

characters  every character is a token
words       words and signs
wordpiece   the longest known pieces, `##` marking those inside a word (Schuster & Nakajima 2012; BERT)
bytes       byte-level BPE: pairs of neighbours joined by frequency (Sennrich et al. 2016; GPT-2); nothing is unknown
unigram     the likeliest of all ways to cut (Kudo 2018; T5)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import (
    Regex,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from tokenizers import Tokenizer as Backend

from core.layers.masks import InputError
from core.options import ConfigError, Text

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", "<mask>")
BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SPACE = "␣"  # how a space inside a token is shown
KINDS: dict[str, Text] = {
    "characters": Text("Every character is a token.", "每个字符是一个词元。"),
    "words": Text("Words and signs.", "按词和标点切分。"),
    "wordpiece": Text("The longest known pieces of words.", "已知的最长词片。"),
    "bytes": Text("Bytes, joined by how often they stand together.", "按共现频率合并的字节。"),
    "unigram": Text("The likeliest of all ways to cut.", "所有切法中最可能的一种。"),
}


@dataclass(frozen=True)
class Tokenizer:
    """`encode` a text to ids, `decode` them, `show` what each stands for."""

    backend: Backend

    @property
    def vocab_size(self) -> int:
        return self.backend.get_vocab_size()

    @cached_property
    def tokens(self) -> list[str]:
        """By id, as the library writes them."""
        return [self.backend.id_to_token(i) for i in range(self.vocab_size)]

    def id_of(self, token: str) -> int | None:
        return self.backend.token_to_id(token)

    def encode(self, text: str, second: str | None = None) -> list[int]:
        """With the special tokens the kind puts around a text, or around a pair of them."""
        return self.backend.encode(text, second).ids

    def segments(self, text: str, second: str | None = None) -> list[int]:
        """0 for the tokens of the first text, 1 for those of the second"""
        return self.backend.encode(text, second).type_ids

    def decode(self, ids: Iterable[int]) -> str:
        return self.backend.decode(list(ids))

    def show(self, ids: Iterable[int]) -> list[str]:
        """Each token so that it can be read: spaces as ␣, half a character as its bytes, ⟨E4 B8⟩."""
        tokens = (self.tokens[i] for i in ids)
        return [shown_bytes(token) if self.is_bytes else token.replace("▁", SPACE) for token in tokens]

    @property
    def is_bytes(self) -> bool:
        return isinstance(self.backend.decoder, decoders.ByteLevel)

    def save(self, folder: str | Path) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.backend.save(str(Path(folder) / "tokenizer.json"))


def train_tokenizer(kind: str, texts: Iterable[str], vocab_size: int = 1000, *, lower: bool = False) -> Tokenizer:
    """A tokenizer of this kind for these texts; `vocab_size` is the most it may have (characters: as many as occur)."""
    if kind not in KINDS:
        listed = ", ".join(KINDS)
        raise ConfigError(
            "kind",
            kind,
            Text("there is no such tokenizer.", "没有这种分词器。"),
            Text(f"Choose one of: {listed}.", f"请选择其一：{listed}。"),
        )
    backend, trainer = _RULES[kind](vocab_size)
    if lower:
        steps = [normalizers.Lowercase(), *([backend.normalizer] if backend.normalizer else [])]
        backend.normalizer = normalizers.Sequence(steps)
    backend.train_from_iterator(texts, trainer)
    if kind == "wordpiece":
        backend.post_processor = _around(backend, "[CLS]", "[SEP]")
    return Tokenizer(backend)


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """From the files of a checkpoint: tokenizer.json, or BERT's vocab.txt, or GPT-2's vocab.json and merges.txt."""
    folder = Path(folder)
    readers = {"tokenizer.json": _from_json, "vocab.txt": _from_wordpieces, "merges.txt": _from_merges}
    for name, read in readers.items():
        if (folder / name).is_file():
            try:
                return Tokenizer(read(folder))
            except Exception as error:  # the library raises nothing narrower
                why = " ".join(str(error).split())[:200]
                raise InputError(
                    f"{name} in {folder} cannot be read as a tokenizer: {why}",
                    f"{folder} 中的 {name} 无法作为分词器读取：{why}",
                ) from error
    listed = ", ".join(readers)
    raise InputError(
        f"There is no tokenizer in {folder}: none of {listed} is there.",
        f"{folder} 中没有分词器：缺少 {listed}。",
    )


def shown_bytes(token: str) -> str:
    """A byte-level token: its text, or its bytes where they are only a part of a character."""
    raw = bytes(BYTE_OF[c] for c in token) if all(c in BYTE_OF for c in token) else token.encode()
    try:
        return raw.decode().replace(" ", SPACE)
    except UnicodeDecodeError:
        return f"⟨{raw.hex(' ').upper()}⟩"


def _byte_alphabet() -> dict[str, int]:
    """GPT-2 writes each byte as one printable character: its own if it has one, else one from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(0x100 + n): b for n, b in enumerate(others)}


BYTE_OF = _byte_alphabet()


def _characters(vocab_size: int) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    return backend, trainers.WordLevelTrainer(special_tokens=list(SPECIAL), show_progress=False)


def _words(vocab_size: int) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=list(SPECIAL), show_progress=False)
    return backend, trainer


def _wordpiece(vocab_size: int) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=list(BERT_SPECIAL), show_progress=False)
    return backend, trainer


def _bytes(vocab_size: int) -> tuple[Backend, trainers.Trainer]:
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


def _unigram(vocab_size: int) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL), unk_token="<unk>", show_progress=False
    )
    return backend, trainer


_RULES = {
    "characters": _characters,
    "words": _words,
    "wordpiece": _wordpiece,
    "bytes": _bytes,
    "unigram": _unigram,
}


def _around(backend: Backend, begin: str, end: str) -> processors.PostProcessor:
    """BERT's: [CLS] first [SEP], or [CLS] first [SEP] second [SEP]"""
    ids = [(token, backend.token_to_id(token)) for token in (begin, end)]
    return processors.TemplateProcessing(f"{begin} $A {end}", f"{begin} $A {end} $B:1 {end}:1", ids)


def _from_json(folder: Path) -> Backend:
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    backend.no_padding()  # a checkpoint's may fill up and cut to a fixed length; here one text is one row
    backend.no_truncation()
    return backend


def _from_wordpieces(folder: Path) -> Backend:
    settings = folder / "tokenizer_config.json"
    lower = json.loads(settings.read_text("utf-8")).get("do_lower_case", True) if settings.is_file() else True
    vocabulary = models.WordPiece.read_file(str(folder / "vocab.txt"))
    backend = Backend(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lower)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens([token for token in BERT_SPECIAL if token in vocabulary])
    backend.post_processor = _around(backend, "[CLS]", "[SEP]")
    return backend


def _from_merges(folder: Path) -> Backend:
    vocabulary, merges = models.BPE.read_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    backend = Backend(models.BPE(vocabulary, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend
