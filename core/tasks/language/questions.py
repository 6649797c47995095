"""A question, then a few facts: which words answer it? Others did the like elsewhere, so names have to be matched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

from torch import Tensor

from core.messages import Text
from core.tasks.base import SPECIAL
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.templates import Grammar, Template
from core.tasks.language.sentences import Sentences
from core.tasks.shared_options import integer, option

N_FACTS = integer("n_facts", 1, 3, Text("How many facts stand next to each other."))
# Fact K has the people A and B. Each question names the part of the fact that answers it.
FACTS = [
    {
        "who": "{personA.en}", "verb": "{meetK.past}", "whom": "{personB.en}", "where": "in the {placeK.en}", "when": "on {dayK.en}",
    },
    {
        "who": "{personA.en}", "verb": "{doK.past}", "what": "{adjK.art} {adjK.en} {thingK.en}", "where": "in the {placeK.en}", "when": "on {dayK.en}",
    },
]  # fmt: skip
QUESTIONS = [
    {
        "who": "who {meetK.past} {personB.en} ?",
        "whom": "whom did {personA.en} {meetK.en} ?",
        "where": "where did {personA.en} {meetK.en} {personB.en} ?",
        "when": "when did {personA.en} {meetK.en} {personB.en} ?",
    },
    {
        "who": "who {doK.past} the {thingK.en} ?",
        "what": "what did {personA.en} {doK.en} ?",
        "where": "where did {personA.en} {doK.en} the {thingK.en} ?",
        "when": "when was the {thingK.en} in the {placeK.en} ?",
    },
]
UNTOLD = ((), ("where",), ("when",), ("where", "when"))


@lru_cache(maxsize=4)
def quiz(n_facts: int) -> Grammar:
    """All facts of a problem say the same things about others: what is asked for does not tell which one is meant.

    Place and day may be left out, so that there are short problems to begin with.
    """
    templates = []
    for (parts, questions), untold in product(zip(FACTS, QUESTIONS, strict=True), UNTOLD):
        told = {part: words for part, words in parts.items() if part not in untold}
        for (part, question), asked in product(questions.items(), range(n_facts)):
            if part in told and not ("where" in untold and "{placeK.en}" in question):
                facts = [fact(told, i, part if i == asked else None) for i in range(n_facts)]
                templates.append(Template({"en": " ".join([number(question, asked), "[SEP]", *facts])}))
    return Grammar(LEXICON, templates, (*SPECIAL, "[SEP]"))


def fact(told: dict[str, str], i: int, asked: str | None) -> str:
    parts = [f"[ANS {words} ]" if part == asked else words for part, words in told.items()]
    return number(" ".join([*parts, "."]), i)


def number(text: str, i: int) -> str:
    """Slots of fact i: its own verb and place, and two people."""
    return (
        text.replace("personA", f"person{2 * i + 1}").replace("personB", f"person{2 * i + 2}").replace("K.", f"{i}.")
    )


@dataclass(frozen=True, kw_only=True)
class Questions(Sentences):
    name = "questions"
    help = Text("Find the words that answer the question.")
    forms = ("answer",)

    n_facts: int = option(N_FACTS, 2)

    @cached_property
    def grammar(self) -> Grammar:
        return quiz(self.n_facts)

    @cached_property
    def answers(self) -> Tensor:
        return self.grammar.table(lambda template: list(template.parsed["en"][1][0][1:]))
