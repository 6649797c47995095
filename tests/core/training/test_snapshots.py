"""Snapshots and their replay: the first is the initial model, the last the present one."""

from __future__ import annotations

import pytest
import torch

import core
from core.errors import InputError
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.training.snapshots import MOST_BYTES, Snapshots, snapshot_steps
from tests.words import chinese

CASES = [
    ("lstm", "parity", {"d_embed": 8, "d_hidden": 16}),
    ("transformer", "copy", {"d_model": 16, "n_heads": 2, "n_layers": 1}),
    ("gpt", "induction", {"d_model": 16, "n_heads": 2, "n_layers": 2}),
]


@pytest.mark.parametrize(("family", "task", "model"), CASES)
def test_first_and_last_snapshot(family, task, model):
    run = Run(make_recipe(family, task, model=model, training={"steps": 30, "lr": 1e-2}), seed=2)
    torch.manual_seed(2)
    initial = core.build(run.recipe.model)
    list(run.train())
    inputs = run.task.lay_out(run.task.evaluation(4), run.task.form(run.model)).inputs
    tapes = run.replay(*inputs, "*")
    assert len(tapes) == len(run.snapshots)
    assert [run.snapshots[0].step, run.snapshots[-1].step] == [0, 30]
    for tape, expected in ((tapes[0], initial), (tapes[-1], run.model)):
        with torch.no_grad(), core.capture(expected.eval(), "*") as own:
            expected(*inputs)
        assert set(tape) == set(own)
        for name in own:
            scale = own[name].float().nan_to_num(0, 0, 0).abs().max()
            assert torch.allclose(tape[name], own[name], atol=float(scale) * 2**-6, equal_nan=True), name


def test_replay_leaves_the_model_alone():
    run = Run(make_recipe("gru", "parity", model={"d_hidden": 8}, training={"steps": 3}))
    list(run.train())
    run.model.train()
    before = {name: p.detach().clone() for name, p in run.model.named_parameters()}
    run.replay(torch.tensor([[2, 3, 2]]), "*")
    assert run.model.training
    assert all(torch.equal(p, before[name]) for name, p in run.model.named_parameters())


def test_lists_of_ids_are_replayed_and_anything_else_is_refused():
    run = Run(make_recipe("gru", "parity", model={"d_hidden": 8}, training={"steps": 3}))
    [listed], [tensors] = run.replay([[2, 3, 2]], "logits"), run.replay(torch.tensor([[2, 3, 2]]), "logits")
    assert torch.equal(listed["logits"], tensors["logits"])
    for wrong in ([[2, 3], [2]], {"ids": 1}, [2, 3], [[2.5]], 3):
        with pytest.raises(InputError) as error:
            run.replay(wrong, "logits")
        assert chinese(error.value) != str(error.value)
    with pytest.raises(InputError, match="nothing to replay"):
        run.replay("logits")


@pytest.mark.parametrize("steps", [1, 2, 7, 300, 100_000])
def test_scheduled_steps_are_few_and_include_both_ends(steps):
    scheduled = snapshot_steps(steps)
    assert scheduled[0] == 0 and scheduled[-1] == steps and len(scheduled) <= 41
    assert scheduled == sorted(set(scheduled))


def test_snapshots_stay_within_their_bound():
    model = torch.nn.Linear(1_000, 2_000)  # 4 MB each
    snapshots = Snapshots(60)
    for step in range(61):
        snapshots.record(step, model)
    assert sum(s.bytes for s in snapshots) <= MOST_BYTES
    assert snapshots[0].step == 0 and snapshots[-1].step == 60
