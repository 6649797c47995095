"""Extractive question answering: a question, then facts; the answer is a span of one of them.

All facts say the same kind of thing about different people, so the names in the question have to be matched.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

from torch import Tensor

from core.tasks.base import SPECIAL
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.templates import Grammar, Template
from core.tasks.language.grammar_task import GrammarTask
from core.tasks.shared_options import integer, option
from core.translatable import Text

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
OMITTED = ((), ("where",), ("when",), ("where", "when"))


@lru_cache(maxsize=4)
def question_grammar(n_facts: int) -> Grammar:
    """The facts of a problem have the same parts, so that the kind of question does not say which fact is meant.

    Place and day may be omitted, so that there are short problems for a curriculum to begin with.
    """
    templates = []
    for (all_parts, questions), omitted in product(zip(FACTS, QUESTIONS, strict=True), OMITTED):
        parts = {name: words for name, words in all_parts.items() if name not in omitted}
        for (answer, question), fact in product(questions.items(), range(n_facts)):
            if answer in parts and not ("where" in omitted and "{placeK.en}" in question):
                facts = [fact_text(parts, i, answer if i == fact else None) for i in range(n_facts)]
                templates.append(Template({"en": " ".join([number_slots(question, fact), "[SEP]", *facts])}))
    return Grammar(LEXICON, templates, (*SPECIAL, "[SEP]"))


def fact_text(parts: dict[str, str], i: int, answer: str | None) -> str:
    """Fact i as a sentence; `answer` names the part to be marked as the answer's span."""
    phrases = [f"[ANS {words} ]" if name == answer else words for name, words in parts.items()]
    return number_slots(" ".join([*phrases, "."]), i)


def number_slots(text: str, i: int) -> str:
    """Slots of fact i: its own verb and place, and two people."""
    return (
        text.replace("personA", f"person{2 * i + 1}").replace("personB", f"person{2 * i + 2}").replace("K.", f"{i}.")
    )


@dataclass(frozen=True, kw_only=True)
class Questions(GrammarTask):
    name = "questions"
    help = Text("Find the words that answer the question.")
    forms = ("answer",)

    n_facts: int = option(N_FACTS, 2)

    @cached_property
    def grammar(self) -> Grammar:
        return question_grammar(self.n_facts)

    @cached_property
    def answers(self) -> Tensor:
        return self.grammar.table(lambda template: list(template.parsed["en"][1][0][1:]))
