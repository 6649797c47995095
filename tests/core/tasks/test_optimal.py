"""Bayes-optimal predictions, compared with sums over all sentences of a small grammar."""

from __future__ import annotations

import math
from itertools import pairwise, product

import pytest
import torch

import core
from core.tasks.base import SPECIAL
from core.tasks.language.characters import NextCharacterModel
from core.tasks.language.grammar.bilingual import bilingual_grammar
from core.tasks.language.grammar.optimal import NextWordModel, hidden_word_posterior
from core.tasks.language.grammar.templates import Grammar, Template

LEXICON = {
    "name": {"en": ["Ann", "Bob", "Cy", "Di", "Ed"]},
    "thing": {"en": ["ant", "bee", "cow", "elk"], "art": ["an", "a", "a", "an"]},
}
TEMPLATES = [
    Template({"en": "{name1.en} saw {thing1.art} {thing1.en} ."}, weight=1.0),
    Template({"en": "{name1.en} met {name2.en} and {name3.en} ."}, weight=2.0),
    Template({"en": "{name1.en} met {name1.en} ."}, weight=0.5),
    Template({"en": "Ann met {name1.en} ."}, weight=1.0),
]
GRAMMAR = Grammar(LEXICON, TEMPLATES, SPECIAL)


def sentences() -> dict[tuple[int, ...], float]:
    """Every sentence and its probability; the second and third name are 1–2 and 3–4 after the first in the lexicon."""
    probabilities: dict[tuple[int, ...], float] = {}
    total = sum(template.weight for template in TEMPLATES)
    for template in TEMPLATES:
        names = sorted({t.slot for t in template.slots})
        fillings = []
        for words in product(*(range(5 if name.startswith("name") else 4) for name in names)):
            fillers = dict(zip(names, words, strict=True))
            distances = [(fillers[n] - fillers["name1"]) % 5 for n in ("name2", "name3") if n in fillers]
            if not distances or (distances[0] in (1, 2) and distances[1] in (3, 4)):
                fillings.append(fillers)
        for fillers in fillings:
            tokens = template.parsed["en"][0]
            words = [LEXICON[t.category][t.form][fillers[t.slot]] if t.slot else t.word for t in tokens]
            ids = tuple(GRAMMAR.ids[word] for word in words)
            probabilities[ids] = probabilities.get(ids, 0.0) + template.weight / total / len(fillings)
    return probabilities


def test_the_list_is_what_the_grammar_draws():
    probabilities = sentences()
    rows = GRAMMAR.render("en", *GRAMMAR.draw(20_000, torch.Generator().manual_seed(0), "en"))[0].tolist()
    counts: dict[tuple[int, ...], int] = {}
    for row in rows:
        ids = tuple(i for i in row if i)
        counts[ids] = counts.get(ids, 0) + 1
    assert set(counts) == set(probabilities) and math.isclose(sum(probabilities.values()), 1.0)
    assert all(abs(counts[ids] / 20_000 - p) < 0.01 for ids, p in probabilities.items())


def test_the_next_word():
    model, probabilities = NextWordModel(GRAMMAR, "en", GRAMMAR.weights), sentences()
    for prefix in {ids[:k] for ids in probabilities for k in range(len(ids) + 1)}:
        continuations = {ids: p for ids, p in probabilities.items() if ids[: len(prefix)] == prefix}
        expected: dict[int | None, float] = {}
        for ids, p in continuations.items():
            word = ids[len(prefix)] if len(ids) > len(prefix) else None
            expected[word] = expected.get(word, 0.0) + p / sum(continuations.values())
        assert model.next_words(prefix) == pytest.approx(expected)


def test_hidden_words():
    """Positions observed with different amounts of noise, some not at all."""
    torch.manual_seed(0)
    probabilities, time, n_words = sentences(), 6, len(GRAMMAR.tokens)
    lengths = torch.tensor([5, 6, 4, 5, 6, 4])
    log_likelihood = torch.randn(6, time, n_words) * torch.tensor([0.0, 1.0, 3.0])[torch.randint(3, (6, time, 1))]
    posterior = hidden_word_posterior(GRAMMAR, "en", lengths, log_likelihood)
    for row, length in enumerate(lengths.tolist()):
        expected = torch.zeros(time, n_words)
        for ids, p in probabilities.items():
            if len(ids) == length:
                weight = p * math.exp(sum(float(log_likelihood[row, k, word]) for k, word in enumerate(ids)))
                for k, word in enumerate(ids):
                    expected[k, word] += weight
        assert torch.allclose(posterior[row, :length], expected[:length] / expected[0].sum(), atol=1e-5)


def test_the_likeliest_words_are_as_often_right_as_their_probability():
    task = core.task("masked words")
    examples = task.draw(1500, torch.Generator().manual_seed(5))
    is_target = examples.target > 0
    weights = task.word_posterior(examples)[is_target]
    posterior = weights / weights.sum(1, keepdim=True)
    accuracy = (posterior.argmax(1) == examples.target[is_target]).float().mean()
    assert abs(float(posterior.amax(1).mean() - accuracy)) < 0.025
    assert abs(float(accuracy) - task.ceiling) < 0.03


@pytest.mark.parametrize("n_sentences", [1, 2])
def test_characters_multiply_to_the_sentences(n_sentences):
    """The product of the probabilities of its characters is the probability of a text."""
    task, grammar = core.task("characters", n_sentences=n_sentences), bilingual_grammar(SPECIAL)
    model, weights = NextCharacterModel(task.max_len), grammar.length_weights("en", None, task.max_len)
    weights = weights / weights.sum()
    sizes = {category: len(next(iter(forms.values()))) for category, forms in grammar.lexicon.items()}
    rng = torch.Generator().manual_seed(2)
    for _ in range(20):
        rows, fillers = grammar.draw(n_sentences, rng, "en", high=task.max_len)
        text, expected = "", 0.0
        for words, row in zip(grammar.render("en", rows, fillers)[0].tolist(), rows.tolist(), strict=True):
            sentence = " ".join(grammar.tokens[i] for i in words if i)
            for mark in (" .", " ?", " ,", " 's"):
                sentence = sentence.replace(mark, mark[1:])
            text += (" " if text else "") + sentence
            slots = grammar.templates[row].slots
            expected += math.log(weights[row])
            for category in {slot.category for slot in slots}:
                later = sum(slot.category == category for slot in slots) - 1
                expected -= math.log(sizes[category])
                bounds = [1 + (sizes[category] - 1) * i // max(1, later) for i in range(later + 1)]
                expected -= sum(math.log(b - a) for a, b in pairwise(bounds))
        scores = model.score(text, n_sentences)
        assert len(scores) == len(text) + 1
        assert sum(math.log(p) for p, _ in scores) == pytest.approx(expected, rel=1e-4)
        assert all(p <= best + 1e-9 for p, best in scores)


def test_limits_of_characters():
    task = core.task("characters")
    assert task.chance < 0.3 < 0.8 < task.ceiling < 0.9
    assert 0.3 < task.entropy < 0.5
