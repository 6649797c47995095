"""A run that will not come back ends with a sentence; one that has merely learnt nothing goes on."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch

import core
from core.runs.recipes import make_recipe, recipe
from core.runs.run import Run
from core.training.divergence import FAR, PATIENCE, Watch
from core.training.options import Training
from tests.words import chinese


def small(family: str = "transformer", task: str = "copy", model: dict | None = None, **training) -> Run:
    sizes = {"d_embed": 4, "d_hidden": 6} if family in ("rnn", "gru", "lstm") else {"d_model": 8, "n_heads": 2}
    options = {"steps": 20, "batch_size": 4, **training}
    return Run(make_recipe(family, task, model={**sizes, **(model or {})}, training=options))


def ended(run: Run) -> core.Diverged:
    with pytest.raises(core.Diverged) as caught:
        list(run.train())
    assert str(caught.value).startswith(f"Step {len(run.steps)}: ") and chinese(caught.value.why)
    assert pickle.loads(pickle.dumps(caught.value)).why == caught.value.why
    return caught.value


POISON = {
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


@pytest.mark.parametrize("poison", POISON)
def test_numbers_that_end(poison):
    """The weights stay as they were before the step that failed, and finite."""
    run = small(clip=0.0, lr=0.02)
    next(run.train())
    before = {name: p.detach().clone() for name, p in run.model.named_parameters()}
    run.model.head.loss, says = POISON[poison]
    end = ended(run)
    assert end.step == 1 and says in str(end.why) and "Try lr = 0.002, or clip = 1." in str(end.why)
    assert all(torch.equal(p, before[name]) and p.isfinite().all() for name, p in run.model.named_parameters())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_learning_rate_a_hundred_times_too_high_is_found_out(seed):
    run = Run(recipe("rnn", "parity", "too-fast"), seed)
    end = ended(run)
    assert PATIENCE <= end.step < 200
    level = max(math.log(2), run.steps[0].loss)
    assert f"more than twice {level:.3g}" in str(end.why) and f"{PATIENCE} steps" in str(end.why)
    assert "Try lr = 0.1." in str(end.why) and "lr = 0.1。" in chinese(end.why)
    assert all(parameter.isfinite().all() for parameter in run.model.parameters())
    assert sum(step.loss > FAR * level for step in run.steps) >= PATIENCE - 1
    with pytest.raises(core.Diverged):  # asked again, it ends again
        next(run.train())


def test_resumed_it_ends_at_the_same_step():
    whole = Run(recipe("rnn", "parity", "too-fast"))
    end = ended(whole)
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

    def drawn(examples, form):
        batch = lay_out(examples, form)
        batch.target.copy_(torch.randint(2, batch.target.shape, generator=coin))
        return batch

    object.__setattr__(run.task, "lay_out", drawn)
    assert len(list(run.train())) == 300 and 0.4 < sum(s.accuracy for s in run.steps) / 300 < 0.6


def losses(watch: Watch, values: list[float]) -> int | None:
    """The step at which it would end."""
    for step, loss in enumerate(values):
        try:
            watch.see(loss, lambda: 1.0)
            watch.judge(step, loss, 1.0, Training.make())
        except core.Diverged:
            return step
    return None


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0] + [1.9] * 500, None),
        ([0.01] + [1.9] * 500, None),  # it had begun as somebody who knew: falling back to chance is not divergence
        ([1.0] + [2.1] * 500, PATIENCE),
        ([5.0] + [9.0] * 500, None),  # it began high
        ([5.0] + [11.0] * 500, PATIENCE),
        (([1.0] + [50.0] * (PATIENCE - 1) + [0.9] * PATIENCE) * 9, None),  # comes back each time
        ([1.0] + [50.0, 50.0, 50.0, 0.9] * 100, 2 * PATIENCE - 2),  # does not
    ],
)
def test_what_counts_as_far(values, step):
    assert losses(Watch(), values) == step


def test_longer_problems_may_cost_more():
    watch = Watch()
    watch.see(1.0, lambda: 1.0)
    for step in range(500):
        watch.see(8.0, lambda: 6.0)
        watch.judge(step, 8.0, 1.0, Training.make())
    assert watch.level == 6.0


@pytest.mark.parametrize(
    ("family", "task", "model"),
    [("lstm", "entities", {"head": "crf"}), ("bert", "nested names", {}), ("bert", "masked words", {})],
)
def test_the_level_is_what_equal_logits_cost(family, task, model):
    """Of every head there is a level, and an untrained model is not far from it."""
    run = small(family, task, model, lr=1e-3)
    list(run.train())
    level = run.trainer.divergence.level
    assert level >= run.steps[0].loss * 0.99 and math.isfinite(level) and run.trainer.divergence.excess == 0
