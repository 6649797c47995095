"""English, character by character: spelling first, then words, then which words go together."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from core.messages import Text
from core.tasks.base import SPECIAL, Examples, Task, problem_hash
from core.tasks.language.grammar.bilingual import bilingual
from core.tasks.language.grammar.optimal import NextWord
from core.tasks.language.grammar.templates import Token
from core.tasks.language.sentences import NO_SPACE_BEFORE
from core.tasks.layouts import close_gaps
from core.tasks.shared_options import MAX_WORDS, integer, option

JUDGED = 256  # held-out texts on which the best writer is tried
WORD = re.compile(r" ?[A-Za-z]+|[.,?]|'s")  # as spelt, with the space before it
END = ""  # the character after the last
N_SENTENCES = integer("n_sentences", 1, 8, Text("How many sentences a text has."))


class Limits(NamedTuple):
    """What whoever knows all sentences by heart reaches, in characters."""

    accuracy: float
    loss: float  # −ln p of a character, on average


@dataclass(frozen=True, kw_only=True)
class Characters(Task):
    """Nothing is given: the text is what is asked for, from its first character on."""

    name = "characters"
    help = Text("Write English, one character at a time.")
    forms = ("stream",)
    joiner = ""

    max_len: int = option(MAX_WORDS, 8)
    n_sentences: int = option(N_SENTENCES, 1)

    @cached_property
    def tokens(self) -> list[str]:
        return [*SPECIAL, *sorted({c for word in self._words for c in word} | {" "})]

    @cached_property
    def _words(self) -> list[str]:
        grammar = bilingual(SPECIAL)
        return [word if word.isascii() else "" for word in grammar.tokens]

    @cached_property
    def spelling(self) -> Tensor:
        """(word, character): each word with the space before it, padded with 0"""
        spelt = [word if word in NO_SPACE_BEFORE or not word else " " + word for word in self._words]
        width = max(map(len, spelt))
        table = [[self.ids[c] for c in word] + [0] * (width - len(word)) for word in spelt]
        return torch.tensor(table) * (torch.arange(len(table)) >= len(SPECIAL))[:, None]

    @property
    def ceiling(self) -> float:
        """The best accuracy there is: nobody knows which sentence is about to be written."""
        return limits(self).accuracy

    @property
    def entropy(self) -> float:
        """The lowest loss there is, in nats per character."""
        return limits(self).loss

    @property
    def longest(self) -> int:
        """In sentences."""
        return self.n_sentences

    def room(self, form: str) -> int:
        grammar, within = bilingual(SPECIAL), bilingual(SPECIAL).allowed("en", None, self.max_len) > 0

        def width(token: Token) -> int:
            return max(map(len, grammar.lexicon[token.category][token.form] if token.slot else [token.word])) + 1

        chosen = (grammar.templates[row].parsed["en"][0] for row in within.nonzero().squeeze(1).tolist())
        return 1 + self.n_sentences * max(sum(map(width, tokens)) for tokens in chosen)

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        count = high or self.n_sentences
        grammar = bilingual(SPECIAL)
        words, _ = grammar.render("en", *grammar.draw(n * count, rng, "en", high=self.max_len))
        characters = self.spelling[words]  # (n · count, word, character)
        characters.view(n, -1)[:, 0] = 0  # no space at the beginning
        target, lengths = close_gaps(characters.view(n, -1))
        nothing = torch.zeros(n, 0, dtype=torch.long)
        return Examples(nothing, torch.zeros(n, dtype=torch.long), target, lengths)

    def held_out(self, examples: Examples) -> Tensor:
        return problem_hash(examples.target) % round(1 / self.held_out_share) == 0

    def split(self, text: str) -> list[str]:
        return list(text)


class Place(NamedTuple):
    """Where a writer stands between two words."""

    read: tuple[int, ...]  # words of this sentence
    left: int  # sentences, with this one
    first: bool = False  # nothing is written yet


class Writer:
    """Which character comes next, for who knows all sentences by heart."""

    def __init__(self, max_len: int):
        grammar = bilingual(SPECIAL)
        self.ids = grammar.ids
        self.reader = NextWord(grammar, "en", grammar.allowed("en", None, max_len))
        self.spelt = [word if word in NO_SPACE_BEFORE else " " + word for word in grammar.tokens]

    def after(self, place: Place, written: str) -> Place:
        read = (*place.read, self.ids[written.strip()])
        over = None in self.reader.next_words(read)
        return Place((), place.left - 1) if over else Place(read, place.left)

    def next_words(self, place: Place) -> dict[str, float]:
        """p(word), as spelt"""
        if not place.left:
            return {END: 1.0}
        found = self.reader.next_words(place.read)
        return {self.spelt[word].lstrip(" " if place.first else ""): p for word, p in found.items()}

    def next_characters(self, place: Place, begun: str) -> dict[str, float]:
        """p(character), up to a factor, where a word has begun like this; it may be a whole one already."""
        found: dict[str, float] = {}
        for word, p in self.next_words(place).items():
            if word == begun:
                for following, q in self.next_words(self.after(place, word)).items():
                    found[following[:1]] = found.get(following[:1], 0.0) + p * q
            elif word.startswith(begun):
                found[word[len(begun)]] = found.get(word[len(begun)], 0.0) + p
        return found

    def follow(self, text: str, n_sentences: int) -> list[tuple[float, float]]:
        """Per character of the text, and for its end: its probability, and that of the likeliest in its place."""
        words, judged = [*WORD.findall(text), END], []
        place = Place((), n_sentences, first=True)
        for word, following in pairwise(words):
            for i in range(0 if place.first else 1, len(word) + 1):
                found = self.next_characters(place, word[:i])
                actual, total = found[word[i] if i < len(word) else following[:1]], sum(found.values())
                judged.append((actual / total, max(found.values()) / total))
            place = self.after(place, word)
        return judged


@lru_cache(maxsize=8)
def limits(task: Characters) -> Limits:
    examples, writer = task.evaluation(JUDGED), Writer(task.max_len)
    texts = [task.say([i for i in row if i]) for row in examples.target.tolist()]
    judged = [one for text in texts for one in writer.follow(text, task.n_sentences)]
    loss = -sum(math.log(p) for p, _ in judged) / len(judged)
    return Limits(sum(best for _, best in judged) / len(judged), loss)
