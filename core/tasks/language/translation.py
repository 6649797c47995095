"""Translation from English to Chinese with different word order; the true word alignment is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from core.tasks.base import SPECIAL, Examples
from core.tasks.language.grammar.bilingual import bilingual_grammar
from core.tasks.language.grammar.templates import Grammar
from core.tasks.language.grammar_task import GrammarTask
from core.tasks.length_range import LengthRange
from core.tasks.shared_options import MAX_WORDS, MIN_WORDS, option
from core.translatable import Text


@dataclass(frozen=True, kw_only=True)
class Translation(GrammarTask, LengthRange):
    name = "translation"
    help = Text("Translate English sentences into Chinese.")
    forms = ("pairs", "stream")

    min_len: int = option(MIN_WORDS, 4)
    max_len: int = option(MAX_WORDS, 12)

    @cached_property
    def grammar(self) -> Grammar:
        return bilingual_grammar(SPECIAL)

    def max_tokens(self, form: str) -> int:
        longest = [int(self.grammar.lengths[side].max()) for side in ("en", "zh")]
        return sum(longest) + 2 if form == "stream" else max(longest) + 1

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        templates, fillers = self.grammar.draw(n, rng, "en", *self.length_bounds(low, high))
        english, chinese = (self.grammar.render(side, templates, fillers) for side in ("en", "zh"))
        return Examples(*english, *chinese)

    def solve(self, source: list[int]) -> list[int] | None:
        return self.grammar.translate(source, "en", "zh")

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]] | None:
        """The English words that each Chinese word translates."""
        parse = self.grammar.parse("en", source)
        return None if parse is None else self.grammar.templates[parse.template].links("zh", "en")
