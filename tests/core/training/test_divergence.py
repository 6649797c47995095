"""A diverged run ends with an explanation; one that has merely learnt nothing goes on."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch

import core
from core.runs.recipes import make_recipe, recipe
from core.runs.run import Run
from core.training.divergence import LOSS_FACTOR, PATIENCE, DivergenceDetector
from core.training.options import Training
from tests.words import chinese


def small(family: str = "transformer", task: str = "copy", model: dict | None = None, **training) -> Run:
    sizes = {"d_embed": 4, "d_hidden": 6} if family in ("rnn", "gru", "lstm") else {"d_model": 8, "n_heads": 2}
    options = {"steps": 20, "batch_size": 4, **training}
    return Run(make_recipe(family, task, model={**sizes, **(model or {})}, training=options))


def train_until_divergence(run: Run) -> core.Diverged:
    with pytest.raises(core.Diverged) as caught:
        list(run.train())
    assert str(caught.value).startswith(f"Step {len(run.steps)}: ") and chinese(caught.value.why)
    assert pickle.loads(pickle.dumps(caught.value)).why == caught.value.why
    return caught.value


BAD_LOSSES = {
    "loss": (lambda logits, *_: logits.sum() * math.nan, "the loss is no longer a number"),
    "no slope": (
        lambda logits, *_: (logits - logits.detach()).abs().sqrt().sum(),
        "gradient is no longer a number (nan)",
    ),
    "steep": (
        lambda logits, *_: 2.5 + (logits * 1e30 - (logits * 1e30).detach()).sum(),
        "2.5, but its gradient is no longer a number (inf)",
    ),
}


@pytest.mark.parametrize("kind", BAD_LOSSES)
def test_losses_and_gradients_that_are_not_finite(kind):
    """The weights stay as they were before the step that failed, and finite."""
    run = small(clip=0.0, lr=0.02)
    next(run.train())
    before = {name: p.detach().clone() for name, p in run.model.named_parameters()}
    run.model.head.loss, message = BAD_LOSSES[kind]
    end = train_until_divergence(run)
    assert end.step == 1 and message in str(end.why) and "Try lr = 0.002, or clip = 1." in str(end.why)
    assert all(torch.equal(p, before[name]) and p.isfinite().all() for name, p in run.model.named_parameters())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_learning_rate_a_hundred_times_too_high_is_found_out(seed):
    run = Run(recipe("rnn", "parity", "too-fast"), seed)
    end = train_until_divergence(run)
    assert PATIENCE <= end.step < 200
    baseline = max(math.log(2), run.steps[0].loss)
    assert f"more than twice {baseline:.3g}" in str(end.why) and f"{PATIENCE} steps" in str(end.why)
    assert "Try lr = 0.1." in str(end.why) and "lr = 0.1。" in chinese(end.why)
    assert all(parameter.isfinite().all() for parameter in run.model.parameters())
    assert sum(step.loss > LOSS_FACTOR * baseline for step in run.steps) >= PATIENCE - 1
    with pytest.raises(core.Diverged):  # repeated, it fails again
        next(run.train())


def test_resumed_it_ends_at_the_same_step():
    whole = Run(recipe("rnn", "parity", "too-fast"))
    end = train_until_divergence(whole)
    stopped = Run(recipe("rnn", "parity", "too-fast"))
    for _, _ in zip(range(end.step - 10), stopped.train(), strict=False):
        pass
    resumed = Run(recipe("rnn", "parity", "too-fast"))
    resumed.trainer.load_state_dict(copy.deepcopy(stopped.trainer.state_dict()))
    with pytest.raises(core.Diverged) as again:
        list(resumed.train())
    assert (again.value.step, again.value.why) == (end.step, end.why)


def test_a_run_at_chance_goes_on():
    """Labels drawn at random: nothing can be learnt, nothing has diverged."""
    run = small("gru", "parity", steps=300, lr=1e-2)
    lay_out = run.task.lay_out
    coin = torch.Generator().manual_seed(0)

    def with_random_labels(examples, form):
        batch = lay_out(examples, form)
        batch.target.copy_(torch.randint(2, batch.target.shape, generator=coin))
        return batch

    object.__setattr__(run.task, "lay_out", with_random_labels)
    assert len(list(run.train())) == 300 and 0.4 < sum(s.accuracy for s in run.steps) / 300 < 0.6


def diverged_at(values: list[float]) -> int | None:
    """The step at which these losses end training."""
    detector = DivergenceDetector()
    for step, loss in enumerate(values):
        try:
            detector.update_baseline(loss, lambda: 1.0)
            detector.check(step, loss, 1.0, Training.make())
        except core.Diverged:
            return step
    return None


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0] + [1.9] * 500, None),
        ([0.01] + [1.9] * 500, None),  # began well: falling back to chance is not divergence
        ([1.0] + [2.1] * 500, PATIENCE),
        ([5.0] + [9.0] * 500, None),  # it began high
        ([5.0] + [11.0] * 500, PATIENCE),
        (([1.0] + [50.0] * (PATIENCE - 1) + [0.9] * PATIENCE) * 9, None),  # comes back each time
        ([1.0] + [50.0, 50.0, 50.0, 0.9] * 100, 2 * PATIENCE - 2),  # does not
    ],
)
def test_losses_that_count_as_divergence(values, step):
    assert diverged_at(values) == step


def test_longer_problems_raise_the_baseline():
    detector = DivergenceDetector()
    detector.update_baseline(1.0, lambda: 1.0)
    for step in range(500):
        detector.update_baseline(8.0, lambda: 6.0)
        detector.check(step, 8.0, 1.0, Training.make())
    assert detector.baseline == 6.0


@pytest.mark.parametrize(
    ("family", "task", "model"),
    [("lstm", "entities", {"head": "crf"}), ("bert", "nested names", {}), ("bert", "masked words", {})],
)
def test_the_baseline_is_the_loss_of_equal_logits(family, task, model):
    """Every head has one, and the loss of an untrained model is close to it."""
    run = small(family, task, model, lr=1e-3)
    list(run.train())
    detector = run.trainer.divergence
    assert detector.baseline >= run.steps[0].loss * 0.99 and math.isfinite(detector.baseline) and detector.excess == 0
