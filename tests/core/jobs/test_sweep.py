"""A table of runs is the same wherever they were trained, and is not trained twice."""

import numpy as np
import pandas as pd
import pytest

import core
from core.runs.store import Store
from tests.core.jobs.small_runs import exploding, small, train_here
from tests.words import chinese

GRID = {"d_hidden": [8, 12], "lr": [1e-2, 1e-3]}


def table(**where) -> pd.DataFrame:
    return core.sweep(small(20), GRID, seeds=2, **where)


def test_the_table_is_right_and_stored(jobs, tmp_path):
    first = table(jobs=jobs)
    assert list(first.columns) == [
        "recipe", "d_hidden", "lr", "seed", "steps", "loss", "accuracy", "parameters", "cpu_seconds", "problem"
    ]  # fmt: skip
    assert len(first) == 8 and set(first.seed) == {0, 1} and set(first.d_hidden) == {8, 12}
    assert (first.steps == 20).all() and (first.cpu_seconds > 0).all() and first.problem.isna().all()
    options = {"steps": 20, "curriculum": True, "batch_size": 16, "lr": 1e-3}
    expected = train_here(
        core.runs.recipes.make_recipe(
            "lstm", "parity", model={"d_embed": 8, "d_hidden": 12, "dropout": 0.1}, training=options
        ),
        1,
    )
    row = first[(first.d_hidden == 12) & (first.lr == 1e-3) & (first.seed == 1)].iloc[0]
    assert row.loss == expected.steps[-1].loss and row.accuracy == expected.evaluate().accuracy
    assert row.parameters == sum(p.numel() for p in expected.model.parameters())
    pd.testing.assert_frame_equal(table(jobs=jobs), first)  # processor seconds included: nothing was trained again
    pd.testing.assert_frame_equal(table(store=jobs.store), first)
    here = table(store=Store(tmp_path))
    pd.testing.assert_frame_equal(here.drop(columns="cpu_seconds"), first.drop(columns="cpu_seconds"))
    pd.testing.assert_frame_equal(table(store=Store(tmp_path)), here)


def test_a_run_that_diverges_has_a_row_that_says_so(jobs):
    by_workers, here = core.sweep(exploding(), jobs=jobs), core.sweep(exploding())
    assert "no longer a number" in str(by_workers.problem[0])
    columns = ["recipe", "seed", "steps", "loss", "accuracy", "parameters", "problem"]
    assert by_workers[columns].equals(here[columns]) and by_workers.steps[0] < 500
    pd.testing.assert_frame_equal(core.sweep(exploding(), jobs=jobs), by_workers)


def test_several_recipes_and_options_of_the_task():
    frame = core.sweep(
        {"short": small(2), "longer": small(3)}, {"task.max_len": [6, 8], "training.batch_size": [4]}, seeds=[5]
    )
    assert list(frame.recipe) == ["short", "short", "longer", "longer"] and list(frame.steps) == [2, 2, 3, 3]
    assert list(frame["task.max_len"]) == [6, 8, 6, 8]
    assert core.sweep("rnn/parity", {"steps": [1]})["option steps"].tolist() == [1]


@pytest.mark.parametrize("options", [{"d_hiden": [1]}, {"max_len": [8]}, {"lr": [1e9]}])
def test_a_bad_grid_is_refused_before_anything_is_trained(options):
    with pytest.raises(core.ConfigError) as refusal:
        core.sweep(small(1_000_000), options)
    assert chinese(refusal.value) != str(refusal.value)


def test_one_value_is_a_list_of_one():
    options = {"lr": 0.1, "engine": "stepwise", "batch_size": np.int64(4), "dropout": np.float64(0.5)}
    frame = core.sweep(small(1), options, seeds=np.int64(1))
    listed = core.sweep(small(1), {name: [value] for name, value in options.items()}, seeds=np.array([0]))
    assert len(frame) == 1 and frame.engine[0] == "stepwise"
    pd.testing.assert_frame_equal(frame.drop(columns="cpu_seconds"), listed.drop(columns="cpu_seconds"))
    points = {"schedule": "piecewise", "points": {1: 1.0}, "steps": 1}
    assert core.sweep({"named": "rnn/parity"}, points).points.tolist() == [{1: 1.0}]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("gpt-induction",), "recipe = 'gpt-induction'.*Did you mean gpt/induction"),
        (("gpt/induction/default/more",), "recipe = 'gpt/induction/default/more'.*Did you mean gpt/induction"),
        ((3,), "recipe = 3"),
        (({"a": 3},), "recipe = 3"),
        (("rnn/parity", ["lr"]), "options"),
        (("rnn/parity", None, 0), "seeds = 0"),
        (("rnn/parity", None, True), "seeds = True"),
        (("rnn/parity", None, "01"), "seeds = '01'"),
        (("rnn/parity", None, [0, True]), "seed = True"),
        (("rnn/parity", None, [0.5]), "seed = 0.5"),
    ],
)
def test_what_no_sweep_can_be_made_of_is_refused_in_plain_words(arguments, named):
    with pytest.raises(core.ConfigError, match=named) as refusal:
        core.sweep(*arguments)
    assert chinese(refusal.value) != str(refusal.value)
