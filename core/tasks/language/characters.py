"""Character-level language modelling of English sentences, and the Bayes-optimal accuracy and loss on them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from core.tasks.base import SPECIAL, Examples, Task
from core.tasks.language.grammar.bilingual import bilingual_grammar
from core.tasks.language.grammar.optimal import NextWordModel
from core.tasks.language.grammar.templates import Token
from core.tasks.language.grammar_task import NO_SPACE_BEFORE
from core.tasks.layouts import remove_zeros
from core.tasks.shared_options import MAX_WORDS, integer, option
from core.translatable import Text

LIMIT_SAMPLE = 256  # held-out texts on which the limits are measured
WORD = re.compile(r" ?[A-Za-z]+|[.,?]|'s")  # as spelt, with the space before it
END = ""  # the character after the last
N_SENTENCES = integer("n_sentences", 1, 8, Text("How many sentences a text has."))


class Limits(NamedTuple):
    """The best accuracy and loss per character that any model can expect: those of `NextCharacterModel`."""

    accuracy: float
    loss: float  # mean of −ln p


@dataclass(frozen=True, kw_only=True)
class Characters(Task):
    """The source is empty: the text is the target, from its first character on."""

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
        grammar = bilingual_grammar(SPECIAL)
        return [word if word.isascii() else "" for word in grammar.tokens]

    @cached_property
    def spelling(self) -> Tensor:
        """(word, character): each word with the space before it, padded with 0"""
        spellings = [word if word in NO_SPACE_BEFORE or not word else " " + word for word in self._words]
        width = max(map(len, spellings))
        table = [[self.ids[c] for c in word] + [0] * (width - len(word)) for word in spellings]
        return torch.tensor(table) * (torch.arange(len(table)) >= len(SPECIAL))[:, None]

    @property
    def ceiling(self) -> float:
        """The best accuracy that can be expected: which sentence comes is random."""
        return measure_limits(self).accuracy

    @property
    def entropy(self) -> float:
        """The entropy of the text, the lowest loss that can be expected, in nats per character."""
        return measure_limits(self).loss

    @property
    def longest(self) -> int:
        """Counted in sentences."""
        return self.n_sentences

    def max_tokens(self, form: str) -> int:
        grammar = bilingual_grammar(SPECIAL)
        short_enough = grammar.length_weights("en", None, self.max_len) > 0

        def width(token: Token) -> int:
            return max(map(len, grammar.lexicon[token.category][token.form] if token.slot else [token.word])) + 1

        sentences = (grammar.templates[row].parsed["en"][0] for row in short_enough.nonzero().squeeze(1).tolist())
        return 1 + self.n_sentences * max(sum(map(width, tokens)) for tokens in sentences)

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        count = high or self.n_sentences
        grammar = bilingual_grammar(SPECIAL)
        words, _ = grammar.render("en", *grammar.draw(n * count, rng, "en", high=self.max_len))
        characters = self.spelling[words]  # (n · count, word, character)
        characters.view(n, -1)[:, 0] = 0  # no space at the beginning of a text
        target, lengths = remove_zeros(characters.view(n, -1))
        empty = torch.zeros(n, 0, dtype=torch.long)
        return Examples(empty, torch.zeros(n, dtype=torch.long), target, lengths)

    def held_out(self, examples: Examples) -> Tensor:
        return self.hash_split(examples.target)

    def split(self, text: str) -> list[str]:
        return list(text)


class TextState(NamedTuple):
    """A text up to a boundary between two words."""

    words: tuple[int, ...]  # of the current sentence
    sentences_left: int  # with the current one
    empty: bool = False  # the text has no character yet


class NextCharacterModel:
    """Bayes-optimal p(next character | text so far), by summing over the words that can come next."""

    def __init__(self, max_len: int):
        grammar = bilingual_grammar(SPECIAL)
        self.ids = grammar.ids
        self.word_model = NextWordModel(grammar, "en", grammar.length_weights("en", None, max_len))
        self.spellings = [word if word in NO_SPACE_BEFORE else " " + word for word in grammar.tokens]

    def advance(self, state: TextState, word: str) -> TextState:
        """The state after one more word, given as it is spelt."""
        words = (*state.words, self.ids[word.strip()])
        sentence_is_over = None in self.word_model.next_words(words)
        return TextState((), state.sentences_left - 1) if sentence_is_over else TextState(words, state.sentences_left)

    def next_words(self, state: TextState) -> dict[str, float]:
        """p(word), as spelt with the space before it"""
        if not state.sentences_left:
            return {END: 1.0}
        space = " " if state.empty else ""  # to be removed
        probabilities = self.word_model.next_words(state.words)
        return {self.spellings[word].lstrip(space): p for word, p in probabilities.items() if word is not None}

    def next_characters(self, state: TextState, prefix: str) -> dict[str, float]:
        """p(character), up to a factor, after the first characters of a word; the prefix may be a whole word too."""
        weights: dict[str, float] = {}
        for word, p in self.next_words(state).items():
            if word == prefix:
                for next_word, q in self.next_words(self.advance(state, word)).items():
                    weights[next_word[:1]] = weights.get(next_word[:1], 0.0) + p * q
            elif word.startswith(prefix):
                weights[word[len(prefix)]] = weights.get(word[len(prefix)], 0.0) + p
        return weights

    def score(self, text: str, n_sentences: int) -> list[tuple[float, float]]:
        """For each character of the text, and its end: its probability, and that of the likeliest in its position."""
        words, scores = [*WORD.findall(text), END], []
        state = TextState((), n_sentences, empty=True)
        for word, next_word in pairwise(words):
            for i in range(0 if state.empty else 1, len(word) + 1):
                weights = self.next_characters(state, word[:i])
                actual, total = weights[word[i] if i < len(word) else next_word[:1]], sum(weights.values())
                scores.append((actual / total, max(weights.values()) / total))
            state = self.advance(state, word)
        return scores


@lru_cache(maxsize=8)
def measure_limits(task: Characters) -> Limits:
    examples, model = task.evaluation(LIMIT_SAMPLE), NextCharacterModel(task.max_len)
    texts = [task.say([i for i in row if i]) for row in examples.target.tolist()]
    scores = [score for text in texts for score in model.score(text, task.n_sentences)]
    loss = -sum(math.log(p) for p, _ in scores) / len(scores)
    return Limits(sum(best for _, best in scores) / len(scores), loss)
