"""Grammar of pairs of news sentences: a sentence of the entities task, and one that follows from it or does not."""

from __future__ import annotations

from functools import lru_cache
from itertools import cycle

from core.tasks.base import SPECIAL
from core.tasks.language.entities import CHOICES, FRAMES, number_phrases
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.templates import Grammar, Template, choose_phrases, fill_frame

SECOND_SENTENCES = {  # X: a person, place or organisation of the first sentence, or another one
    "P1": ["then X went home .", "X was very happy .", "later X called the {role2.en} ."],
    "L1": ["it was cold in X .", "X is a big city .", "the {role2.en} likes X ."],
    "O1": ["X was in the news .", "the {role2.en} works for X .", "X moved to a new office ."],
}
UNMENTIONED = "9"  # the slot number of a name that is not in the first sentence


@lru_cache(maxsize=1)
def news_grammar(bert_tokens: tuple[str, ...]) -> Grammar:
    """Each first sentence twice: label 1 with a second one about a name it has, 0 with one about another name.

    Each first sentence is paired with one name and one second sentence only, in rotation: all combinations would be
    several times as many templates, which `optimal.hidden_word_posterior` has to sum over.
    """
    templates = []
    for frame in FRAMES:
        fillings = choose_phrases(frame, CHOICES)
        used = [name for name in CHOICES if name in frame.split()]
        rotation = cycle((name, second) for name in used for second in SECOND_SENTENCES.get(name, ()))
        for phrases in fillings:
            first = fill_frame(frame, number_phrases(phrases))
            subject, second = next(rotation)
            for follows, number in ((1, subject[1:]), (0, UNMENTIONED)):
                name = phrases[subject].replace("K", number)
                text = f"[CLS] {first} [SEP] {second.replace('X', name)} [SEP]"
                templates.append(Template({"en": text}, follows, 1 / len(fillings)))
    return Grammar(LEXICON, templates, (*SPECIAL, *bert_tokens))
