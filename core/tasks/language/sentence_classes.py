"""Sentence classification: statement, negation, question or command. No single word decides; word order does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from core.tasks.base import SPECIAL
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.templates import Grammar, Template, choose_phrases, fill_frame
from core.tasks.language.grammar_task import GrammarTask
from core.tasks.shared_options import MAX_WORDS, option
from core.translatable import Text

LABELS = [Text("statement"), Text("negation"), Text("question"), Text("command")]
SUBJECTS = ["{person1.en}", "the {role1.en}", "{pron1.en}", "the {role1.en} who {meet1.past} {person2.en}"]
OBJECTS = [
    "the {thing1.en}",
    "{adj1.art} {adj1.en} {thing1.en}",
    "the {thing1.en} that {person3.en} did not {do2.en}",
]
PLACES = ["", "in the {place1.en}"]
CHOICES = {"S": SUBJECTS, "O": OBJECTS, "P": PLACES}
FRAMES = [
    ["S {do1.past} O P", "S {modal1.en} {do1.en} O P", "S did {do1.en} O P", "P S did {do1.en} O"],
    ["S did not {do1.en} O P", "S {modal1.en} not {do1.en} O P", "S never {do1.past} O P"],
    ["did S {do1.en} O P", "{modal1.en} S {do1.en} O P", "did S not {do1.en} O P", "who {do1.past} O P", "who did not {do1.en} O P", "{modal1.en} you please {do1.en} O P"],
    ["{do1.en} O P", "do not {do1.en} O P", "please {do1.en} O P", "never {do1.en} O P", "let {person1.en} {do1.en} O P", "do {do1.en} O P"],
]  # fmt: skip


@lru_cache(maxsize=1)
def sentence_class_grammar() -> Grammar:
    """All classes are equally frequent, and within each all frames; neither "not" nor "who" nor "did" decides."""
    templates = []
    for label, frames in enumerate(FRAMES):
        for frame in frames:
            texts = {fill_frame(frame, phrases) for phrases in choose_phrases(frame, CHOICES)}
            weight = 1 / (len(frames) * len(texts))
            templates += [Template({"en": text}, label, weight) for text in sorted(texts)]
    return Grammar(LEXICON, templates, SPECIAL)


@dataclass(frozen=True, kw_only=True)
class SentenceClasses(GrammarTask):
    name = "sentence classes"
    help = Text("Is it a statement, a negation, a question or a command?")
    forms = ("label",)

    max_len: int = option(MAX_WORDS, 20)

    @cached_property
    def grammar(self) -> Grammar:
        return sentence_class_grammar()

    @cached_property
    def answers(self) -> Tensor:
        return self.grammar.labels

    @property
    def chance(self) -> float:
        """The share of the most frequent class; all are equal unless `max_len` excludes some templates."""
        weights = self.grammar.length_weights("en", None, self.longest)
        shares = torch.zeros(len(LABELS)).index_add(0, self.grammar.labels, weights)
        return float(shares.max() / shares.sum())

    @property
    def label_names(self) -> list[Text]:
        return LABELS
