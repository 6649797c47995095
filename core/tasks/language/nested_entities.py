"""Nested named entities: in "the head of the bank of Paris" a person contains an organisation contains a place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from torch import Tensor

from core.tasks.base import SPECIAL
from core.tasks.language.entities import NAMES
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.templates import Grammar, Template, choose_phrases, fill_frame
from core.tasks.language.grammar_task import GrammarTask
from core.tasks.shared_options import integer, option
from core.translatable import Text

KINDS = ["PER", "LOC", "ORG"]
MAX_DEPTH = integer("max_depth", 1, 4, Text("How many names may lie within each other."))
FRAMES = [
    "P1 met P2 .",
    "P1 visited L2 .",
    "O1 hired P2 .",
    "P1 called O2 .",
    "did P1 leave O2 ?",
    "O1 moved to L2 .",
]


@lru_cache(maxsize=4)
def nested_entity_grammar(max_depth: int) -> Grammar:
    """All frames are equally frequent, and within each all its fillings."""
    templates = []
    for frame in FRAMES:
        names = [word for word in frame.split() if word[:-1] in PHRASES]
        fillings = choose_phrases(frame, {name: PHRASES[name[0]](name[1], max_depth) for name in names})
        templates += [Template({"en": fill_frame(frame, phrases)}, weight=1 / len(fillings)) for phrases in fillings]
    return Grammar(LEXICON, templates, SPECIAL)


def places(k: str, depth: int) -> list[str]:
    """Names of places, nested at most `depth` deep; `k` is the number of their slots."""
    city = f"[LOC {{city{k}.en}} ]"
    return [city, f"[LOC the north of {city} ]", f"[LOC the old city of {city} ]"] if depth > 1 else [city]


def firms(k: str, depth: int) -> list[str]:
    firm = f"[ORG {{firm{k}.en}} ]"
    if depth == 1:
        return [firm]
    nested = [f"[ORG the {kind} of {place} ]" for kind in ("bank", "university") for place in places(k, depth - 1)]
    return [firm, *nested, f"[ORG {firm} of {places(k, depth - 1)[0]} ]"]


def people(k: str, depth: int) -> list[str]:
    person = f"[PER {{given{k}.en}} {{family{k}.en}} ]"
    if depth == 1:
        return [person]
    return [
        person,
        *(f"[PER the head of {firm} ]" for firm in firms(k, depth - 1)),
        *(f"[PER the mayor of {place} ]" for place in places(k, depth - 1)),
        f"[PER the brother of {person} ]",
    ]


PHRASES = {"P": people, "L": places, "O": firms}


@dataclass(frozen=True, kw_only=True)
class NestedNames(GrammarTask):
    name = "nested names"
    help = Text(
        "Find all names of people, places and organisations, nested ones too.",
    )
    forms = ("spans",)

    max_depth: int = option(MAX_DEPTH, 3)

    @cached_property
    def grammar(self) -> Grammar:
        return nested_entity_grammar(self.max_depth)

    @cached_property
    def answers(self) -> Tensor:
        return self.grammar.spans("en", KINDS)

    @property
    def label_names(self) -> list[Text]:
        return [NAMES[kind] for kind in KINDS]
