"""From text to token ids and back: five ways to cut, one interface. The cutting itself is the `tokenizers` library's.

characters  every character is a token
words       words and signs
wordpiece   the longest known pieces, `##` marking those inside a word (Schuster & Nakajima 2012; BERT)
bytes       byte-level BPE: pairs of neighbours joined by frequency (Sennrich et al. 2016; GPT-2); nothing is unknown
unigram     the likeliest of all ways to cut (Kudo 2018; T5)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import Encoding, decoders, normalizers
from tokenizers import Tokenizer as Backend

from core.errors import ConfigError, InputError, unknown_name
from core.messages import Text, verbatim
from core.text.sentencepiece import read_sentencepiece
from core.text.tokenizer_kinds import (
    BERT_SPECIAL,
    RULES,
    SMALLEST,
    SPECIAL,
    around,
    from_json,
    from_merges,
    from_wordpieces,
)

SHOWN = str.maketrans({" ": "␣", "▁": "␣", "\n": "⏎", "\r": "⏎", "\t": "⇥"})  # what would not be seen in a token
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
        """By id, as the library writes them."""
        return [self.backend.id_to_token(i) for i in range(self.vocab_size)]

    def id_of(self, token: str) -> int | None:
        return self.backend.token_to_id(token)

    def encode(self, text: str, second: str | None = None) -> list[int]:
        """With the special tokens the kind puts around a text, or around a pair of them."""
        return self._cut(text, second).ids

    def segments(self, text: str, second: str | None = None) -> list[int]:
        """0 for the tokens of the first text, 1 for those of the second"""
        return self._cut(text, second).type_ids

    def offsets(self, text: str, second: str | None = None) -> list[tuple[int, int]]:
        """For every token the part of its text, as text[start:end]; (0, 0) for special ones. A token that is only a
        part of a character is given the whole of it."""
        return self._cut(text, second).offsets

    def _cut(self, text: str, second: str | None) -> Encoding:
        check_text(text)
        if second is not None:
            check_text(second)
        return self.backend.encode(text, second)

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        """The text; with `special`, also the tokens that stand for no text (padding, unknown, …)."""
        return self.backend.decode(self._known(ids), skip_special_tokens=not special)

    def show(self, ids: Iterable[int]) -> list[str]:
        """Each token so that it can be read: spaces as ␣, line ends as ⏎, half a character as its bytes, ⟨E4 B8⟩."""
        shown = shown_bytes if self.is_bytes else lambda token: token.translate(SHOWN)
        return [shown(self.tokens[i]) for i in self._known(ids)]

    def _known(self, ids: Iterable[int]) -> list[int]:
        ids = [int(i) for i in ids]
        strange = next((i for i in ids if not 0 <= i < self.vocab_size), None)
        if strange is not None:
            most = self.vocab_size - 1
            raise InputError(
                "{strange} is no token of this tokenizer: its ids go from 0 to {most}.",
                strange=strange,
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
    """A tokenizer of this kind for these texts; `vocab_size` is the most it may have, single characters
    apart: characters and wordpiece keep all that occur."""
    if kind not in KINDS:
        raise unknown_name("kind", kind, Text("there is no such tokenizer."), KINDS)
    smallest = SMALLEST.get(kind, len(SPECIAL) + 1)
    if type(vocab_size) is not int or vocab_size < smallest:
        raise too_small(vocab_size, smallest)
    backend, trainer = RULES[kind](vocab_size)
    if lower:
        steps = [normalizers.Lowercase(), *([backend.normalizer] if backend.normalizer else [])]
        backend.normalizer = normalizers.Sequence(steps)
    read = list(checked(texts))
    try:
        backend.train_from_iterator(read, trainer)
    except Exception as error:  # the library raises nothing narrower
        if kind != "unigram":
            raise
        raise too_small(vocab_size, len(SPECIAL) + len(set("▁".join(read))) + 1) from error
    if kind == "wordpiece":
        backend.post_processor = around(backend)
    return Tokenizer(backend)


def checked(texts: Iterable[str]) -> Iterator[str]:
    """The texts to learn from, if that is what they are."""
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


def too_small(vocab_size: object, smallest: int) -> ConfigError:
    return ConfigError(
        "vocab_size",
        vocab_size,
        Text("these texts need a larger vocabulary."),
        Text("Use {smallest} or more.", smallest=smallest),
    )


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """From the files of a checkpoint: tokenizer.json, BERT's vocab.txt, GPT-2's vocab.json and merges.txt, T5's spiece."""
    folder = Path(folder)
    readers = {
        "tokenizer.json": from_json,
        "vocab.txt": from_wordpieces,
        "merges.txt": from_merges,
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
                    remedy=_as_json(folder) if name == "spiece.model" else verbatim(""),
                ) from error
    raise InputError(
        "There is no tokenizer in {folder}: none of {listed} is there.",
        folder=folder,
        listed=list(readers),
    )


def _as_json(folder: Path) -> Text:
    """The way out where only the `sentencepiece` library can read its own file."""
    how = f"transformers.AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r})"
    return Text(". It may be turned into a tokenizer.json: {how}", how=how)


def shown_bytes(token: str) -> str:
    """A byte-level token: its text, and the bytes of what is only a part of a character."""
    raw = bytes(BYTE_OF[c] for c in token) if all(c in BYTE_OF for c in token) else token.encode()
    shown, broken = "", b""
    while raw:
        try:
            whole, part, raw = raw.decode(), b"", b""
        except UnicodeDecodeError as error:
            whole, part, raw = raw[: error.start].decode(), raw[error.start : error.end], raw[error.end :]
        if whole:
            shown, broken = shown + _hexadecimal(broken) + whole.translate(SHOWN), b""
        broken += part
    return shown + _hexadecimal(broken)


def _hexadecimal(raw: bytes) -> str:
    return f"⟨{raw.hex(' ').upper()}⟩" if raw else ""


def _byte_alphabet() -> dict[str, int]:
    """GPT-2 writes each byte as one printable character: its own if it has one, else one from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(0x100 + n): b for n, b in enumerate(others)}


BYTE_OF = _byte_alphabet()


__all__ = [
    "BERT_SPECIAL",
    "BYTE_OF",
    "KINDS",
    "SPECIAL",
    "Tokenizer",
    "load_tokenizer",
    "shown_bytes",
    "train_tokenizer",
]
