"""Tasks made from a user's file: `custom_task(name, data)` reads it and makes the task that fits.

.txt                                  → language modelling, by characters or words
.csv, .tsv, .jsonl: source, target    → pairs
                    text, label       → label
                    tokens, tags      → tags
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from os import PathLike
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from core.tasks.base import DataError, Examples, Task, measure_chance, problem_hash
from core.tasks.custom.dataset import UNKNOWN, Dataset, RaggedRows, build_vocabulary
from core.tasks.custom.files import (
    MIN_EXAMPLES,
    Content,
    Record,
    as_list,
    as_text,
    check_count,
    check_size,
    decode,
    fail,
    file_name,
    number_labels,
    parse_records,
    read_bytes,
)
from core.tasks.language.grammar_task import join_words
from core.tasks.shared_options import choice, integer, option
from core.translatable import Text, verbatim

WORDS = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|[^\w\s]"
)  # Chinese and Japanese by character
# fmt: off
UNIT = choice("unit", Text("What one token is."), {
    "word": Text("a word; punctuation and Chinese characters by themselves"),
    "character": Text("a character"),
})
MAX_VOCAB = integer("max_vocab", 16, 100_000, Text("Only so many of the commonest tokens are told apart."))
CONTEXT = integer("context", 8, 512, Text("Tokens that are read at a time."))
# fmt: on


class CustomTask(Task):
    """The options say how to tokenize the file; `data` is the dataset read from it, `content` its text.

    Two such tasks are equal if their options and their texts are; the file's name does not count.
    """

    data: ClassVar[Dataset]
    content: ClassVar[Content]

    def attach(self, name: str, data: Dataset, max_vocab: int) -> Self:
        """This task, with the dataset read from the file of that name."""
        has_unknown = bool((data.problems.flat == UNKNOWN).any())  # problems that differ only in rare words are equal
        check_count(name, len(data.hashes.unique()), max_vocab if has_unknown else None)
        object.__setattr__(self, "data", data)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomTask) and type(self) is type(other) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self.content.digest)

    @property
    def _identity(self) -> tuple[dict[str, Any], str]:
        return super().to_dict(), self.content.digest

    def to_dict(self) -> dict[str, Any]:
        """The options, and the file's text, so that `custom_from_dict` needs no file."""
        content = self.content
        return {
            **super().to_dict(), "file": {"ending": content.ending, "digest": content.digest, "text": content.text}
        }  # fmt: skip

    @property
    def tokens(self) -> list[str]:
        return self.data.tokens

    @property
    def label_names(self) -> list[Text]:
        return [verbatim(label) for label in self.data.labels]

    @cached_property
    def chance(self) -> float:
        """Cached here rather than in `cached_chance`, which would keep the data in memory."""
        return measure_chance(self)

    @cached_property
    def longest(self) -> int:
        return int(self.data.problems.lengths.max())

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        return self.sample(torch.arange(len(self.data.problems.lengths)), n, rng, low, high)

    def gather(self, n: int, rng: torch.Generator, held_out: bool, **lengths: int | None) -> Examples:
        return self.sample((self.data.held_out == held_out).nonzero().squeeze(1), n, rng, **lengths)

    def sample(
        self, indices: Tensor, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None
    ) -> Examples:
        """n of these examples, with replacement, with lengths from low to high or the nearest there are."""
        lengths = self.data.problems.lengths[indices]
        distance = (lengths - (high or self.longest)).clamp(min=0) + ((low or 0) - lengths).clamp(min=0)
        indices = indices[distance == distance.min()]
        return self.examples(indices[torch.randint(len(indices), (n,), generator=rng)])

    def examples(self, indices: Tensor) -> Examples:
        return Examples(*self.data.problems.pad(indices), *self.answers(indices))

    def answers(self, indices: Tensor) -> tuple[Tensor, ...]:
        """The targets, and their lengths where they are sequences."""
        raise NotImplementedError

    def held_out(self, examples: Examples) -> Tensor:
        return problem_hash(examples.source) <= self.data.highest_held_out_hash

    @property
    def _unit(self) -> str:
        return getattr(self, "unit", "word")

    def split(self, text: str) -> list[str]:
        return tokenize(text, self._unit)

    def read(self, text: str) -> list[int]:
        """Words outside the vocabulary become the unknown token."""
        words = self.split(text)
        if not words:
            raise DataError("The input is empty.")
        return [self.ids.get(word, UNKNOWN) for word in words]

    def say(self, ids: list[int]) -> str:
        tokens = self.show(ids)
        return "".join(tokens) if self._unit == "character" else join_words(tokens)


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomText(CustomTask):
    name = "own text"
    help = Text("Go on writing in the style of your text.")
    forms = ("stream",)

    unit: str = option(UNIT, "character")
    max_vocab: int = option(MAX_VOCAB, 10_000)
    context: int = option(CONTEXT, 64)

    def examples(self, indices: Tensor) -> Examples:
        empty = torch.zeros(len(indices), 0, dtype=torch.long)
        return Examples(empty, torch.zeros(len(indices), dtype=torch.long), *self.data.problems.pad(indices))

    def held_out(self, examples: Examples) -> Tensor:
        return problem_hash(examples.target) <= self.data.highest_held_out_hash

    def max_tokens(self, form: str) -> int:
        return self.context + 1


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomPairs(CustomTask):
    name = "own pairs"
    help = Text("Answer each of your sources with its target.")
    forms = ("pairs", "stream")

    unit: str = option(UNIT, "word")
    max_vocab: int = option(MAX_VOCAB, 10_000)

    def answers(self, indices: Tensor) -> tuple[Tensor, ...]:
        return self.data.answer_rows.pad(indices)

    def max_tokens(self, form: str) -> int:
        target = int(self.data.answer_rows.lengths.max()) + 1
        return self.longest + 1 + target if form == "stream" else max(self.longest, target)


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomLabels(CustomTask):
    name = "own labels"
    help = Text("Give each of your texts its label.")
    forms = ("label",)

    unit: str = option(UNIT, "word")
    max_vocab: int = option(MAX_VOCAB, 10_000)

    def answers(self, indices: Tensor) -> tuple[Tensor, ...]:
        return (self.data.answer_labels[indices],)


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomTags(CustomTask):
    name = "own tags"
    help = Text("Give each of your tokens its tag.")
    forms = ("tags",)

    max_vocab: int = option(MAX_VOCAB, 10_000)

    def answers(self, indices: Tensor) -> tuple[Tensor, ...]:
        return (self.data.answer_rows.pad(indices)[0],)

    def split(self, text: str) -> list[str]:
        return text.split()


def custom_task(name: str | PathLike[str], data: bytes | bytearray | None = None, /, **options: Any) -> CustomTask:
    """The task that fits a file, given by its name and its content (or its path alone)."""
    name = file_name(name)
    text = decode(name, read_bytes(name) if data is None else data)
    return from_content(name, Content(name.lower().rpartition(".")[2], text), options)


def custom_from_dict(task_dict: dict[str, Any]) -> CustomTask:
    """The inverse of `to_dict`; the dictionary may have the task's name too."""
    options = {name: value for name, value in task_dict.items() if name not in ("name", "file")}
    content = Content(task_dict["file"]["ending"], task_dict["file"]["text"])
    return from_content(f"own.{content.ending}", content, options)


def from_content(name: str, content: Content, options: dict[str, Any]) -> CustomTask:
    if content.ending == "txt":
        task: CustomTask = from_text(name, content.text, options)
    else:
        kind, records = parse_records(name, content)
        task = {"pairs": from_pairs, "labels": from_labels, "tags": from_tags}[kind](name, records, options)
    object.__setattr__(task, "content", content)
    return task


def from_text(name: str, text: str, options: dict[str, Any]) -> CustomText:
    """The text in disjoint pieces of `context` tokens, so that held-out ones share no position with the others."""
    task = CustomText.make(**options)
    words = tokenize(text, task.unit)
    size = task.context
    if len(words) < MIN_EXAMPLES * size:
        need = MIN_EXAMPLES * size
        fail(
            name,
            None,
            Text(
                "the text has {n_words} tokens; with context = {size} it needs at least {need}.",
                n_words=len(words),
                size=size,
                need=need,
            ),
        )
    tokens, ids = build_vocabulary(words, task.max_vocab)
    count = len(words) // size
    problems = RaggedRows.pack([[ids.get(word, UNKNOWN) for word in words[: count * size]]], [size] * count)
    return task.attach(name, Dataset(tokens, problems, None, []), task.max_vocab)


def from_pairs(name: str, records: list[Record], options: dict[str, Any]) -> CustomPairs:
    task = CustomPairs.make(**options)
    sources = [tokenize_cell(name, r.line, "source", r.first, task.unit) for r in records]
    targets = [tokenize_cell(name, r.line, "target", r.second, task.unit) for r in records]
    check_count(name, len(set(map(tuple, sources))))
    tokens, ids = build_vocabulary(chain.from_iterable([*sources, *targets]), task.max_vocab)
    data = Dataset(tokens, RaggedRows.encode(sources, ids), RaggedRows.encode(targets, ids), [])
    return task.attach(name, data, task.max_vocab)


def from_labels(name: str, records: list[Record], options: dict[str, Any]) -> CustomLabels:
    task = CustomLabels.make(**options)
    texts = [tokenize_cell(name, r.line, "text", r.first, task.unit) for r in records]
    labels = [as_text(name, r.line, "label", r.second) for r in records]
    check_count(name, len(set(map(tuple, texts))))
    label_ids = number_labels(name, labels)
    tokens, ids = build_vocabulary(chain.from_iterable(texts), task.max_vocab)
    answers = torch.tensor([label_ids[label] for label in labels])
    data = Dataset(tokens, RaggedRows.encode(texts, ids), answers, list(label_ids))
    return task.attach(name, data, task.max_vocab)


def from_tags(name: str, records: list[Record], options: dict[str, Any]) -> CustomTags:
    task = CustomTags.make(**options)
    words, tags = [], []
    for r in records:
        words.append(as_list(name, r.line, "tokens", r.first))
        tags.append(as_list(name, r.line, "tags", r.second))
        sizes = len(words[-1]), len(tags[-1])
        check_size(name, r.line, sizes[0])
        if sizes[0] != sizes[1]:
            fail(name, r.line, Text("{tokens} tokens, but {tags} tags.", tokens=sizes[0], tags=sizes[1]))
    check_count(name, len(set(map(tuple, words))))
    tag_ids = number_labels(name, chain.from_iterable(tags))
    tokens, ids = build_vocabulary(chain.from_iterable(words), task.max_vocab)
    data = Dataset(tokens, RaggedRows.encode(words, ids), RaggedRows.encode(tags, tag_ids), list(tag_ids))
    return task.attach(name, data, task.max_vocab)


def tokenize(text: str, unit: str) -> list[str]:
    return list(text) if unit == "character" else WORDS.findall(text)


def tokenize_cell(name: str, line: int, column: str, value: Any, unit: str) -> list[str]:
    words = tokenize(as_text(name, line, column, value), unit)
    check_size(name, line, len(words))
    return words
