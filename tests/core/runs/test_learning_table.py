"""The table of how fast recipes learn: rows are measured once, saved, and formatted as measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core.runs.recipes import RECIPES, make_recipe, recipe
from core.runs.run import Run
from tests.bench import learn
from tests.bench.learn import LearningResult
from tests.bench.learn_table import FIRST_MEASURED, page, summary


def tiny(steps: int = 2, **more):
    return make_recipe("gru", "parity", model={"d_hidden": 4}, training={"steps": steps, "batch_size": 2}, **more)


@pytest.fixture
def results_file(tmp_path, monkeypatch):
    monkeypatch.setattr(learn, "RESULTS", tmp_path / "rows.json")
    monkeypatch.setattr(learn, "SEEDS", 2)


def test_a_row_is_measured_once(results_file):
    assert learn.known_row("gru/parity", tiny()) is None
    row = learn.measure("gru/parity", tiny())
    assert row["solved"] == "0/2" and learn.known_row("gru/parity", tiny()) == row
    learn.measure("rnn/parity", tiny())
    assert set(learn.rows()) == {"gru/parity", "rnn/parity"} and learn.known_row("gru/parity", tiny()) == row


def test_a_row_of_another_recipe_or_goal_does_not_count(results_file):
    learn.measure("gru/parity", tiny())
    assert (
        learn.known_row("gru/parity", tiny(steps=3)) is None and learn.known_row("gru/parity", tiny(goal=0.5)) is None
    )
    assert learn.known_row("lstm/parity", tiny()) is None


def test_the_page_is_that_of_the_saved_rows():
    """It was not edited by hand, and every row is of a recipe in its present form."""
    assert learn.PAGE.read_text("utf-8") == page(learn.all_rows())


def test_only_the_last_of_several_answers_counts():
    run = Run(make_recipe("gpt", "parity", model={"d_model": 8, "n_heads": 2, "head": "tagger"}))

    def answers(logits, lengths):
        right = run.task.lay_out(run.task.evaluation(learn.PROBLEMS, length=7), "tags").target
        return torch.cat([1 - right[:, :-1], right[:, -1:]], dim=1)

    run.model.head.predict = answers
    assert learn.last_token_accuracy(run, 7) == 1.0
    run.model.head.predict = lambda logits, lengths: 1 - answers(logits, lengths)
    assert learn.last_token_accuracy(run, 7) == 0.0


def test_agreement_is_that_of_the_best_head(monkeypatch):
    maps = {
        "decoder.blocks.0.cross.weights": {"agreement": torch.tensor([[0.2, 0.7]])},
        "decoder.blocks.1.cross.weights": {"agreement": torch.tensor([[0.9, 0.1]])},
        "encoder.blocks.0.attn.weights": {"own": torch.tensor([[1.0, 1.0]])},
    }
    monkeypatch.setattr(learn, "compute_head_history", lambda run, n, snapshots: maps)
    copies = make_recipe("transformer", "copy", model={"d_model": 8, "n_heads": 2})
    assert learn.best_agreement(Run(copies)) == pytest.approx(0.9)
    assert learn.best_agreement(Run(tiny())) is None


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
    runs = summary(
        [
            LearningResult(30, 0.5, 1.0, True, {40: 0.9}, 0.97),
            LearningResult(40, 0.7, 0.995, True, {40: 0.8}, 0.91),
            LearningResult(None, 2.0, 0.6, False, {40: 0.5}),
        ]
    )
    failed = summary([LearningResult(None, 1.0, 0.5, False)])
    good, bad = recipe("rnn", "parity"), recipe("rnn", "parity", "source")
    easier = replace(good, goal=0.9)
    lines = page(
        {"rnn/parity": (good, runs), "rnn/parity/source": (bad, failed), "x/y": (easier, runs), "z": (good, None)}
    )
    lines = lines.splitlines()
    assert "| rnn/parity | 2/3 | 35 (30–40) | 0.7 | 60.0% | 105 (5/5) | 0/1, 50% |" in lines
    assert "| x/y | 2/3 (goal 90%) | 35 (30–40) | 0.7 | 60.0% |  |  |" in lines
    assert "| z | not measured |  |  |  |  |  |" in lines
    assert f"| rnn/parity/source | 50% | {bad.why} |" in lines
    assert "| recipe | agreement |" in lines and "| rnn/parity | 0.94 (0.91–0.97) |" in lines
    assert "| recipe | length 40 |" in lines and "| rnn/parity | 80.0% (50.0%–90.0%) |" in lines


def test_what_was_first_measured_belongs_to_a_recipe():
    assert set(FIRST_MEASURED) <= set(learn.all_names([]))
