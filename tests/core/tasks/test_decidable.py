"""No sentence has two answers: templates that generate the same sentence have the same one."""

from __future__ import annotations

import pytest
import torch

import core
from core.tasks.language.grammar.templates import Grammar, Token


def possible_words(grammar: Grammar, token: Token) -> frozenset[str]:
    return frozenset(grammar.lexicon[token.category][token.form] if token.slot else [token.word])


@pytest.mark.parametrize("name", ["sentence classes", "entities", "nested names", "translation"])
def test_templates_with_a_common_sentence_have_the_same_answer(name):
    task = core.task(name)
    grammar = task.grammar
    by_length: dict[int, list[tuple[int, list[frozenset[str]]]]] = {}
    for row, template in enumerate(grammar.templates):
        tokens = template.parsed["en"][0]
        by_length.setdefault(len(tokens), []).append((row, [possible_words(grammar, token) for token in tokens]))
    for group in by_length.values():
        for i, (row, words) in enumerate(group):
            for other_row, other_words in group[:i]:
                if all(not a.isdisjoint(b) for a, b in zip(words, other_words, strict=True)):
                    assert name != "translation", "two translations of one sentence"
                    assert task.answers[row].tolist() == task.answers[other_row].tolist()


def test_questions_are_about_one_fact():
    """Only one fact has all the names, things and places of the question."""
    task = core.task("questions", n_facts=3)
    lexicon = task.grammar.lexicon
    names = {word for category in ("person", "thing", "place") for word in lexicon[category]["en"]}
    verbs = {
        form: base
        for category in ("meet", "do")
        for base, past in zip(lexicon[category]["en"], lexicon[category]["past"], strict=True)
        for form in (base, past)
    }
    examples = task.draw(300, torch.Generator().manual_seed(11))
    for row, (start, _) in zip(examples.source.tolist(), examples.target.tolist(), strict=True):
        words = task.show([i for i in row if i])
        cut = words.index("[SEP]")
        keys = {verbs.get(word, word) for word in words[:cut] if word in names or word in verbs}
        ends = [k for k, word in enumerate(words) if word == "."]
        facts = [range(a + 1, b) for a, b in zip([cut, *ends], ends, strict=False)]
        matches = [fact for fact in facts if keys <= {verbs.get(words[k], words[k]) for k in fact}]
        assert len(matches) == 1 and start in matches[0]
