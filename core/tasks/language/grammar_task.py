"""`GrammarTask`: base of the tasks on sentences of a template grammar, and text to and from words."""

from __future__ import annotations

import re
from functools import cached_property

import torch
from torch import Tensor

from core.tasks.base import Examples, Task
from core.tasks.language.grammar.templates import Grammar

WORDS = re.compile(r"'s\b|[\w-]+|\[\w+\]|[^\w\s]")
CHINESE = re.compile(r"[\u4e00-\u9fff，。？]")
NO_SPACE_BEFORE = (".", ",", "?", "!", "'s")


class GrammarTask(Task):
    """A problem is an English sentence of the grammar; its answer depends on the template only."""

    @cached_property
    def grammar(self) -> Grammar:
        raise NotImplementedError

    @cached_property
    def answers(self) -> Tensor:
        """(template, …): the target of each template's sentences"""
        raise NotImplementedError

    @property
    def tokens(self) -> list[str]:
        return self.grammar.tokens

    @property
    def longest(self) -> int:
        return min(getattr(self, "max_len", 512), int(self.grammar.lengths["en"].max()))

    def max_tokens(self, form: str) -> int:
        return int(self.grammar.lengths["en"].max())

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        high = high or self.longest
        templates, fillers = self.grammar.draw(n, rng, "en", min(low or 1, high), high)
        return Examples(*self.grammar.render("en", templates, fillers), self.answers[templates])

    def solve(self, source: list[int]) -> list[int] | int | None:
        parse = self.grammar.parse("en", source)
        if parse is None:
            return None
        answer = self.answers[parse.template].tolist()
        return answer[: len(source)] if "tags" in self.forms else answer

    def split(self, text: str) -> list[str]:
        """Words and punctuation, in the capitalisation that the vocabulary has."""
        words = []
        for word in WORDS.findall(text):
            spellings = (word, word.lower(), word.capitalize(), word.upper())
            words.append(next((spelling for spelling in spellings if spelling in self.ids), word))
        return words

    def say(self, ids: list[int]) -> str:
        return join_words(self.show(ids))


def join_words(words: list[str]) -> str:
    """Words as one line of text: spaces between them, but not before punctuation nor within Chinese."""
    line = ""
    for word in words:
        no_space = word in NO_SPACE_BEFORE or CHINESE.match(word) or CHINESE.match(line[-1:])
        line += word if not line or no_space else " " + word
    return line
