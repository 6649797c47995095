"""What does a sentence do: state, deny, ask or command? No single word tells; their order does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import torch
from torch import Tensor

from core.messages import Text
from core.tasks.base import SPECIAL
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.templates import Grammar, Template
from core.tasks.language.sentences import Sentences
from core.tasks.shared_options import MAX_WORDS, option

LABELS = [Text("statement"), Text("negation"), Text("question"), Text("command")]
SUBJECTS = ["{person1.en}", "the {role1.en}", "{pron1.en}", "the {role1.en} who {meet1.past} {person2.en}"]
OBJECTS = [
    "the {thing1.en}",
    "{adj1.art} {adj1.en} {thing1.en}",
    "the {thing1.en} that {person3.en} did not {do2.en}",
]
PLACES = ["", "in the {place1.en}"]
FRAMES = [
    ["S {do1.past} O P", "S {modal1.en} {do1.en} O P", "S did {do1.en} O P", "P S did {do1.en} O"],
    ["S did not {do1.en} O P", "S {modal1.en} not {do1.en} O P", "S never {do1.past} O P"],
    ["did S {do1.en} O P", "{modal1.en} S {do1.en} O P", "did S not {do1.en} O P", "who {do1.past} O P", "who did not {do1.en} O P", "{modal1.en} you please {do1.en} O P"],
    ["{do1.en} O P", "do not {do1.en} O P", "please {do1.en} O P", "never {do1.en} O P", "let {person1.en} {do1.en} O P", "do {do1.en} O P"],
]  # fmt: skip


@lru_cache(maxsize=1)
def speech() -> Grammar:
    """All classes are equally common, and in each all frames; neither "not" nor "who" nor "did" decides."""
    templates = []
    for label, frames in enumerate(FRAMES):
        for frame in frames:
            words = frame.split()
            choices = {"S": SUBJECTS, "O": OBJECTS, "P": PLACES}
            used = [name for name in choices if name in words]
            texts = {
                " ".join(dict(zip(used, filling, strict=True)).get(word, word) for word in words)
                for filling in product(*(choices[name] for name in used))
            }
            weight = 1 / (len(frames) * len(texts))
            templates += [Template({"en": text}, label, weight) for text in sorted(texts)]
    return Grammar(LEXICON, templates, SPECIAL)


@dataclass(frozen=True, kw_only=True)
class SentenceClasses(Sentences):
    name = "sentence classes"
    help = Text("Is it a statement, a negation, a question or a command?")
    forms = ("label",)

    max_len: int = option(MAX_WORDS, 20)

    @cached_property
    def grammar(self) -> Grammar:
        return speech()

    @cached_property
    def answers(self) -> Tensor:
        return self.grammar.labels

    @property
    def chance(self) -> float:
        """The share of the commonest class; all are equal unless `max_len` leaves some out."""
        weights = self.grammar.allowed("en", None, self.longest)
        shares = torch.zeros(len(LABELS)).index_add(0, self.grammar.labels, weights)
        return float(shares.max() / shares.sum())

    @property
    def label_names(self) -> list[Text]:
        return LABELS
