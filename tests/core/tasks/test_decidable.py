"""No sentence has two answers: templates that can make the same one agree on what it means."""

from __future__ import annotations

import pytest
import torch

from core.tasks import task
from core.tasks.language.grammar.templates import Grammar, Token


def possible(grammar: Grammar, token: Token) -> frozenset[str]:
    return frozenset(grammar.lexicon[token.category][token.form] if token.slot else [token.word])


@pytest.mark.parametrize("name", ["sentence classes", "entities", "nested names", "translation"])
def test_templates_that_can_meet_agree(name):
    which = task(name)
    grammar = which.grammar
    by_length: dict[int, list[tuple[int, list[frozenset[str]]]]] = {}
    for row, template in enumerate(grammar.templates):
        tokens = template.parsed["en"][0]
        by_length.setdefault(len(tokens), []).append((row, [possible(grammar, token) for token in tokens]))
    for group in by_length.values():
        for i, (row, words) in enumerate(group):
            for other, others in group[:i]:
                if all(not a.isdisjoint(b) for a, b in zip(words, others, strict=True)):
                    assert name != "translation", "nothing else tells which translation is meant"
                    assert which.answers[row].tolist() == which.answers[other].tolist()


def test_questions_are_about_one_fact():
    """Only one fact has all the names, things and places of the question."""
    which = task("questions", n_facts=3)
    lexicon = which.grammar.lexicon
    naming = {word for category in ("person", "thing", "place") for word in lexicon[category]["en"]}
    verbs = {
        form: base
        for category in ("meet", "do")
        for base, past in zip(lexicon[category]["en"], lexicon[category]["past"], strict=True)
        for form in (base, past)
    }
    examples = which.draw(300, torch.Generator().manual_seed(11))
    for row, (start, _) in zip(examples.source.tolist(), examples.target.tolist(), strict=True):
        words = which.show([i for i in row if i])
        cut = words.index("[SEP]")
        keys = {verbs.get(word, word) for word in words[:cut] if word in naming or word in verbs}
        ends = [k for k, word in enumerate(words) if word == "."]
        facts = [range(a + 1, b) for a, b in zip([cut, *ends], ends, strict=False)]
        fitting = [fact for fact in facts if keys <= {verbs.get(words[k], words[k]) for k in fact}]
        assert len(fitting) == 1 and start in fitting[0]
