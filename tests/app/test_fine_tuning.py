"""Fine-tuning against training from scratch: the stored numbers are those of the runs whose keys stand beside them."""

from __future__ import annotations

import dataclasses

import pytest
from fastapi.testclient import TestClient

from app.main import make_app
from app.service.experiments import fine_tuning
from core.runs.fork import Origin
from core.runs.recipes.fine_tuning import PRETRAINING, TUNING, fine_tuned, pretraining
from core.runs.run import Run, key_of

METHODS = ("tuned", "scratch")


def test_the_keys_are_those_of_the_recipes():
    facts = fine_tuning.comparison()
    assert facts["labels"] == list(fine_tuning.LABELS) and facts["seeds"] == list(fine_tuning.SEEDS)
    assert (facts["first_steps"], facts["steps"]) == (PRETRAINING["steps"], TUNING["steps"])
    for s, seed in enumerate(facts["seeds"]):
        parent = Run(pretraining(), seed)
        assert facts["pretrained"][s] == parent.key, "run `python -m app.service.experiments.fine_tuning`"
        origin = Origin(parent.key, PRETRAINING["steps"], True)
        for i, labels in enumerate(facts["labels"]):
            recipe = dataclasses.replace(fine_tuned(parent, labels).recipe, origin=origin)
            assert facts["tuned"]["keys"][s][i] == key_of(recipe, seed)
            assert facts["scratch"]["keys"][s][i] == key_of(recipe.from_scratch, seed)


def test_fine_tuned_beats_scratch_with_the_fewest_labels_in_every_seed():
    facts = fine_tuning.comparison()
    tuned, scratch = ([row[0] for row in facts[method]["accuracy"]] for method in METHODS)
    assert len(tuned) == 5 and all(a > b + 0.03 for a, b in zip(tuned, scratch, strict=True))
    assert sum(tuned) / 5 > sum(scratch) / 5 + 0.08
    assert min(scratch) > facts["chance"] - 0.05, "scratch has learnt something too"
    assert len({key for method in METHODS for row in facts[method]["keys"] for key in row}) == 60


def test_the_route_returns_the_stored_results():
    assert TestClient(make_app()).get("/api/fine-tuning").json() == fine_tuning.comparison()


@pytest.mark.slow
def test_measured_again_the_numbers_are_the_same():
    facts = fine_tuning.comparison()
    pretrained = fine_tuning.train_run(Run(pretraining(), facts["seeds"][0]))
    same_platform = facts["measured_with"] == fine_tuning.platform_facts()
    for i, labels in enumerate(facts["labels"][:2]):
        for method, (key, accuracy) in fine_tuning.compare(pretrained, labels).items():
            assert key == facts[method]["keys"][0][i]
            assert accuracy == pytest.approx(facts[method]["accuracy"][0][i], abs=1e-6 if same_platform else 0.05)
