"""Tasks from somebody's own file: `custom_task(name, data)` looks at it and makes the task that fits.

.txt                                  → write on, by characters or words
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
from typing import Any, ClassVar

import torch
from torch import Tensor

from core.messages import Text, verbatim
from core.tasks.base import CHANCE_SAMPLE, DataError, Examples, Task, problem_hash
from core.tasks.baselines import blind_guess
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
    numbered,
    read,
    records,
)  # fmt: skip
from core.tasks.custom.ragged import UNKNOWN, Data, Ragged, ragged, vocabulary
from core.tasks.language.sentences import write
from core.tasks.shared_options import choice, integer, option

PIECES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|[^\w\s]")  # Chinese by character
# fmt: off
UNIT = choice("unit", Text("What one token is."), {
    "word": Text("a word; punctuation and Chinese characters by themselves"),
    "character": Text("a character"),
})
MAX_VOCAB = integer("max_vocab", 16, 100_000, Text("Only so many of the commonest tokens are told apart."))
CONTEXT = integer("context", 8, 512, Text("Tokens that are read at a time."))
# fmt: on


class CustomTask(Task):
    """The knobs say how to read the file; `data` is what was read, `content` the text it was read from.

    Whatever the file was called: two such tasks are the same if their knobs and their texts are.
    """

    data: ClassVar[Data]
    content: ClassVar[Content]

    @classmethod
    def holding(cls, name: str, data: Data, **task_options: Any) -> CustomTask:
        task = cls.make(**task_options)
        folded = bool((data.problems.flat == UNKNOWN).any())  # what differs in rare words only is the same by now
        check_count(name, len(data.hashes.unique()), task.max_vocab if folded else None)
        object.__setattr__(task, "data", data)
        return task

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._facts == other._facts

    def __hash__(self) -> int:
        return hash(self.content.digest)

    @property
    def _facts(self) -> tuple[dict[str, Any], str]:
        return super().to_dict(), self.content.digest

    def to_dict(self) -> dict[str, Any]:
        """With the text itself: whoever has this can make the task, without the file."""
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
        examples = self.gather(CHANCE_SAMPLE, torch.Generator().manual_seed(0xC0DE), held_out=False)
        return blind_guess(self.lay_out(examples, self.forms[0]), self.forms[0])

    @cached_property
    def longest(self) -> int:
        return int(self.data.problems.lengths.max())

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        return self.choose(torch.arange(len(self.data.problems.lengths)), n, rng, low, high)

    def gather(self, n: int, rng: torch.Generator, held_out: bool, **lengths: int | None) -> Examples:
        return self.choose((self.data.held_out == held_out).nonzero().squeeze(1), n, rng, **lengths)

    def choose(self, rows: Tensor, n: int, rng: torch.Generator, low=None, high=None) -> Examples:
        """n of these rows with lengths from low to high, or the nearest there are."""
        sizes = self.data.problems.lengths[rows]
        away = (sizes - (high or self.longest)).clamp(min=0) + ((low or 0) - sizes).clamp(min=0)
        rows = rows[away == away.min()]
        return self.examples(rows[torch.randint(len(rows), (n,), generator=rng)])

    def examples(self, picked: Tensor) -> Examples:
        return Examples(*self.data.problems.rows(picked), *self.answers(picked))

    def answers(self, picked: Tensor) -> tuple[Tensor, ...]:
        """The targets, and their lengths where they are sequences."""
        raise NotImplementedError

    def held_out(self, examples: Examples) -> Tensor:
        return problem_hash(examples.source) <= self.data.last_held_out

    def split(self, text: str) -> list[str]:
        return pieces(text, getattr(self, "unit", "word"))

    def read(self, text: str) -> list[int]:
        """Words that were not in the file are read as unknown."""
        words = self.split(text)
        if not words:
            raise DataError("The input is empty.")
        return [self.ids.get(word, UNKNOWN) for word in words]

    def say(self, ids: list[int]) -> str:
        shown = self.show(ids)
        return "".join(shown) if getattr(self, "unit", "word") == "character" else write(shown)


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomText(CustomTask):
    name = "own text"
    help = Text("Go on writing in the style of your text.")
    forms = ("stream",)

    unit: str = option(UNIT, "character")
    max_vocab: int = option(MAX_VOCAB, 10_000)
    context: int = option(CONTEXT, 64)

    def examples(self, picked: Tensor) -> Examples:
        nothing = torch.zeros(len(picked), 0, dtype=torch.long)
        return Examples(nothing, torch.zeros(len(picked), dtype=torch.long), *self.data.problems.rows(picked))

    def held_out(self, examples: Examples) -> Tensor:
        return super().held_out(Examples(examples.target, examples.target_lengths, examples.target))

    def room(self, form: str) -> int:
        return self.context + 1


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomPairs(CustomTask):
    name = "own pairs"
    help = Text("Answer each of your sources with its target.")
    forms = ("pairs", "stream")

    unit: str = option(UNIT, "word")
    max_vocab: int = option(MAX_VOCAB, 10_000)

    def answers(self, picked: Tensor) -> tuple[Tensor, ...]:
        return self.data.answers.rows(picked)

    def room(self, form: str) -> int:
        target = int(self.data.answers.lengths.max()) + 1
        return self.longest + 1 + target if form == "stream" else max(self.longest, target)


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomLabels(CustomTask):
    name = "own labels"
    help = Text("Give each of your texts its label.")
    forms = ("label",)

    unit: str = option(UNIT, "word")
    max_vocab: int = option(MAX_VOCAB, 10_000)

    def answers(self, picked: Tensor) -> tuple[Tensor, ...]:
        return (self.data.answers[picked],)


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomTags(CustomTask):
    name = "own tags"
    help = Text("Give each of your tokens its tag.")
    forms = ("tags",)

    max_vocab: int = option(MAX_VOCAB, 10_000)

    def answers(self, picked: Tensor) -> tuple[Tensor, ...]:
        return (self.data.answers.rows(picked)[0],)

    def split(self, text: str) -> list[str]:
        return text.split()


def custom_task(name: str | PathLike[str], data: bytes | None = None, /, **task_options: Any) -> CustomTask:
    """The task that fits a file, given by its name and its content (or its path alone)."""
    name = file_name(name)
    text = decode(name, read(name) if data is None else data)
    return from_content(name, Content(name.lower().rpartition(".")[2], text), task_options)


def from_content(name: str, content: Content, task_options: dict[str, Any]) -> CustomTask:
    if content.ending == "txt":
        make, found = from_text, content.text
    else:
        kind, found = records(name, content)
        make = {"pairs": from_pairs, "labels": from_labels, "tags": from_tags}[kind]
    task = make(name, found, task_options)
    object.__setattr__(task, "content", content)
    return task


def custom_from_dict(facts: dict[str, Any]) -> CustomTask:
    """The inverse of `to_dict`, the task's name being among the facts."""
    task_options = {name: value for name, value in facts.items() if name not in ("name", "file")}
    content = Content(facts["file"]["ending"], facts["file"]["text"])
    return from_content(f"own.{content.ending}", content, task_options)


def from_text(name: str, text: str, task_options: dict[str, Any]) -> CustomText:
    """The text cut into pieces of `context` tokens: those that are held out share nothing with the others."""
    wanted = CustomText.make(**task_options)
    words = list(text) if wanted.unit == "character" else pieces(text, "word")
    size = wanted.context
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
    tokens, ids = vocabulary(words, wanted.max_vocab)
    count = len(words) // size
    problems = Ragged.of([[ids.get(word, UNKNOWN) for word in words[: count * size]]], [size] * count)
    return CustomText.holding(name, Data(tokens, problems, None, []), **task_options)


def from_pairs(name: str, found: list[Record], task_options: dict[str, Any]) -> CustomPairs:
    wanted = CustomPairs.make(**task_options)
    sources = [cut(name, r.line, "source", r.first, wanted.unit) for r in found]
    targets = [cut(name, r.line, "target", r.second, wanted.unit) for r in found]
    check_count(name, len(set(map(tuple, sources))))
    tokens, ids = vocabulary(chain.from_iterable([*sources, *targets]), wanted.max_vocab)
    return CustomPairs.holding(name, Data(tokens, ragged(sources, ids), ragged(targets, ids), []), **task_options)


def from_labels(name: str, found: list[Record], task_options: dict[str, Any]) -> CustomLabels:
    wanted = CustomLabels.make(**task_options)
    texts = [cut(name, r.line, "text", r.first, wanted.unit) for r in found]
    labels = [as_text(name, r.line, "label", r.second) for r in found]
    check_count(name, len(set(map(tuple, texts))))
    numbers = numbered(name, labels)
    tokens, ids = vocabulary(chain.from_iterable(texts), wanted.max_vocab)
    answers = torch.tensor([numbers[label] for label in labels])
    return CustomLabels.holding(name, Data(tokens, ragged(texts, ids), answers, list(numbers)), **task_options)


def from_tags(name: str, found: list[Record], task_options: dict[str, Any]) -> CustomTags:
    wanted = CustomTags.make(**task_options)
    words, tags = [], []
    for r in found:
        words.append(as_list(name, r.line, "tokens", r.first))
        tags.append(as_list(name, r.line, "tags", r.second))
        sizes = len(words[-1]), len(tags[-1])
        check_size(name, r.line, sizes[0])
        if sizes[0] != sizes[1]:
            fail(name, r.line, Text("{tokens} tokens, but {tags} tags.", tokens=sizes[0], tags=sizes[1]))
    check_count(name, len(set(map(tuple, words))))
    numbers = numbered(name, chain.from_iterable(tags))
    tokens, ids = vocabulary(chain.from_iterable(words), wanted.max_vocab)
    return CustomTags.holding(
        name, Data(tokens, ragged(words, ids), ragged(tags, numbers), list(numbers)), **task_options
    )


def pieces(text: str, unit: str) -> list[str]:
    return list(text) if unit == "character" else PIECES.findall(text)


def cut(name: str, line: int, column: str, value: Any, unit: str) -> list[str]:
    words = pieces(as_text(name, line, column, value), unit)
    check_size(name, line, len(words))
    return words
