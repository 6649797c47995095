"""Pairs of sentences from the world of the entities task: a report, and one that goes on from it or does not."""

from __future__ import annotations

from functools import lru_cache
from itertools import cycle, product

from core.tasks.base import SPECIAL
from core.tasks.language.entities import CHOICES, FRAMES
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.templates import Grammar, Template

GOING_ON = {  # about a person, a place or a firm of the report, or about another one
    "P1": ["then X went home .", "X was very happy .", "later X called the {role2.en} ."],
    "L1": ["it was cold in X .", "X is a big city .", "the {role2.en} likes X ."],
    "O1": ["X was in the news .", "the {role2.en} works for X .", "X moved to a new office ."],
}
ANOTHER = "9"  # the number of whom the report did not name


@lru_cache(maxsize=1)
def news(framing: tuple[str, ...]) -> Grammar:
    """Each report twice: label 1 with a sentence about somebody or something it named, 0 about another of that kind.

    Which of them, and which sentence, goes by turns: not every pair, so that whoever wants to know all can.
    """
    templates = []
    for frame in FRAMES:
        words = frame.split()
        used = [name for name in CHOICES if name in words]
        turns = cycle((name, more) for name in used for more in GOING_ON.get(name, ()))
        fillings = list(product(*(CHOICES[name] for name in used)))
        for filling in fillings:
            chosen = dict(zip(used, filling, strict=True))
            parts = {name: part.replace("K", name[1:]) for name, part in chosen.items()}
            report = " ".join(parts.get(word, word) for word in words)
            subject, more = next(turns)
            for follows, number in ((1, subject[1:]), (0, ANOTHER)):
                text = f"[CLS] {report} [SEP] {more.replace('X', chosen[subject].replace('K', number))} [SEP]"
                templates.append(Template({"en": text}, follows, 1 / len(fillings)))
    return Grammar(LEXICON, templates, (*SPECIAL, *framing))
