"""The registered recipes solve their tasks; those meant to fail do so for the reason they give."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

import core
from core.analysis.training_events import compute_head_history, find_training_events
from core.runs.recipes import RECIPES, Recipe, recipe
from core.runs.run import Run
from tests.words import chinese

ALL = [(*pair, variant) for pair, variants in RECIPES.items() for variant in variants]
MEANT_TO_FAIL = [names for names in ALL if recipe(*names).why]
MEANT_TO_LEARN = [names for names in ALL if not recipe(*names).why]


def slow(family: str):
    return pytest.param(family, marks=pytest.mark.slow)


def trained(chosen: Recipe, seed: int = 0) -> Run:
    run = Run(chosen, seed)
    list(run.train())
    return run


def test_every_recipe_can_be_made():
    for (family, name), variants in RECIPES.items():
        assert "default" in variants
        for variant, options in variants.items():
            chosen = recipe(family, name, variant)
            assert chosen.family == family and chosen.task.name == name
            assert chosen.why is options.get("why") and (
                chosen.why is None or (str(chosen.why) and chinese(chosen.why))
            )
            Run(chosen)


@pytest.mark.parametrize("family", [slow("rnn"), slow("gru"), "lstm"])
def test_parity(family):
    run = trained(recipe(family, "parity"))
    assert run.evaluate(512).accuracy >= 0.99
    assert run.evaluate(length=100).accuracy >= 0.995


def test_copy():
    """It is solved, and the best head looks at the very token it copies."""
    run = trained(recipe("transformer", "copy"))
    assert run.evaluate(512).accuracy >= 0.99
    shares = compute_head_history(run)["decoder.blocks.0.cross.weights"]["agreement"][-1]
    assert shares.max() >= 0.9
    best = f"decoder.blocks.0.cross.{int(shares.argmax())}"
    events = find_training_events(run)
    assert best in {event.head for event in events if str(event.text).endswith("becomes an alignment head")}


@pytest.mark.slow
def test_without_a_causal_mask_a_language_model_only_works_with_teacher_forcing():
    """Its loss is nearly 0, but it cannot generate."""
    run = trained(recipe("gpt", "copy", "cheats"))
    assert run.steps[-1].loss < 0.05 and run.steps[-1].accuracy >= 0.99
    assert run.evaluate(256).accuracy < 0.5


@pytest.mark.slow
def test_forgetting_is_the_forget_gates_doing():
    """The same recipe with open gates learns."""
    failing = recipe("lstm", "recall", "forgets")
    same = replace(failing, model=replace(failing.model, forget_bias=0.0), why=None)
    assert trained(same).evaluate(512).accuracy >= 0.99
    assert trained(failing).evaluate(512).accuracy < 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("family", "name", "variant"), MEANT_TO_FAIL)
def test_meant_to_fail(family, name, variant):
    with suppress(core.Diverged):
        assert trained(recipe(family, name, variant)).evaluate(512).accuracy < 0.9


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("family", "name", "variant"), MEANT_TO_LEARN)
def test_meant_to_learn(family, name, variant):
    chosen = recipe(family, name, variant)
    assert trained(chosen).evaluate(512).accuracy >= chosen.goal
