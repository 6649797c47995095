"""Forks start from another run's weights and are otherwise runs like any other."""

from __future__ import annotations

import json

import pytest
import torch

import core
from core.analysis.training_events import find_training_events
from core.runs.recipes import make_recipe
from core.runs.run import Run, key_of, recipe_from_dict
from core.training.snapshots import MOST_SNAPSHOTS, snapshot_steps
from tests.words import chinese

SIZES = {
    "lstm": {"d_embed": 8, "d_hidden": 8, "dropout": 0.1},
    "transformer": {"d_model": 16, "n_heads": 2, "n_layers": 1, "position": "rope"},
}
TASKS = {"lstm": "parity", "transformer": "copy"}


def run_of(family: str = "lstm", steps: int = 30, seed: int = 3, **training) -> Run:
    options = {"steps": steps, "batch_size": 8, "lr": 1e-2, **training}
    return Run(make_recipe(family, TASKS[family], model=SIZES[family], training=options), seed)


def advanced(run: Run, steps: int) -> Run:
    for _, _ in zip(range(steps), run.train(), strict=False):
        pass
    return run


def trained(run: Run) -> Run:
    list(run.train())
    return run


def same_weights(first: Run, second: Run) -> bool:
    pairs = zip(first.model.parameters(), second.model.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("family", SIZES)
def test_it_begins_at_the_snapshot_and_is_the_same_each_time(family):
    parent = trained(run_of(family))
    step = parent.snapshots[10].step
    fork, again = (parent.fork(step, lr=1e-3, steps=40) for _ in range(2))
    for name, weight in parent.snapshots[10].weights.items():
        assert torch.equal(fork.model.get_parameter(name), weight.float())
    assert fork.parent == parent.key and parent.parent is None
    assert fork.trainer.index == step and fork.steps == parent.steps[:step]
    assert fork.trainer.optimiser.state_dict()["state"] == {}, "a fresh optimiser"
    assert trained(fork).steps == trained(again).steps and same_weights(fork, again)
    assert [s.index for s in fork.steps] == list(range(1, 41))
    assert {s.lr for s in fork.steps[step:]} == {1e-3}
    assert len(parent.steps) == 30 and parent.model is not fork.model
    assert fork.evaluate(16).problems == 16 and isinstance(find_training_events(fork), list)


def test_its_key_is_what_decides_it():
    parent = trained(run_of())
    forks = [
        parent.fork(5), parent.fork(7), parent.fork(5, lr=1e-3), parent.fork(5, seed=9), parent.fork(5, dropout=0.3),
        parent.fork(30, steps=40), run_of(seed=4).fork(0), run_of().fork(0), trained(run_of()).fork(0),
    ]  # fmt: skip
    assert len({fork.key for fork in forks} | {parent.key}) == 10
    assert parent.fork(5, lr=1e-3).key == trained(run_of()).fork(5, lr=1e-3).key == key_of(forks[2].recipe, 3)
    assert parent.fork(5, lr=1e-2).key == parent.fork(5).key, "no change at all"
    for fork in forks:
        assert recipe_from_dict(json.loads(json.dumps(fork.recipe.to_dict()))) == fork.recipe


@pytest.mark.parametrize("family", SIZES)
@pytest.mark.parametrize(
    "training",
    [{}, {"ema": 0.9}, {"curriculum": True}, {"samples": 20}, {"schedule": "cosine", "precision": "bfloat16"}],
    ids=str,
)
def test_from_where_the_run_stands_it_goes_on_exactly(family, training):
    """With no change, it is the parent that goes on; and neither disturbs the other."""
    parent = advanced(run_of(family, **training), 12)
    fork = parent.fork(12)
    assert fork.trainer.optimiser.state_dict()["state"]
    whole = trained(run_of(family, **training))
    assert trained(fork).steps == whole.steps == trained(parent).steps
    assert same_weights(fork, whole) and same_weights(parent, whole)
    assert fork.evaluate(16) == whole.evaluate(16)


def test_later_training_of_the_parent_does_not_matter():
    parent = advanced(run_of(steps=60, curriculum=True), 20)
    early = parent.fork(9, lr=1e-3)
    late = trained(parent).fork(9, lr=1e-3)
    assert early.key == late.key and early.trainer.divergence.state_dict() == late.trainer.divergence.state_dict()
    assert trained(early).steps == trained(late).steps and same_weights(early, late)


def test_a_finished_run_can_be_trained_further():
    parent = trained(run_of())
    longer = run_of(steps=45)
    assert trained(parent.fork(30, steps=45)).steps == trained(longer).steps


def test_what_is_changed_holds_from_the_fork_on():
    parent = advanced(run_of(ema=0.9, curriculum=True), 12)
    changes = {"ema": 0.0, "curriculum": False, "weight_decay": 0.5, "beta2": 0.9, "batch_size": 4, "clip": 0.1}
    fork = parent.fork(12, schedule="piecewise", points={15: 1, 30: 0.5}, **changes)
    assert fork.trainer.average is None and fork.trainer.curriculum is None
    assert [g["weight_decay"] for g in fork.trainer.optimiser.param_groups] == [0.5, 0.0]
    assert fork.trainer.optimiser.param_groups[0]["betas"] == (0.9, 0.9)
    assert trained(fork).steps[-1].lr == pytest.approx(5e-3) and fork.steps[11].limit and not fork.steps[12].limit
    averaged = advanced(run_of(), 12).fork(12, ema=0.5)
    for name, shadow in averaged.trainer.average.shadow.items():
        assert torch.equal(shadow, averaged.model.get_parameter(name))


def test_forks_of_one_step_see_the_same_problems_unless_the_seed_says_otherwise():
    parent = trained(run_of())
    first, second, other = parent.fork(9), parent.fork(9, lr=1e-4), parent.fork(9, seed=8)
    losses = [next(fork.train()).loss for fork in (first, second, other)]
    assert losses[0] == losses[1] != losses[2]


def test_the_curriculum_goes_on_where_it_was():
    parent = run_of(curriculum=True)
    parent.trainer.curriculum.update = lambda accuracy: None
    advanced(parent, 6)
    parent.trainer.curriculum.limit = 14
    trained(parent)
    assert parent.fork(parent.snapshots[12].step).trainer.curriculum.limit == 14
    assert parent.fork(3).trainer.curriculum.limit == 2


@pytest.mark.parametrize("step", [0, 5, 100, 300])
def test_its_snapshots_are_the_parents_and_its_own(step):
    parent = trained(run_of(steps=300, batch_size=1))
    at = min((s.step for s in parent.snapshots), key=lambda stored: abs(stored - step))
    fork = trained(parent.fork(at, steps=400))
    steps = [s.step for s in fork.snapshots]
    assert steps == sorted(set(steps)) and {0, at, 400} <= set(steps) and len(steps) <= MOST_SNAPSHOTS + 1
    assert {s for s in steps if s <= at} <= {s.step for s in parent.snapshots}
    assert [s for s in steps if s > at] == [
        at + s for s in snapshot_steps(400 - at, MOST_SNAPSHOTS // (2 if at else 1)) if s
    ]
    assert len(fork.replay(torch.tensor([[2, 3, 2]]), "*.hidden")) == len(steps)


def test_snapshots_of_another_function_are_not_inherited():
    parent = trained(run_of("transformer"))
    assert [s.step for s in parent.fork(5, dropout=0.5).snapshots] == [0, 1, 2, 3, 4, 5]
    assert [s.step for s in parent.fork(5, position="alibi").snapshots] == [5]


def test_a_fork_of_a_fork():
    parent = trained(run_of())
    child = trained(parent.fork(9, lr=1e-3))
    step = next(s.step for s in child.snapshots if s.step > 9)
    grandchild = trained(child.fork(step, lr=1e-4))
    assert grandchild.parent == child.key and grandchild.steps[:step] == child.steps[:step]
    assert [grandchild.steps[i].lr for i in (8, 9, step)] == [1e-2, 1e-3, 1e-4]


def fork_error(run: Run, step, **changes) -> core.ConfigError:
    with pytest.raises(core.ConfigError) as caught:
        run.fork(step, **changes)
    assert chinese(caught.value) != str(caught.value)
    return caught.value


def test_errors_name_the_option_and_the_reason():
    run = advanced(run_of(steps=300), 100)
    for step in (99, 101, -1, 1.5, 5.0, True, "12", None):
        assert fork_error(run, step).option == "step"
    listed = str(fork_error(run, 99))
    assert "not kept" in listed and "Choose one of: 0, 1, 2" in listed and "100." in listed
    assert "nothing would be left" in str(fork_error(run, 100, steps=100))
    message = str(fork_error(run, 5, d_embed=9))
    assert "d_embed = 9: that does not fit the weights" in message
    assert "is (32, 8), it would be (32, 9)" in message
    assert fork_error(run, 5, d_hidden=9).option == "d_hidden"
    assert fork_error(run, 5, n_layers=2, d_embed=9).option == "n_layers, d_embed"
    for name in ("lrr", "learning_rate"):
        assert str(fork_error(run, 5, **{name: 1})).endswith("Did you mean lr?")
    message = str(fork_error(run, 5, zzz=1))
    assert "a fork has no such option" in message and "Did you mean" not in message
    assert fork_error(run, 5, lr=1e9).option == "lr"
    with pytest.raises(core.ConfigError) as caught:
        Run(run.fork(5).recipe)
    assert run.key in str(caught.value) and chinese(caught.value)
    with pytest.raises(core.ConfigError):
        run_of(seed=5).derive(run.fork(5).recipe, 3)


def test_a_run_without_its_training_state_is_forked_from_its_snapshots():
    """As the shipped runs: weights of the last snapshot, no optimiser state, a trainer at step 0."""
    whole = trained(run_of())
    bare = run_of()
    bare.steps, bare.snapshots.entries = whole.steps, whole.snapshots.entries
    with torch.no_grad():
        for name, parameter in bare.model.named_parameters():
            parameter.copy_(whole.snapshots[-1].weights[name])
    for step in (0, 30):
        fork = bare.fork(step, steps=60)
        assert not fork.recipe.origin.exact
        snapshot = next(s for s in whole.snapshots if s.step == step)
        assert all(torch.equal(fork.model.get_parameter(n), w.float()) for n, w in snapshot.weights.items())


def test_a_sweep_over_a_fork_is_refused():
    run = Run(core.recipe("rnn", "parity"))
    for _ in zip(range(3), run.train(), strict=False):
        pass
    with pytest.raises(core.ConfigError, match="begins inside another"):
        core.sweep({"fork": run.fork(2).recipe}, {"lr": [1e-3]})
