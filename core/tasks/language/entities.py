"""Named-entity recognition by BIO tags. Names are ambiguous (Paris, Ford, May): only the context decides their type."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from torch import Tensor

from core.tasks.base import SPECIAL
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.templates import Grammar, Template, bio_tags, choose_phrases, fill_frame
from core.tasks.language.grammar_task import GrammarTask
from core.tasks.shared_options import MAX_WORDS, option
from core.translatable import Text, verbatim

KINDS = ["PER", "LOC", "ORG", "DATE"]
NAMES = {
    "PER": Text("person"),
    "LOC": Text("place"),
    "ORG": Text("organisation"),
    "DATE": Text("date"),
}
TAGS = {"PER": Text("PER"), "LOC": Text("LOC"), "ORG": Text("ORG"), "DATE": Text("DATE")}
# K: the number of the name, 1 in P1
PEOPLE = ["[PER {givenK.en} ]", "[PER {givenK.en} {familyK.en} ]"]
PLACES = ["[LOC {cityK.en} ]", "[LOC {twocityK.en} {twocityK.second} ]"]
FIRMS = ["[ORG {firmK.en} ]", "[ORG {firmK.en} Group ]", "[ORG Bank of {cityK.en} ]"]
DATES = ["", "in [DATE {month1.en} ]", "on [DATE {dom1.en} {month1.en} {year1.en} ]", "in [DATE {year1.en} ]"]
CHOICES = {  # by name in a frame
    "P1": PEOPLE, "P2": PEOPLE, "L1": PLACES, "L2": PLACES, "O1": FIRMS, "O2": FIRMS, "D": DATES,
}  # fmt: skip
FRAMES = [
    "P1 met P2 in L1 D .",
    "P1 flew from L1 to L2 D .",
    "P1 was born in L1 D .",
    "P1 was angry in L1 D .",
    "O1 hired P1 D .",
    "O1 opened an office in L1 D .",
    "O1 was sold to O2 D .",
    "P1 works for O1 in L1 .",
    "P1 left O1 D .",
    "the {role1.en} from L1 called P1 D .",
    "did P1 see P2 in L1 D ?",
    "[DATE {month1.en} ] was rainy in L1 .",
    "[DATE {month1.en} {dom1.en} ] was a good day for O1 .",
    "in [DATE {month1.en} ] P1 visited L1 .",
    "P1 may visit L1 D .",
]


@lru_cache(maxsize=1)
def entity_grammar() -> Grammar:
    """All frames are equally frequent, and within each all its fillings."""
    templates = []
    for frame in FRAMES:
        fillings = choose_phrases(frame, CHOICES)
        for phrases in fillings:
            text = fill_frame(frame, number_phrases(phrases))
            templates.append(Template({"en": text}, weight=1 / len(fillings)))
    return Grammar(LEXICON, templates, SPECIAL)


def number_phrases(phrases: dict[str, str]) -> dict[str, str]:
    """Phrases with the number of their name in their slots: `{"P2": "{givenK.en}"}` → `{"P2": "{given2.en}"}`"""
    return {name: phrase.replace("K", name[1:]) for name, phrase in phrases.items()}


@dataclass(frozen=True, kw_only=True)
class Entities(GrammarTask):
    name = "entities"
    help = Text("Tag the people, places, organisations and dates.")
    forms = ("tags",)

    max_len: int = option(MAX_WORDS, 14)

    @cached_property
    def grammar(self) -> Grammar:
        return entity_grammar()

    @cached_property
    def answers(self) -> Tensor:
        return self.grammar.table(lambda template: bio_tags(template, "en", KINDS))

    @property
    def label_names(self) -> list[Text]:
        inside = [Text("{part}-{kind}", part=part, kind=TAGS[kind]) for kind in KINDS for part in "BI"]
        return [verbatim("O"), *inside]

    def may_follow(self, before: int | None, tag: int) -> bool:
        """I-X comes after B-X or I-X only."""
        begins = tag % 2 == 1  # see `bio_tags`
        return tag == 0 or begins or before in (tag - 1, tag)
