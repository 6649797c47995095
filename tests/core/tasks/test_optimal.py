"""What can be known of a sentence, found again by listing all sentences there are."""

from __future__ import annotations

import math
from itertools import pairwise, product

import pytest
import torch

from core.tasks import task
from core.tasks.base import SPECIAL
from core.tasks.language.characters import Writer
from core.tasks.language.grammar.bilingual import bilingual
from core.tasks.language.grammar.optimal import NextWord, hidden_words
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
    """Every sentence and its probability; the second and third name stand 1–2 and 3–4 places behind the first."""
    found: dict[tuple[int, ...], float] = {}
    total = sum(template.weight for template in TEMPLATES)
    for template in TEMPLATES:
        names = sorted({t.slot for t in template.slots})
        fillings = []
        for words in product(*(range(5 if name.startswith("name") else 4) for name in names)):
            chosen = dict(zip(names, words, strict=True))
            away = [(chosen[n] - chosen["name1"]) % 5 for n in ("name2", "name3") if n in chosen]
            if not away or (away[0] in (1, 2) and away[1] in (3, 4)):
                fillings.append(chosen)
        for chosen in fillings:
            tokens = template.parsed["en"][0]
            words = [LEXICON[t.category][t.form][chosen[t.slot]] if t.slot else t.word for t in tokens]
            ids = tuple(GRAMMAR.ids[word] for word in words)
            found[ids] = found.get(ids, 0.0) + template.weight / total / len(fillings)
    return found


def test_the_list_is_what_the_grammar_draws():
    listed = sentences()
    drawn = GRAMMAR.render("en", *GRAMMAR.draw(20_000, torch.Generator().manual_seed(0), "en"))[0].tolist()
    counts: dict[tuple[int, ...], int] = {}
    for row in drawn:
        ids = tuple(i for i in row if i)
        counts[ids] = counts.get(ids, 0) + 1
    assert set(counts) == set(listed) and math.isclose(sum(listed.values()), 1.0)
    assert all(abs(counts[ids] / 20_000 - p) < 0.01 for ids, p in listed.items())


def test_the_next_word():
    reader, listed = NextWord(GRAMMAR, "en", GRAMMAR.weights), sentences()
    for read in {ids[:k] for ids in listed for k in range(len(ids) + 1)}:
        going_on = {ids: p for ids, p in listed.items() if ids[: len(read)] == read}
        expected: dict[int | None, float] = {}
        for ids, p in going_on.items():
            word = ids[len(read)] if len(ids) > len(read) else None
            expected[word] = expected.get(word, 0.0) + p / sum(going_on.values())
        assert reader.next_words(read) == pytest.approx(expected)


def test_hidden_words():
    """Places seen through noise, some not at all."""
    torch.manual_seed(0)
    listed, time, n_words = sentences(), 6, len(GRAMMAR.tokens)
    lengths = torch.tensor([5, 6, 4, 5, 6, 4])
    evidence = torch.randn(6, time, n_words) * torch.tensor([0.0, 1.0, 3.0])[torch.randint(3, (6, time, 1))]
    found = hidden_words(GRAMMAR, "en", lengths, evidence)
    for row, length in enumerate(lengths.tolist()):
        expected = torch.zeros(time, n_words)
        for ids, p in listed.items():
            if len(ids) == length:
                weight = p * math.exp(sum(float(evidence[row, k, word]) for k, word in enumerate(ids)))
                for k, word in enumerate(ids):
                    expected[k, word] += weight
        assert torch.allclose(found[row, :length], expected[:length] / expected[0].sum(), atol=1e-5)


def test_the_best_filling_of_holes_is_as_good_as_it_claims():
    which = task("masked words")
    examples = which.draw(1500, torch.Generator().manual_seed(5))
    asked = examples.target > 0
    guesses = which.guesses(examples)[asked]
    share = guesses / guesses.sum(1, keepdim=True)
    right = (share.argmax(1) == examples.target[asked]).float().mean()
    assert abs(float(share.amax(1).mean() - right)) < 0.025
    assert abs(float(right) - which.ceiling) < 0.03


@pytest.mark.parametrize("n_sentences", [1, 2])
def test_characters_multiply_to_the_sentences(n_sentences):
    """Letter by letter or all at once, a text has the same probability."""
    which, grammar = task("characters", n_sentences=n_sentences), bilingual(SPECIAL)
    writer, weights = Writer(which.max_len), grammar.allowed("en", None, which.max_len)
    weights = weights / weights.sum()
    sizes = {category: len(next(iter(forms.values()))) for category, forms in grammar.lexicon.items()}
    rng = torch.Generator().manual_seed(2)
    for _ in range(20):
        rows, filled = grammar.draw(n_sentences, rng, "en", high=which.max_len)
        text, expected = "", 0.0
        for words, row in zip(grammar.render("en", rows, filled)[0].tolist(), rows.tolist(), strict=True):
            spelt = " ".join(grammar.tokens[i] for i in words if i)
            for mark in (" .", " ?", " ,", " 's"):
                spelt = spelt.replace(mark, mark[1:])
            text += (" " if text else "") + spelt
            slots = grammar.templates[row].slots
            expected += math.log(weights[row])
            for category in {slot.category for slot in slots}:
                later = sum(slot.category == category for slot in slots) - 1
                expected -= math.log(sizes[category])
                bounds = [1 + (sizes[category] - 1) * i // max(1, later) for i in range(later + 1)]
                expected -= sum(math.log(b - a) for a, b in pairwise(bounds))
        judged = writer.follow(text, n_sentences)
        assert len(judged) == len(text) + 1
        assert sum(math.log(p) for p, _ in judged) == pytest.approx(expected, rel=1e-4)
        assert all(p <= best + 1e-9 for p, best in judged)


def test_limits_of_characters():
    which = task("characters")
    assert which.chance < 0.3 < 0.8 < which.ceiling < 0.9
    assert 0.3 < which.entropy < 0.5
