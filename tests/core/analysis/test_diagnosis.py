"""Recipes meant to fail: they fail for the reason they give, are diagnosed rightly, and the proposed change helps."""

from __future__ import annotations

from statistics import fmean

import pytest

import core
from app.service.training.requests import TrainRequest, accuracy_goal, recipe_from_request
from core.analysis.diagnosis.diagnose import Diagnosis, Evidence, collect_evidence, diagnose
from core.runs.recipes import RECIPES, recipe
from core.runs.run import Run
from tests.words import chinese

MEANT_TO_FAIL = [
    (*pair, variant) for pair, variants in RECIPES.items() for variant in variants if "why" in variants[variant]
]
EXPECTED = {
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


def check_reason(variant: str, evidence: Evidence) -> None:
    """The evidence agrees with the recipe's `why`."""
    losses = [step.loss for step in evidence.steps]
    if variant == "source":  # learns its problems by heart and stays at chance on all others
        assert evidence.accuracy - evidence.held_out >= 0.1 and abs(evidence.held_out - evidence.chance) < 0.06
    elif variant == "too-fast":  # every update throws away what the one before has found
        assert evidence.diverged or fmean(losses[-20:]) > fmean(losses[:20])
    elif variant == "forgets":  # forget gates stay shut
        assert max(mean for name, (mean, _) in evidence.gates.items() if name.endswith(".forget")) < 0.1
        assert evidence.held_out < 0.5
    elif variant == "cheats":  # the loss falls to 0, but writing by itself it knows nothing
        assert losses[-1] < 0.05 and evidence.accuracy >= 0.99 and evidence.held_out < 0.1
    elif variant == "one-layer":  # one layer cannot do it
        assert evidence.accuracy < 0.5
    else:
        assert evidence.held_out < 0.9


def changed_recipe(names: tuple[str, str, str], diagnosis: Diagnosis) -> core.Recipe:
    """The recipe that the page's button for this diagnosis trains."""
    family, task, variant = names
    changes = {} if diagnosis.variant else diagnosis.changes  # a variant has all of them
    return recipe_from_request(TrainRequest(family, task, diagnosis.variant or variant, **changes))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "names",
    [pytest.param(names, marks=[] if names in QUICK else pytest.mark.slow) for names in MEANT_TO_FAIL],
    ids="/".join,
)
def test_the_proposed_change_helps(names):
    evidence = finished(recipe(*names))
    check_reason(names[2], evidence)
    diagnoses = diagnose(evidence)
    assert [diagnosis.kind for diagnosis in diagnoses][:1] == [EXPECTED[names[2]]]
    for diagnosis in diagnoses:
        assert str(diagnosis.what) and chinese(diagnosis.what)
        assert str(diagnosis.remedy) and chinese(diagnosis.remedy)
        changed = changed_recipe(names, diagnosis)
        better = finished(changed)
        assert better.held_out >= accuracy_goal(changed), diagnosis.kind
        assert not diagnose(better), "a run that reaches its goal has no diagnosis"


def test_every_recipe_meant_to_fail_has_a_diagnosis():
    assert {names[2] for names in MEANT_TO_FAIL} == set(EXPECTED)


def test_a_change_that_is_part_of_another_is_not_proposed_alone():
    """Fresh problems come with the recommended learning rate."""
    evidence = Evidence(
        recipe("rnn", "parity", "source"),
        [core.training.Step(i, 0.6, 0.7, 1e-3, 1.0, 64) for i in range(1, 190)],
        0.5,
        0.99,
        held_out=0.5,
    )
    assert [diagnosis.kind for diagnosis in diagnose(evidence)] == ["by_heart"]
