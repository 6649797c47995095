"""What the tasks in words have in common: a grammar, answers that its templates know, and reading as people type."""

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


class Sentences(Task):
    """The problem is the grammar's English side."""

    @cached_property
    def grammar(self) -> Grammar:
        raise NotImplementedError

    @cached_property
    def answers(self) -> Tensor:
        """(template, …): the target of all sentences of a template"""
        raise NotImplementedError

    @property
    def tokens(self) -> list[str]:
        return self.grammar.tokens

    @property
    def longest(self) -> int:
        return min(getattr(self, "max_len", 512), int(self.grammar.lengths["en"].max()))

    def room(self, form: str) -> int:
        return int(self.grammar.lengths["en"].max())

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        high = high or self.longest
        chosen, filled = self.grammar.draw(n, rng, "en", min(low or 1, high), high)
        return Examples(*self.grammar.render("en", chosen, filled), self.answers[chosen])

    def solve(self, source: list[int]) -> list[int] | int | None:
        found = self.grammar.recognise("en", source)
        if found is None:
            return None
        answer = self.answers[found[0]].tolist()
        return answer[: len(source)] if "tags" in self.forms else answer

    def split(self, text: str) -> list[str]:
        """Words and punctuation; capitals where the task has them."""
        found = []
        for word in WORDS.findall(text):
            spellings = (word, word.lower(), word.capitalize(), word.upper())
            found.append(next((spelling for spelling in spellings if spelling in self.ids), word))
        return found

    def say(self, ids: list[int]) -> str:
        return write(self.show(ids))


def write(words: list[str]) -> str:
    """Words as a line: spaces between them, but not before punctuation nor within Chinese."""
    line = ""
    for word in words:
        tight = word in NO_SPACE_BEFORE or CHINESE.match(word) or CHINESE.match(line[-1:])
        line += word if not line or tight else " " + word
    return line
