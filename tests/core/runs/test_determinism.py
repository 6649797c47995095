"""The same recipe and seed give the same run: in another process, after a stop, with any number of threads."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import core
from core.runs.recipes import make_recipe, recipe
from core.runs.run import Run
from core.tasks import Task
from tests.words import chinese

ROOT = Path(__file__).resolve().parents[3]
PAIRS = [("lstm", "parity"), ("transformer", "copy")]
VARIANTS = {
    "plain": {},
    "dropout": {"dropout": 0.2},
    "ema": {"ema": 0.9},
    "curriculum": {"curriculum": True},
    "accumulate": {"accumulate": 3},
    "adversarial": {"adversarial": 0.5},
    "bfloat16": {"precision": "bfloat16"},
    "samples": {"samples": 50},
    "schedule": {"schedule": "cosine", "warmup": 3, "weight_decay": 0.1},
    "piecewise": {"schedule": "piecewise", "points": {3: 1, 8: 0.1}},
    "all": {
        "dropout": 0.2, "ema": 0.9, "curriculum": True, "accumulate": 2, "adversarial": 0.5, "precision": "bfloat16",
    },
}  # fmt: skip
SIZES = {"gru": {"d_embed": 8, "d_hidden": 8}, "transformer": {"d_model": 16, "n_heads": 2, "n_layers": 1}}
TASKS = {"gru": "parity", "transformer": "copy"}


def first_losses() -> list[str]:
    """To the last bit."""
    runs = [Run(recipe(*pair), seed=3) for pair in PAIRS]
    return [step.loss.hex() for run in runs for _, step in zip(range(12), run.train(), strict=False)]


def test_the_same_in_another_process():
    code = "import torch; torch.set_num_threads(1); "
    code += "from tests.core.runs.test_determinism import first_losses; print(first_losses())"
    other = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert other.stdout.strip() == str(first_losses()), other.stderr


def small_run(family: str, options: dict) -> Run:
    training = {"steps": 10, "batch_size": 8, "lr": 1e-2, **options}
    model = {**SIZES[family], "dropout": training.pop("dropout", 0.0)}
    return Run(make_recipe(family, TASKS[family], model=model, training=training), seed=1)


@pytest.mark.parametrize("family", SIZES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_resuming_after_a_stop(family, variant):
    whole = small_run(family, VARIANTS[variant])
    steps = []
    for step in whole.train():
        steps.append(step)
        if step.index == 4:
            state = whole.trainer.state_dict()  # the run goes on, the state does not change with it
            torch.rand(7)  # nor does the global generator matter
    untouched = copy.deepcopy(state)
    resumed = small_run(family, VARIANTS[variant])
    resumed.trainer.load_state_dict(state)
    assert list(resumed.train()) == steps[4:]
    for name, parameter in whole.model.named_parameters():
        assert torch.equal(parameter, resumed.model.get_parameter(name)), name
    assert whole.evaluate(16) == resumed.evaluate(16)
    again = small_run(family, VARIANTS[variant])
    again.trainer.load_state_dict(untouched)
    twice = small_run(family, VARIANTS[variant])
    twice.trainer.load_state_dict(state)  # loaded a second time, after a run has gone on from it
    assert list(again.train()) == list(twice.train()) == steps[4:]


def test_fixed_problems_are_drawn_at_the_first_step(monkeypatch):
    """Batches are drawn with the same generator after them, also from a state of before the first step."""
    begun = small_run("gru", {"samples": 50})
    rng = torch.Generator().manual_seed(begun.seed)
    fixed = begun.task.gather(50, rng, held_out=False)
    assert torch.equal(begun.trainer.data_rng.get_state(), rng.get_state())
    assert torch.equal(begun.trainer.fixed_examples.source, fixed.source)
    with monkeypatch.context() as patch:
        patch.setattr(Task, "gather", None)
        run, resumed = small_run("gru", {"samples": 50}), small_run("gru", {"samples": 50})
        resumed.trainer.load_state_dict(begun.trainer.state_dict())
    assert list(resumed.train()) == list(run.train()) == list(begun.train())


@pytest.fixture
def two_threads():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


def test_the_same_with_any_number_of_threads(two_threads):
    """Between steps, the caller's own number of threads holds."""
    wide = make_recipe("transformer", "copy", model={"d_model": 64, "n_layers": 1}, training={"steps": 4})
    many, thread_counts = [], set()
    for step in Run(wide).train():
        many.append(step)
        thread_counts.add(torch.get_num_threads())
    plain = core.build(wide.model)
    plain.load_state_dict(Run(wide).model.state_dict())
    assert list(core.train(plain, wide.task, **wide.training.to_dict())) == many
    torch.set_num_threads(1)
    assert list(Run(wide).train()) == many and thread_counts == {2}


def test_a_step_that_fails_gives_the_threads_back(two_threads, monkeypatch):
    run = small_run("gru", {})
    monkeypatch.setattr(run.trainer, "gradients", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        next(run.train())
    assert torch.get_num_threads() == 2


def test_training_stops_when_no_longer_iterated():
    stopped, whole = small_run("gru", {}), small_run("gru", {})
    first = [step for _, step in zip(range(3), stopped.train(), strict=False)]
    assert first + list(stopped.train()) == list(whole.train())
    assert [step.index for step in stopped.steps] == list(range(1, 11))


@pytest.mark.parametrize("name", ["lstm/parity", "rnn/parity/source"])
def test_a_recipes_name_is_as_good_as_the_recipe(name):
    named = recipe(*name.split("/"))
    assert Run(name, 3).key == Run(recipe(name), 3).key == Run(named, 3).key
    assert recipe("rnn/parity", variant="source") == recipe("rnn/parity/source") != recipe("rnn/parity")


@pytest.mark.parametrize("value", [None, 3, {"family": "gpt"}, "parity", "lstm/parity/default/more"])
def test_values_that_are_no_recipe_are_refused(value):
    with pytest.raises(core.ConfigError, match="recipe = ") as caught:
        Run(value)
    assert chinese(caught.value) != str(caught.value)


def test_another_seed_is_another_run():
    one, other = (Run(small_run("gru", {}).recipe, seed) for seed in (0, 1))
    assert one.key != other.key
    assert next(one.train()).loss != next(other.train()).loss
