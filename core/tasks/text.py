"""English, character by character: spelling first, then words, then which words go together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from core.options import Text
from core.tasks.base import SPECIAL, Examples, Task, problem_hash
from core.tasks.bilingual import bilingual
from core.tasks.grammar import Token
from core.tasks.knobs import integer, option
from core.tasks.layouts import close_gaps
from core.tasks.sentences import NO_SPACE_BEFORE

N_SENTENCES = integer("n_sentences", 1, 8, "How many sentences a text has.", "一段文本有多少个句子。")


@dataclass(frozen=True, kw_only=True)
class Characters(Task):
    """Nothing is given: the text is what is asked for, from its first character on."""

    name = "characters"
    help = Text("Write English, one character at a time.", "逐字符书写英语。")
    forms = ("stream",)
    joiner = ""

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
    def longest(self) -> int:
        """In sentences."""
        return self.n_sentences

    def room(self, form: str) -> int:
        grammar = bilingual(SPECIAL)

        def width(token: Token) -> int:
            return max(map(len, grammar.lexicon[token.category][token.form] if token.slot else [token.word])) + 1

        return 1 + self.n_sentences * max(sum(map(width, t.parsed["en"][0])) for t in grammar.templates)

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        count = high or self.n_sentences
        grammar = bilingual(SPECIAL)
        words, _ = grammar.render("en", *grammar.draw(n * count, rng, "en"))
        characters = self.spelling[words]  # (n · count, word, character)
        characters.view(n, -1)[:, 0] = 0  # no space at the beginning
        target, lengths = close_gaps(characters.view(n, -1))
        nothing = torch.zeros(n, 0, dtype=torch.long)
        return Examples(nothing, torch.zeros(n, dtype=torch.long), target, lengths)

    def held_out(self, examples: Examples) -> Tensor:
        return problem_hash(examples.target) % round(1 / self.held_out_share) == 0

    def split(self, text: str) -> list[str]:
        return list(text)
