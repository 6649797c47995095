"""The runs that come with the app are what the page says they are."""

import pytest
import torch

import core
from app.service.runs import shipped
from app.service.runs.shipped_weights import pack, unpack
from core.analysis.training_events import find_training_events
from core.errors import InputError
from core.runs.run import key_of
from core.training.snapshots import Snapshot

FAILS = {"parity-rnn-fails"}


def test_all_are_there_and_small():
    assert shipped.names() == [one.name for one in shipped.SHIPPED]
    assert sum(path.stat().st_size for path in shipped.FOLDER.iterdir()) < 9e6
    assert all(len(shipped.facts_of(name)["snapshots"]) >= 12 for name in shipped.names())


@pytest.mark.parametrize("name", shipped.names())
def test_accuracy_and_moments_are_what_the_file_says(name):
    opened = shipped.load(name)
    accuracy = opened.run.evaluate(shipped.EVALUATED_ON).accuracy
    assert accuracy == pytest.approx(opened.facts["accuracy"], abs=5e-3)  # the file keeps the weights in float16
    for length, share in opened.facts["accuracy_by_length"].items():
        assert opened.run.evaluate(shipped.EVALUATED_ON, length=int(length)).accuracy == pytest.approx(
            share, abs=5e-3
        )
    if name in FAILS:
        assert accuracy < opened.run.task.chance + 0.1
    else:
        one = shipped.by_name(name)
        assert accuracy >= core.recipe(one.family, one.task, one.variant).goal - 0.01
    found = {(m.step, str(m.text)) for m in find_training_events(opened.run) if m.head is None}
    assert found <= {(m.step, str(m.text)) for m in opened.moments}


@pytest.mark.parametrize("name", shipped.names())
def test_it_is_the_run_its_recipe_makes(name):
    """The key is that of recipe and seed; what was kept of step 1 is one step away from the recipe's own beginning."""
    opened, one = shipped.load(name), shipped.by_name(name)
    run = opened.run
    assert opened.facts["key"] == key_of(run.recipe, one.seed)
    assert [snapshot.step for snapshot in run.snapshots][:2] == [0, 1]
    beginning, after = run.snapshots[0].weights, run.snapshots[1].weights
    assert list(after) == list(beginning)
    step = run.steps[0].lr * 1.1  # AdamW's first step is as long as its rate, and decay adds a little
    for parameter, weights in beginning.items():
        rounding = 2e-3 * (weights.abs().max() + 1)  # float16, and what the packing takes away
        torch.testing.assert_close(after[parameter], weights, rtol=0, atol=float(step + rounding))


def test_packing_loses_less_than_a_sixtieth_of_each_movement_and_nothing_adds_up():
    torch.manual_seed(0)
    weights, snapshots = {"a": torch.randn(6, 5), "b": torch.randn(7), "c": torch.zeros(3, 2, 2)}, []
    for step in range(30):
        snapshots.append(Snapshot(step, {name: w.half() for name, w in weights.items()}))
        weights = {name: w + (name != "c") * 0.1 * torch.randn_like(w) for name, w in weights.items()}
    read = unpack(pack(snapshots), list(range(30)), snapshots[0])
    assert [snapshot.step for snapshot in read] == list(range(30))
    for at, (kept, true) in enumerate(zip(read, snapshots, strict=True)):
        for name, w in true.weights.items():
            if at in (0, 29):
                assert torch.equal(kept.weights[name], w)
                continue
            moved = (w.float() - read[at + 1].weights[name].float()).abs().max()
            assert (kept.weights[name].float() - w.float()).abs().max() <= moved / 60 + 2e-3


def test_the_first_run_has_an_induction_head_fed_by_a_previous_token_head():
    opened = shipped.load("induction-gpt")
    heads = {m.head for m in opened.moments if str(m.text).endswith("becomes an induction head")}
    feeders = {m.head for m in opened.moments if str(m.text).endswith("becomes a previous-token head")}
    assert any(head.startswith("blocks.1.") for head in heads)
    assert any(head.startswith("blocks.0.") for head in feeders)
    ids = torch.tensor(opened.run.task.read("q k d f m x a r q k d f m"))
    assert opened.run.task.show([int(opened.run.model(ids[None]).logits[0, -1].argmax())]) == ["x"]


def test_thinning_keeps_the_first_the_last_and_the_wanted():
    steps = list(range(0, 400, 10))
    kept = shipped.thinned(steps, 8, {130, 131})
    assert kept[0] == 0 and kept[-1] == 390 and 130 in kept and 131 not in kept and len(kept) <= 8


def test_unknown_names_are_refused():
    from app.service.runs import run_registry

    for name in ("", "nothing", "../core/run", "induction-gpt\0"):
        with pytest.raises(InputError):
            run_registry.open_run(name)
