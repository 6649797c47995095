"""Two sentences: does the second go on from the first? BERT's other lesson, by itself and without holes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from core.messages import Text
from core.tasks.base import Batch, Examples
from core.tasks.language.grammar.templates import Grammar
from core.tasks.language.masked_words import SEP, framed, held_out_first, stories
from core.tasks.language.sentences import Sentences
from core.tasks.layouts import lay_out_label, sentence_segments


@dataclass(frozen=True, kw_only=True)
class NextSentence(Sentences):
    """The second sentence is about the same person and thing, or about others: names have to be compared."""

    name = "next sentence"
    help = Text("Does the second sentence go on from the first?")
    forms = ("label",)

    @cached_property
    def grammar(self) -> Grammar:
        return stories()

    @cached_property
    def answers(self) -> Tensor:
        return self.grammar.labels

    @property
    def label_names(self) -> list[Text]:
        return [Text("does not follow"), Text("follows")]

    @property
    def chance(self) -> float:
        """Every pair of sentence patterns comes with the same names and with others, equally often."""
        return 0.5

    def heads(self, family: str) -> list[str]:
        """For those who are told which sentence a token belongs to."""
        return super().heads(family) if family in ("bert", "roformer") else []

    def held_out(self, examples: Examples) -> Tensor:
        return held_out_first(examples.source, self.held_out_share)

    def lay_out(self, examples: Examples, form: str) -> Batch:
        batch = lay_out_label(examples)
        source, lengths = batch.inputs
        return Batch((source, lengths, sentence_segments(source, lengths, SEP)), batch.target, lengths)

    def read(self, text: str) -> list[int]:
        return framed(super().read(text))
