"""Where an ideal attention map looks."""

from __future__ import annotations

import torch

from core.tasks import task
from core.tasks.language.grammar.lexicon import LEXICON


def drawn(which, n=200):
    examples = which.draw(n, torch.Generator().manual_seed(1))
    for i in range(n):
        yield (
            examples.source[i, : examples.source_lengths[i]].tolist(),
            examples.target[i, : examples.target_lengths[i]].tolist(),
        )


def test_copying_tasks_look_at_the_same_symbol():
    for name in ("copy", "reverse", "sort"):
        for source, target in drawn(task(name)):
            found = task(name).alignment(source, target)
            assert len(found) == len(target)
            assert all({source[i] for i in places} == {token} for places, token in zip(found, target, strict=True))


def test_reverse_runs_backwards():
    assert task("reverse").alignment([5, 6, 7], [7, 6, 5]) == [[2], [1], [0]]


def test_the_end_looks_at_the_end():
    """In what an encoder reads, the end token stands behind the source."""
    which = task("reverse")
    assert which.ended_alignment([5, 6, 7], [7, 6, 5]) == [[2], [1], [0], [3]]
    examples = which.draw(8, torch.Generator().manual_seed(1))
    source, target = which.lay_out(examples, "pairs").inputs[0], which.lay_out(examples, "pairs").target
    for row, (length, written) in enumerate(zip(examples.source_lengths.tolist(), target, strict=True)):
        ideal = which.ended_alignment(source[row, :length].tolist(), examples.target[row, :length].tolist())
        assert [int(source[row, place]) for (place,) in ideal] == written[: length + 1].tolist()


def test_running_parity_looks_at_the_bit_it_adds():
    which = task("running parity")
    bits = which.read("1 0 1 1")
    assert which.show(which.solve(bits)) == ["1", "1", "0", "1"]
    assert which.alignment(bits, which.solve(bits)) == [[0], [1], [2], [3]]


def test_recall_looks_at_the_value():
    which = task("recall")
    source = which.read("c d1 d2 ?")
    assert which.alignment(source, [2]) == [[0]]


def test_addition_looks_at_its_place():
    which = task("addition")
    assert which.alignment(which.read("12+34"), which.read("46")) == [[0, 3], [1, 4]]
    assert which.alignment(which.read("95+7"), which.read("102")) == [[0], [0], [1, 3]]
    backwards = task("addition", backwards=True)
    assert backwards.alignment(which.read("95+7"), which.read("201")) == [[1, 3], [0], [0]]
    assert which.alignment(which.read("99+99"), which.read("198")) == [[0, 3], [0, 3], [1, 4]]


def test_dates_look_at_their_parts():
    which = task("dates")
    found = which.alignment(which.read("3 May 1998"), which.read("1998-05-03"))
    assert found == [[6], [7], [8], [9], [], [2, 3, 4], [2, 3, 4], [], [0], [0]]
    for source, target in drawn(which):
        places = which.alignment(source, target)
        assert [which.say([source[i] for i in spot]) for spot in places[:4]] == list(which.say(target)[:4])


def test_translation_by_its_dictionary():
    """Words of the open classes come from the word they translate; every position is used at most by its own word."""
    which = task("translation", max_len=20)
    pairs = {}
    for category in ("person", "role", "place", "day", "manner", "surface", "pron", "adj", "number"):
        words = LEXICON[category]
        pairs |= dict(zip(words["zh"], words["en"], strict=True))
    for source, target in drawn(which, 500):
        english, chinese = which.show(source), which.show(target)
        found = which.alignment(source, target)
        assert len(found) == len(target)
        for word, places in zip(chinese, found, strict=True):
            if word in pairs:
                assert [english[i] for i in places if english[i] != "on"] == [pairs[word]]
            assert places or word in "，了里"


def test_translation_of_one_sentence():
    which = task("translation")
    source = which.read("did Anna buy the book in the park yesterday ?")
    assert which.show(which.solve(source)) == ["安娜", "昨天", "在", "公园", "里", "买", "了", "书", "吗", "？"]
    assert which.alignment(source, []) == [[1], [8], [5], [7], [], [2], [], [4], [9], [9]]
    assert which.alignment(which.read("the the the"), []) is None
