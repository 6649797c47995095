"""The ideal attention of tasks: which source positions each target token depends on."""

from __future__ import annotations

import torch

import core
from core.tasks.language.grammar.lexicon import LEXICON


def random_problems(task, n=200):
    examples = task.draw(n, torch.Generator().manual_seed(1))
    for i in range(n):
        yield (
            examples.source[i, : examples.source_lengths[i]].tolist(),
            examples.target[i, : examples.target_lengths[i]].tolist(),
        )


def test_copying_tasks_align_equal_symbols():
    for name in ("copy", "reverse", "sort"):
        for source, target in random_problems(core.task(name)):
            ideal = core.task(name).alignment(source, target)
            assert len(ideal) == len(target)
            assert all({source[i] for i in row} == {token} for row, token in zip(ideal, target, strict=True))


def test_reverse_is_aligned_backwards():
    assert core.task("reverse").alignment([5, 6, 7], [7, 6, 5]) == [[2], [1], [0]]


def test_the_end_token_is_aligned_with_the_source_s():
    """An encoder's input has the end token behind the source."""
    task = core.task("reverse")
    assert task.alignment_with_eos([5, 6, 7], [7, 6, 5]) == [[2], [1], [0], [3]]
    examples = task.draw(8, torch.Generator().manual_seed(1))
    source, target = task.lay_out(examples, "pairs").inputs[0], task.lay_out(examples, "pairs").target
    for row, (length, row_target) in enumerate(zip(examples.source_lengths.tolist(), target, strict=True)):
        ideal = task.alignment_with_eos(source[row, :length].tolist(), examples.target[row, :length].tolist())
        assert [int(source[row, position]) for (position,) in ideal] == row_target[: length + 1].tolist()


def test_running_parity_is_aligned_with_the_bit_it_adds():
    task = core.task("running parity")
    bits = task.read("1 0 1 1")
    assert task.show(task.solve(bits)) == ["1", "1", "0", "1"]
    assert task.alignment(bits, task.solve(bits)) == [[0], [1], [2], [3]]


def test_recall_is_aligned_with_the_value():
    task = core.task("recall")
    source = task.read("c d1 d2 ?")
    assert task.alignment(source, [2]) == [[0]]


def test_addition_is_aligned_by_decimal_place():
    task = core.task("addition")
    assert task.alignment(task.read("12+34"), task.read("46")) == [[0, 3], [1, 4]]
    assert task.alignment(task.read("95+7"), task.read("102")) == [[0], [0], [1, 3]]
    backwards = core.task("addition", backwards=True)
    assert backwards.alignment(task.read("95+7"), task.read("201")) == [[1, 3], [0], [0]]
    assert task.alignment(task.read("99+99"), task.read("198")) == [[0, 3], [0, 3], [1, 4]]


def test_dates_are_aligned_with_their_parts():
    task = core.task("dates")
    ideal = task.alignment(task.read("3 May 1998"), task.read("1998-05-03"))
    assert ideal == [[6], [7], [8], [9], [], [2, 3, 4], [2, 3, 4], [], [0], [0]]
    for source, target in random_problems(task):
        ideal = task.alignment(source, target)
        assert [task.say([source[i] for i in row]) for row in ideal[:4]] == list(task.say(target)[:4])


def test_translation_by_its_dictionary():
    """Words of the open classes are aligned with the word they translate; every position only with its own word."""
    task = core.task("translation", max_len=20)
    pairs = {}
    for category in ("person", "role", "place", "day", "manner", "surface", "pron", "adj", "number"):
        words = LEXICON[category]
        pairs |= dict(zip(words["zh"], words["en"], strict=True))
    for source, target in random_problems(task, 500):
        english, chinese = task.show(source), task.show(target)
        ideal = task.alignment(source, target)
        assert len(ideal) == len(target)
        for word, positions in zip(chinese, ideal, strict=True):
            if word in pairs:
                assert [english[i] for i in positions if english[i] != "on"] == [pairs[word]]
            assert positions or word in "，了里"


def test_translation_of_one_sentence():
    task = core.task("translation")
    source = task.read("did Anna buy the book in the park yesterday ?")
    assert task.show(task.solve(source)) == ["安娜", "昨天", "在", "公园", "里", "买", "了", "书", "吗", "？"]
    assert task.alignment(source, []) == [[1], [8], [5], [7], [], [2], [], [4], [9], [9]]
    assert task.alignment(task.read("the the the"), []) is None
