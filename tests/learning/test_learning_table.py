"""The table of how fast recipes learn: rows are kept, found again, and written down as they were measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.recipes import RECIPES, make_recipe, recipe
from tests.bench import learn
from tests.bench.learn import Learnt
from tests.bench.learn_table import FIRST_MEASURED, page


def tiny(steps: int = 2, **more):
    return make_recipe("gru", "parity", model={"d_hidden": 4}, training={"steps": steps, "batch_size": 2}, **more)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(learn, "KEPT", tmp_path / "rows")
    monkeypatch.setattr(learn, "SEEDS", 2)


def test_a_row_is_measured_once(kept):
    assert learn.known(tiny()) is None
    runs = learn.measure(tiny())
    assert len(runs) == 2 and learn.known(tiny()) == runs


def test_another_recipe_or_goal_is_another_row(kept):
    learn.measure(tiny())
    assert learn.known(tiny(steps=3)) is None and learn.known(tiny(goal=0.5)) is None


def test_a_run_is_solved_when_it_meets_its_goal():
    assert learn.learn(tiny(goal=0.0), seed=0).solved
    assert not learn.learn(tiny(goal=1.0), seed=0).solved


def test_names_by_their_beginning():
    names = learn.all_names(["rnn/parity", "transformer/copy/learned"])
    assert names == ["rnn/parity", "rnn/parity/source", "rnn/parity/too-fast", "transformer/copy/learned"]
    assert learn.all_names(["gpt/copy/default"]) == ["gpt/copy"]
    assert len(learn.all_names([])) == sum(map(len, RECIPES.values()))
    assert learn.all_names(["rnn/par"]) == []


def test_the_page_says_what_was_measured():
    runs = [Learnt(30, 0.5, 1.0, True), Learnt(40, 0.7, 0.995, True), Learnt(None, 2.0, 0.6, False)]
    failed = [Learnt(None, 1.0, 0.5, False)]
    good, bad = recipe("rnn", "parity"), recipe("rnn", "parity", "source")
    easier = replace(good, goal=0.9)
    lines = page(
        {"rnn/parity": (good, runs), "rnn/parity/source": (bad, failed), "x/y": (easier, runs), "z": (good, None)}
    )
    lines = lines.splitlines()
    assert "| rnn/parity | 2/3 | 35 (30–40) | 0.7 | 60.0% | 105 (5/5) | 0/1, 50% |" in lines
    assert "| x/y | 2/3 (goal 90%) | 35 (30–40) | 0.7 | 60.0% |  |  |" in lines
    assert "| z | not measured |  |  |  |  |  |" in lines
    assert f"| rnn/parity/source | 50% | {bad.why.en} |" in lines


def test_what_was_first_measured_belongs_to_a_recipe():
    assert set(FIRST_MEASURED) <= set(learn.all_names([]))
