"""Next-sentence prediction: does the second sentence follow the first? BERT's second objective, without masks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from core.tasks.base import Batch, Examples
from core.tasks.language.grammar.templates import Grammar
from core.tasks.language.grammar_task import GrammarTask
from core.tasks.language.masked_words import SEP, add_cls_and_sep, first_sentence, stories_grammar
from core.tasks.layouts import lay_out_label, sentence_segments
from core.translatable import Text


@dataclass(frozen=True, kw_only=True)
class NextSentence(GrammarTask):
    """The second sentence is about the same person and thing, or about others: names have to be compared."""

    name = "next sentence"
    help = Text("Does the second sentence go on from the first?")
    forms = ("label",)

    @cached_property
    def grammar(self) -> Grammar:
        return stories_grammar()

    @cached_property
    def answers(self) -> Tensor:
        return self.grammar.labels

    @property
    def label_names(self) -> list[Text]:
        return [Text("does not follow"), Text("follows")]

    @property
    def chance(self) -> float:
        """Every pair of templates has the same names or others, equally often."""
        return 0.5

    def heads(self, family: str) -> list[str]:
        """Only families with segment ids as an input."""
        return super().heads(family) if family in ("bert", "roformer") else []

    def held_out(self, examples: Examples) -> Tensor:
        """By the first sentence alone, as in the task masked words."""
        return self.hash_split(first_sentence(examples.source))

    def lay_out(self, examples: Examples, form: str) -> Batch:
        batch = lay_out_label(examples)
        source, lengths = batch.inputs
        return Batch((source, lengths, sentence_segments(source, lengths, SEP)), batch.target, lengths)

    def read(self, text: str) -> list[int]:
        return add_cls_and_sep(super().read(text))
