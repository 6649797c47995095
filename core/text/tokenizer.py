"""Text to token ids and back: five kinds of tokenizer behind one interface, on top of the `tokenizers` library.

characters  every character is a token
words       words and punctuation marks
wordpiece   the longest known pieces, `##` marking those inside a word (Schuster & Nakajima 2012; BERT)
bytes       byte-level BPE: pairs of neighbours joined by frequency (Sennrich et al. 2016; GPT-2); no text is unknown
unigram     the likeliest of all segmentations (Kudo 2018; T5)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import Encoding, decoders, normalizers
from tokenizers import Tokenizer as Backend

from core.errors import ConfigError, InputError, unknown_name
from core.text.sentencepiece import read_sentencepiece
from core.text.tokenizer_kinds import (
    BERT_SPECIAL_TOKENS,
    MIN_VOCAB_SIZE,
    SPECIAL_TOKENS,
    TRAINABLE_KINDS,
    bert_template,
    load_byte_pairs,
    load_tokenizer_json,
    load_wordpiece,
)
from core.translatable import Text, verbatim

VISIBLE_SPACES = str.maketrans({" ": "␣", "▁": "␣", "\n": "⏎", "\r": "⏎", "\t": "⇥"})
KINDS: dict[str, Text] = {
    "characters": Text("Every character is a token."),
    "words": Text("Words and punctuation marks."),
    "wordpiece": Text("The longest known pieces of words."),
    "bytes": Text("Bytes, joined by how often they stand together."),
    "unigram": Text("The likeliest of all ways to cut."),
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
        """By id, as the library spells them; "" for an id without a token."""
        return [self.backend.id_to_token(i) or "" for i in range(self.vocab_size)]

    def id_of(self, token: str) -> int | None:
        return self.backend.token_to_id(token)

    def encode(self, text: str, second: str | None = None) -> list[int]:
        """Token ids of a text or a pair of texts, with the special tokens of this kind around them."""
        return self._encode(text, second).ids

    def segments(self, text: str, second: str | None = None) -> list[int]:
        """0 for the tokens of the first text, 1 for those of the second"""
        return self._encode(text, second).type_ids

    def offsets(self, text: str, second: str | None = None) -> list[tuple[int, int]]:
        """(start, end) of every token in its text; (0, 0) for special tokens.

        A token that is only a part of a character gets the span of the full character.
        """
        return self._encode(text, second).offsets

    def _encode(self, text: str, second: str | None) -> Encoding:
        check_text(text)
        if second is not None:
            check_text(second)
        return self.backend.encode(text, second)

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        """The text of the ids; with `special`, including special tokens (padding, unknown, …)."""
        return self.backend.decode(self._check_ids(ids), skip_special_tokens=not special)

    def show(self, ids: Iterable[int]) -> list[str]:
        """Each token in printable form: spaces as ␣, line ends as ⏎, parts of a character as bytes, ⟨E4 B8⟩."""
        show = show_bytes if self.is_bytes else lambda token: token.translate(VISIBLE_SPACES)
        return [show(self.tokens[i]) for i in self._check_ids(ids)]

    def _check_ids(self, ids: Iterable[int]) -> list[int]:
        ids = [int(i) for i in ids]
        invalid = next((i for i in ids if not 0 <= i < self.vocab_size), None)
        if invalid is not None:
            most = self.vocab_size - 1
            raise InputError(
                "{strange} is no token of this tokenizer: its ids go from 0 to {most}.",
                strange=invalid,
                most=most,
            )
        return ids

    @property
    def is_bytes(self) -> bool:
        return isinstance(self.backend.decoder, decoders.ByteLevel)

    def save(self, folder: str | Path) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.backend.save(str(Path(folder) / "tokenizer.json"))


def train_tokenizer(kind: str, texts: Iterable[str], vocab_size: int = 1000, *, lower: bool = False) -> Tokenizer:
    """A tokenizer of this kind trained on these texts, with at most `vocab_size` tokens.

    Kinds "characters" and "wordpiece" keep every single character that occurs, even beyond `vocab_size`.
    """
    if kind not in KINDS:
        raise unknown_name("kind", kind, Text("there is no such tokenizer."), KINDS)
    smallest = MIN_VOCAB_SIZE.get(kind, len(SPECIAL_TOKENS) + 1)
    if type(vocab_size) is not int or vocab_size < smallest:
        raise vocabulary_too_small(vocab_size, smallest)
    backend, trainer = TRAINABLE_KINDS[kind](vocab_size)
    if lower:
        pipeline = [normalizers.Lowercase(), *([backend.normalizer] if backend.normalizer else [])]
        backend.normalizer = normalizers.Sequence(pipeline)
    corpus = list(check_texts(texts))
    try:
        backend.train_from_iterator(corpus, trainer)
    except Exception as error:  # the library raises nothing narrower
        if kind != "unigram":
            raise
        raise vocabulary_too_small(vocab_size, len(SPECIAL_TOKENS) + len(set("▁".join(corpus))) + 1) from error
    if kind == "wordpiece":
        backend.post_processor = bert_template(backend)
    return Tokenizer(backend)


def check_texts(texts: Iterable[str]) -> Iterator[str]:
    """The texts themselves; refused unless they are strings, at least one of them not blank."""
    if isinstance(texts, str):
        raise InputError(
            "Texts are a list of texts; one text alone would be read letter by letter. Use [text].",
        )
    empty = True
    for text in texts:
        check_text(text)
        empty = empty and not text.strip()
        yield text
    if empty:
        raise InputError("There is no text to learn a tokenizer from.")


def check_text(text: object) -> None:
    if not isinstance(text, str):
        kind = type(text).__name__
        raise InputError("A text is expected, but this is of type {kind}.", kind=kind)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "The text holds half a character (a lone surrogate), which cannot be written as bytes.",
        ) from error


def vocabulary_too_small(vocab_size: object, smallest: int) -> ConfigError:
    return ConfigError(
        "vocab_size",
        vocab_size,
        Text("these texts need a larger vocabulary."),
        Text("Use {smallest} or more.", smallest=smallest),
    )


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """The tokenizer in a checkpoint's folder.

    From tokenizer.json, BERT's vocab.txt, GPT-2's vocab.json and merges.txt, or T5's spiece.model, whichever is first.
    """
    folder = Path(folder)
    readers = {
        "tokenizer.json": load_tokenizer_json,
        "vocab.txt": load_wordpiece,
        "merges.txt": load_byte_pairs,
        "spiece.model": lambda folder: read_sentencepiece(folder / "spiece.model"),
    }
    for name, read in readers.items():
        if (folder / name).is_file():
            try:
                return Tokenizer(read(folder))
            except Exception as error:  # the library raises nothing narrower
                why = " ".join(str(error).split())[:200]
                raise InputError(
                    "{name} in {folder} cannot be read as a tokenizer: {why}{remedy}",
                    name=name,
                    folder=folder,
                    why=why,
                    remedy=_conversion_hint(folder) if name == "spiece.model" else verbatim(""),
                ) from error
    raise InputError(
        "There is no tokenizer in {folder}: none of {listed} is there.",
        folder=folder,
        listed=list(readers),
    )


def _conversion_hint(folder: Path) -> Text:
    """How to convert a file that only the `sentencepiece` library can read."""
    command = f"transformers.AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r})"
    return Text(". It may be turned into a tokenizer.json: {how}", how=command)


def show_bytes(token: str) -> str:
    """A byte-level token as text; parts of a character as bytes in hexadecimal, ⟨E4 B8⟩."""
    known = all(character in BYTE_BY_CHARACTER for character in token)
    raw = bytes(BYTE_BY_CHARACTER[character] for character in token) if known else token.encode()
    text, partial = "", b""  # partial: bytes so far that form no character
    while raw:
        try:
            valid, invalid, raw = raw.decode(), b"", b""
        except UnicodeDecodeError as error:
            valid, invalid, raw = raw[: error.start].decode(), raw[error.start : error.end], raw[error.end :]
        if valid:
            text, partial = text + _hexadecimal(partial) + valid.translate(VISIBLE_SPACES), b""
        partial += invalid
    return text + _hexadecimal(partial)


def _hexadecimal(raw: bytes) -> str:
    return f"⟨{raw.hex(' ').upper()}⟩" if raw else ""


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's spelling of bytes, one printable character each: its own if it has one, else one from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(0x100 + n): b for n, b in enumerate(others)}


BYTE_BY_CHARACTER = _byte_alphabet()


__all__ = [
    "BERT_SPECIAL_TOKENS",
    "BYTE_BY_CHARACTER",
    "KINDS",
    "SPECIAL_TOKENS",
    "Tokenizer",
    "load_tokenizer",
    "show_bytes",
    "train_tokenizer",
]
