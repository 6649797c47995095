"""Recipes meant to fail: they fail as their words say, the app notices why, and the change it offers mends them."""

from __future__ import annotations

from statistics import fmean

import pytest

import core
from app.service.training.requests import TrainRequest, accuracy_goal, recipe_from_request
from core.analysis.diagnosis.diagnose import Diagnosis, Evidence, collect_evidence, diagnose
from core.runs.recipes import RECIPES, recipe
from core.runs.run import Run
from tests.words import chinese

MEANT_TO_FAIL = [(*pair, variant) for pair, all_ in RECIPES.items() for variant in all_ if "why" in all_[variant]]
NOTICED = {
    "source": "by_heart",
    "too-fast": "diverged",
    "forgets": "shut_gates",
    "cheats": "no_mask",
    "no-attention-long": "bottleneck",
    "no-positions": "no_positions",
    "one-layer": "too_shallow",
}
QUICK = {("rnn", "parity", "too-fast"), ("lstm", "recall", "forgets"), ("transformer", "reverse", "no-positions")}


def finished(chosen: core.Recipe, seed: int = 0) -> Evidence:
    run, diverged = Run(chosen, seed), False
    try:
        for _ in run.train():
            pass
    except core.Diverged:
        diverged = True
    return collect_evidence(run, None if diverged else run.evaluate(512).accuracy, diverged)


def by_its_words(variant: str, seen: Evidence) -> None:
    """What the recipe's `why` says is so."""
    losses = [step.loss for step in seen.steps]
    if variant == "source":  # learns its problems by heart and stays at chance on all others
        assert seen.accuracy - seen.held_out >= 0.1 and abs(seen.held_out - seen.chance) < 0.06
    elif variant == "too-fast":  # every update throws away what the one before has found
        assert seen.diverged or fmean(losses[-20:]) > fmean(losses[:20])
    elif variant == "forgets":  # forget gates stay shut
        assert max(mean for name, (mean, _) in seen.gates.items() if name.endswith(".forget")) < 0.1
        assert seen.held_out < 0.5
    elif variant == "cheats":  # the loss falls to 0, but writing by itself it knows nothing
        assert losses[-1] < 0.05 and seen.accuracy >= 0.99 and seen.held_out < 0.1
    elif variant == "one-layer":  # one layer cannot do it
        assert seen.accuracy < 0.5
    else:
        assert seen.held_out < 0.9


def mended(names: tuple[str, str, str], offered: Diagnosis) -> core.Recipe:
    """What the button beside the sentence trains."""
    family, task, variant = names
    changes = {} if offered.variant else offered.changes  # a variant has all of them
    return recipe_from_request(TrainRequest(family, task, offered.variant or variant, **changes))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "names",
    [pytest.param(names, marks=[] if names in QUICK else pytest.mark.slow) for names in MEANT_TO_FAIL],
    ids="/".join,
)
def test_what_is_offered_mends_it(names):
    seen = finished(recipe(*names))
    by_its_words(names[2], seen)
    found = diagnose(seen)
    assert [one.kind for one in found][:1] == [NOTICED[names[2]]]
    for offered in found:
        assert str(offered.what) and chinese(offered.what) and str(offered.remedy) and chinese(offered.remedy)
        other = mended(names, offered)
        better = finished(other)
        assert better.held_out >= accuracy_goal(other), offered.kind
        assert not diagnose(better), "a run that reaches its goal is left alone"


def test_every_recipe_meant_to_fail_has_a_notice():
    assert {names[2] for names in MEANT_TO_FAIL} == set(NOTICED)


def test_a_change_that_is_part_of_another_is_not_offered_apart():
    """Fresh problems come with the learning rate that goes with them."""
    seen = Evidence(
        recipe("rnn", "parity", "source"),
        [core.training.Step(i, 0.6, 0.7, 1e-3, 1.0, 64) for i in range(1, 190)],
        0.5,
        0.99,
        held_out=0.5,
    )
    assert [one.kind for one in diagnose(seen)] == ["by_heart"]
