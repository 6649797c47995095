"""The training example that is shown is a row of the training batches, with its target."""

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
    batch, example = first_batch(run), training_example.describe_example(run, number)
    ids = (batch.inputs[1] if example["form"] == "pairs" else batch.inputs[0])[number]
    length = int(batch.lengths[number])
    assert (
        example["input"] == training_example.mark_spaces(run.task.show(ids[:length].tolist()))
        and 0 not in ids[:length]
    )
    if "target" in example:
        target = batch.target[number, :length].tolist()
        names = training_example.mark_spaces(run.task.tokens)
        assert example["target"] == [None if token == IGNORE else names[token] for token in target]


@pytest.mark.parametrize("name", ["induction-gpt", "characters-gru", "translation-transformer"])
def test_the_target_of_a_language_model_is_the_next_token(name):
    example = training_example.describe_example(run_registry.open_run(name).run, 1)
    shifted = [*example["input"][1:], None]
    assert any(example["target"])
    assert all(token in (None, following) for token, following in zip(example["target"][:-1], shifted, strict=False))


def test_selected_tokens_are_masked_swapped_or_kept():
    run = run_registry.open_run("masked-bert").run
    fates = {"masked": 0, "swapped": 0, "kept": 0}
    for number in range(training_example.EXAMPLES):
        example = training_example.describe_example(run, number)
        for token, target, original, fate in zip(
            *(example[key] for key in ("input", "target", "text", "fates")), strict=True
        ):
            expected = (
                None
                if target is None
                else "masked"
                if token == "[MASK]"
                else "kept"
                if token == target
                else "swapped"
            )
            assert fate == expected and original == (target or token)
            if fate:
                fates[fate] += 1
        assert example["follows"]["en"] and example["segments"][0] == 0
    assert fates["masked"] > 0.6 * sum(fates.values()) and fates["swapped"] + fates["kept"] > 0


def test_the_last_example_is_followed_by_the_first():
    run = run_registry.open_run("entities-crf").run
    assert (
        training_example.describe_example(run, training_example.EXAMPLES)
        == training_example.describe_example(run, 0)
        != training_example.describe_example(run, 1)
    )


def test_the_run_and_the_random_state_are_unchanged():
    run = run_registry.open_run("entities-crf").run
    before, noise = run.trainer.data_rng.get_state(), torch.get_rng_state()
    training_example.describe_example(run, 3)
    assert torch.equal(run.trainer.data_rng.get_state(), before) and torch.equal(torch.get_rng_state(), noise)


@pytest.mark.parametrize("name", ["entities-crf", "parity-lstm"])
def test_nothing_is_written_into_the_model(name):
    """Other threads may be copying it."""
    model = run_registry.open_run(name).run.model

    def attributes() -> list:
        return [
            value
            for module in model.modules()
            for values in (vars(module), module._parameters, module._buffers)
            for value in values.values()
        ]

    before = attributes()
    training_example.describe_example(run_registry.open_run(name).run, 3)
    assert all(one is other for one, other in zip(before, attributes(), strict=True))


def test_a_pretrained_model_has_none():
    with pytest.raises(InputError, match="without its training"):
        training_example.describe_example(PretrainedRun.__new__(PretrainedRun), 0)
