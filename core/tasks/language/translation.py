"""English to Chinese, word by word but not in the same order: what cross-attention has to find out is known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from core.messages import Text
from core.tasks.base import SPECIAL, Examples
from core.tasks.language.grammar.bilingual import bilingual
from core.tasks.language.grammar.templates import Grammar
from core.tasks.language.sentences import Sentences
from core.tasks.shared_options import MAX_WORDS, MIN_WORDS, option
from core.tasks.synthetic.copying import check_lengths


@dataclass(frozen=True, kw_only=True)
class Translation(Sentences):
    name = "translation"
    help = Text("Translate English sentences into Chinese.")
    forms = ("pairs", "stream")

    min_len: int = option(MIN_WORDS, 4)
    max_len: int = option(MAX_WORDS, 12)

    def check(self) -> None:
        check_lengths(self.min_len, self.max_len)

    @cached_property
    def grammar(self) -> Grammar:
        return bilingual(SPECIAL)

    def room(self, form: str) -> int:
        longest = [int(self.grammar.lengths[side].max()) for side in ("en", "zh")]
        return sum(longest) + 2 if form == "stream" else max(longest) + 1

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        high = high or self.max_len
        chosen, filled = self.grammar.draw(n, rng, "en", min(low or self.min_len, high), high)
        return Examples(*self.grammar.render("en", chosen, filled), *self.grammar.render("zh", chosen, filled))

    def solve(self, source: list[int]) -> list[int] | None:
        return self.grammar.translate(source, "en", "zh")

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]] | None:
        """As the grammar made it: which English words each Chinese word comes from."""
        found = self.grammar.recognise("en", source)
        return None if found is None else self.grammar.templates[found[0]].links("zh", "en")
