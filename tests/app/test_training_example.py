"""The example of training that is shown is one that training meets, told as its target means it."""

from __future__ import annotations

import pytest
import torch

from app.service.generation import training_example
from app.service.runs import run_registry
from core import InputError
from core.layers.task_heads.heads import IGNORE
from core.runs.pretrained_run import PretrainedRun
from core.training.loop import Trainer

RUNS = ["parity-lstm", "entities-crf", "induction-gpt", "characters-gru", "translation-transformer", "masked-bert", "nested-bert"]  # fmt: skip


def first_batch(run):
    return Trainer(run.model, run.task, run.recipe.training, run.seed).next_batch()


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("number", [0, 5])
def test_it_is_a_row_of_the_first_batch(name, number):
    run = run_registry.open_run(name).run
    batch, told = first_batch(run), training_example.example(run, number)
    ids = (batch.inputs[1] if told["form"] == "pairs" else batch.inputs[0])[number]
    length = int(batch.lengths[number])
    assert told["input"] == training_example.visible(run.task.show(ids[:length].tolist())) and 0 not in ids[:length]
    if "target" in told:
        target = batch.target[number, :length].tolist()
        names = training_example.visible(run.task.tokens)
        assert told["target"] == [None if one == IGNORE else names[one] for one in target]


@pytest.mark.parametrize("name", ["induction-gpt", "characters-gru", "translation-transformer"])
def test_a_writer_is_asked_for_the_token_that_comes_next(name):
    told = training_example.example(run_registry.open_run(name).run, 1)
    shifted = [*told["input"][1:], None]
    assert any(told["target"])
    assert all(wanted in (None, after) for wanted, after in zip(told["target"][:-1], shifted, strict=False))


def test_masked_words_are_told_by_what_became_of_them():
    run = run_registry.open_run("masked-bert").run
    fates = {"masked": 0, "swapped": 0, "kept": 0}
    for number in range(training_example.SHOWN):
        told = training_example.example(run, number)
        for there, was, whole, fate in zip(*(told[key] for key in ("input", "target", "text", "fates")), strict=True):
            expected = (
                None if was is None else "masked" if there == "[MASK]" else "kept" if there == was else "swapped"
            )
            assert fate == expected and whole == (was or there)
            if fate:
                fates[fate] += 1
        assert told["follows"]["en"] and told["segments"][0] == 0
    assert fates["masked"] > 0.6 * sum(fates.values()) and fates["swapped"] + fates["kept"] > 0


def test_the_last_example_is_followed_by_the_first():
    run = run_registry.open_run("entities-crf").run
    assert (
        training_example.example(run, training_example.SHOWN)
        == training_example.example(run, 0)
        != training_example.example(run, 1)
    )


def test_nothing_of_the_run_is_touched():
    run = run_registry.open_run("entities-crf").run
    before, noise = run.trainer.data_rng.get_state(), torch.get_rng_state()
    training_example.example(run, 3)
    assert torch.equal(run.trainer.data_rng.get_state(), before) and torch.equal(torch.get_rng_state(), noise)


def test_a_pretrained_model_has_none():
    with pytest.raises(InputError, match="without its training"):
        training_example.example(PretrainedRun.__new__(PretrainedRun), 0)
