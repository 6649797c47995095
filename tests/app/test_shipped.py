"""The shipped runs: their files hold the accuracy, events and snapshots that their recipes give."""

import pytest
import torch

import core
from app.service.runs import shipped
from app.service.runs.shipped_weights import pack, unpack
from app.service.runs.thinning import thin_steps
from core.analysis.training_events import find_training_events
from core.errors import InputError
from core.runs.run import key_of
from core.training.snapshots import Snapshot

FAILS = {"parity-rnn-fails"}


def test_all_files_exist_and_are_small():
    assert shipped.names() == [spec.name for spec in shipped.SHIPPED_RUNS]
    assert sum(path.stat().st_size for path in shipped.FOLDER.iterdir()) < 9e6
    assert all(len(shipped.facts_of(name)["snapshots"]) >= 12 for name in shipped.names())


@pytest.mark.parametrize("name", shipped.names())
def test_accuracy_and_events_are_those_in_the_file(name):
    loaded = shipped.load(name)
    accuracy = loaded.run.evaluate(shipped.EVALUATION_PROBLEMS).accuracy
    assert accuracy == pytest.approx(loaded.facts["accuracy"], abs=5e-3)  # the file keeps the weights in float16
    for length, share in loaded.facts["accuracy_by_length"].items():
        assert loaded.run.evaluate(shipped.EVALUATION_PROBLEMS, length=int(length)).accuracy == pytest.approx(
            share, abs=5e-3
        )
    if name in FAILS:
        assert accuracy < loaded.run.task.chance + 0.1
    else:
        spec = shipped.by_name(name)
        assert accuracy >= core.recipe(spec.family, spec.task, spec.variant).goal - 0.01
    curve_events = {(event.step, str(event.text)) for event in find_training_events(loaded.run) if event.head is None}
    assert curve_events <= {(event.step, str(event.text)) for event in loaded.events}


@pytest.mark.parametrize("name", shipped.names())
def test_it_is_the_run_its_recipe_makes(name):
    """The key is that of recipe and seed; the snapshot of step 1 is one optimiser step away from the initial weights."""
    loaded, spec = shipped.load(name), shipped.by_name(name)
    run = loaded.run
    assert loaded.facts["key"] == key_of(run.recipe, spec.seed)
    assert [snapshot.step for snapshot in run.snapshots][:2] == [0, 1]
    initial, after = run.snapshots[0].weights, run.snapshots[1].weights
    assert list(after) == list(initial)
    update = run.steps[0].lr * 1.1  # the first update of Adam is the learning rate per weight; decay adds a little
    for parameter, weights in initial.items():
        rounding = 2e-3 * (weights.abs().max() + 1)  # of float16 and of the compression
        torch.testing.assert_close(after[parameter], weights, rtol=0, atol=float(update + rounding))


def test_packing_errors_are_below_a_sixtieth_of_each_difference_and_do_not_add_up():
    torch.manual_seed(0)
    weights, snapshots = {"a": torch.randn(6, 5), "b": torch.randn(7), "c": torch.zeros(3, 2, 2)}, []
    for step in range(30):
        snapshots.append(Snapshot(step, {name: w.half() for name, w in weights.items()}))
        weights = {name: w + (name != "c") * 0.1 * torch.randn_like(w) for name, w in weights.items()}
    unpacked = unpack(pack(snapshots), list(range(30)), snapshots[0])
    assert [snapshot.step for snapshot in unpacked] == list(range(30))
    for at, (actual, expected) in enumerate(zip(unpacked, snapshots, strict=True)):
        for name, w in expected.weights.items():
            if at in (0, 29):
                assert torch.equal(actual.weights[name], w)
                continue
            difference = (w.float() - unpacked[at + 1].weights[name].float()).abs().max()
            assert (actual.weights[name].float() - w.float()).abs().max() <= difference / 60 + 2e-3


def test_the_first_run_has_an_induction_head_fed_by_a_previous_token_head():
    loaded = shipped.load("induction-gpt")
    heads = {event.head for event in loaded.events if str(event.text).endswith("becomes an induction head")}
    feeders = {event.head for event in loaded.events if str(event.text).endswith("becomes a previous-token head")}
    assert any(head.startswith("blocks.1.") for head in heads)
    assert any(head.startswith("blocks.0.") for head in feeders)
    ids = torch.tensor(loaded.run.task.read("q k d f m x a r q k d f m"))
    assert loaded.run.task.show([int(loaded.run.model(ids[None]).logits[0, -1].argmax())]) == ["x"]


def test_thinning_keeps_the_first_the_last_and_the_required():
    steps = list(range(0, 400, 10))
    thinned = thin_steps(steps, 8, {130, 131})
    assert thinned[0] == 0 and thinned[-1] == 390 and 130 in thinned and 131 not in thinned and len(thinned) <= 8


def test_unknown_names_are_refused():
    from app.service.runs import run_registry

    for name in ("", "nothing", "../core/run", "induction-gpt\0"):
        with pytest.raises(InputError):
            run_registry.open_run(name)
