"""Runs on a user's file, and forks, are stored like any other: their file is all that is needed to load them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

import core
from core.runs.recipes import make_recipe
from core.runs.store import Store, StoreError
from core.tasks import custom_task
from tests.words import chinese

ROOT = Path(__file__).resolve().parents[3]
LABELS = "text,label\n" + "".join(f"数字 {i} of many,{'odd' if i % 2 else 'even'}\n" for i in range(40))
PAIRS = "source\ttarget\n" + "".join(f"see {i} now\tnow {i} seen\n" for i in range(40))
TAGS = "\n".join(json.dumps({"tokens": ["see", f"w{i}"], "tags": ["O", "B"]}) for i in range(30))
TEXT = "".join(f"Line {i}: the quick brown fox.\n" for i in range(60))
FILES = [
    ("a.csv", LABELS, "lstm", {}),
    ("b.tsv", PAIRS, "seq2seq", {"unit": "character"}),
    ("c.jsonl", TAGS, "gru", {"max_vocab": 20}),
    ("d.txt", TEXT, "gpt", {"context": 16}),
]
SMALL = {"d_embed": 8, "d_hidden": 8}


def recipe_on(name: str, text: str, family: str = "lstm", **task_options) -> core.Recipe:
    task = custom_task(name, text.encode(), **task_options)
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1} if family == "gpt" else SMALL
    model = core.configure(family, **task.model_options(family), **sizes)
    return core.Recipe(model, task, core.Training.make(steps=8, batch_size=4))


def advance(run: core.Run, steps: int) -> list[float]:
    training = run.train()
    return [next(training).loss for _ in range(steps)]


@pytest.mark.parametrize(("name", "text", "family", "task_options"), FILES)
def test_custom_data_is_in_the_file_of_the_run(tmp_path, name, text, family, task_options):
    whole = core.Run(recipe_on(name, text, family, **task_options), seed=2)
    expected = advance(whole, 8)
    stopped = core.Run(recipe_on(name, text, family, **task_options), seed=2)
    losses = advance(stopped, 3)
    path = Store(tmp_path).save(stopped)
    assert text.encode() in path.read_bytes(), "as plain text"
    resumed = Store(tmp_path).load(path.stem)
    assert losses + advance(resumed, 5) == expected
    assert resumed.task == whole.task and resumed.task.tokens == whole.task.tokens
    assert resumed.evaluate(16) == whole.evaluate(16) and resumed.task.example(3) == whole.task.example(3)
    assert text not in json.dumps(Store(tmp_path).facts(path.stem), ensure_ascii=False), "the header stays short"


def test_the_key_depends_on_the_data_and_not_on_the_name():
    key = core.Run(recipe_on("a.csv", LABELS)).key
    assert core.Run(recipe_on("somewhere/else.csv", LABELS)).key == key
    assert core.Run(recipe_on("a.csv", "\ufeff" + LABELS.replace("\n", "\r\n"))).key == key, "the same text"
    others = [
        recipe_on("a.csv", LABELS.replace("数字 7", "数字 07")), recipe_on("a.csv", LABELS, max_vocab=50),
        recipe_on("a.csv", LABELS.replace("39 of many,odd", "39 of many,even")), recipe_on("a.csv", LABELS, "gru"),
    ]  # fmt: skip
    assert len({key, *(core.Run(each).key for each in others)}) == 5
    tasks = [recipe_on("a.csv", LABELS).task, recipe_on("b.csv", LABELS).task, others[0].task, others[1].task]
    assert tasks[0] == tasks[1] and len(set(tasks)) == 3


@pytest.mark.slow
def test_custom_data_gives_the_same_run_in_another_process():
    code = "import sys, torch, core; torch.set_num_threads(1); sys.path.insert(0, '.'); "
    code += "from tests.core.runs.test_store_custom_and_forks import *; "
    code += "print([run_losses(each) for each in FILES])"
    other = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert other.stdout.strip() == str([run_losses(each) for each in FILES]), other.stderr
    finally:
        torch.set_num_threads(threads)


def run_losses(file: tuple) -> list[str]:
    name, text, family, task_options = file
    run = core.Run(recipe_on(name, text, family, **task_options))
    return [run.key, *(loss.hex() for loss in advance(run, 5))]


def test_text_that_was_changed_in_the_file_is_refused(tmp_path):
    path = Store(tmp_path).save(core.Run(recipe_on("a.csv", LABELS)))
    path.write_bytes(path.read_bytes().replace("数字 7".encode(), "数字 8".encode()))
    with pytest.raises(StoreError) as error:
        Store(tmp_path).load(path.stem)
    assert chinese(error.value) != str(error.value)


# Forks


def small_run(seed: int = 1) -> core.Run:
    training = {"steps": 12, "curriculum": True}
    return core.Run(make_recipe("lstm", "parity", model={**SMALL, "dropout": 0.1}, training=training), seed)


@pytest.mark.parametrize("step", [4, 12])
def test_a_fork_is_stored_like_any_run(tmp_path, step):
    """4: from a snapshot; 12: from where the parent stands."""
    parent = small_run()
    advance(parent, 12)
    whole = parent.fork(step, steps=20, lr=1e-3)
    expected = advance(whole, 20 - step)
    stopped = parent.fork(step, steps=20, lr=1e-3)
    path = Store(tmp_path).save(stopped)
    again = Store(tmp_path).load(path.stem)
    losses = advance(again, 3)
    Store(tmp_path).save(again)
    resumed = Store(tmp_path).get(stopped.recipe, stopped.seed)
    assert losses + advance(resumed, 17 - step) == expected
    assert resumed.steps == whole.steps and resumed.parent == parent.key and resumed.key == whole.key
    assert [s.step for s in resumed.snapshots] == [s.step for s in whole.snapshots]
    assert Store(tmp_path).facts(path.stem)["recipe"]["origin"] == {
        "parent": parent.key, "step": step, "exact": step == 12,
    }  # fmt: skip


def test_a_fork_that_was_not_stored_begins_in_its_stored_parent(tmp_path):
    store, parent = Store(tmp_path), small_run()
    advance(parent, 12)
    fork = parent.fork(4, lr=1e-3)
    with pytest.raises(StoreError, match="not in the store") as error:
        store.get(fork.recipe, fork.seed)
    assert chinese(error.value) != str(error.value)
    store.save(parent)
    new = store.get(fork.recipe, fork.seed)
    assert advance(new, 8) == advance(fork, 8)


def test_an_exact_fork_needs_its_parent_where_it_stood(tmp_path):
    store, parent = Store(tmp_path), small_run()
    advance(parent, 5)
    fork = parent.fork(5, lr=1e-3)
    store.save(parent)
    assert advance(store.get(fork.recipe, fork.seed), 2) == advance(fork, 2)
    advance(parent, 1)
    store.save(parent)
    with pytest.raises(StoreError) as error:
        store.get(fork.recipe, fork.seed)
    assert "stands there" in str(error.value) and chinese(error.value)


def test_a_fork_on_custom_data(tmp_path):
    parent = core.Run(recipe_on("a.csv", LABELS))
    advance(parent, 8)
    fork = parent.fork(4, lr=1e-3)
    path = Store(tmp_path).save(fork)
    opened = Store(tmp_path).load(path.stem)
    assert opened.key == fork.key and advance(opened, 4) == advance(fork, 4)
    with safe_open(path, "pt") as file:
        assert file.get_tensor("file/text").dtype == torch.uint8


# The size limit


def test_results_beside_the_runs_count_and_go_too(tmp_path):
    store = Store(tmp_path)
    run = store.save(small_run())
    results = [tmp_path / f"{'a' * 20}{i:04}.json" for i in range(50)]
    for age, path in enumerate(results):
        path.write_text("x" * 1000)
        os.utime(path, (time.time() - 1000 + age,) * 2)
    store.most_bytes = run.stat().st_size + 10_500
    newest = store.save(small_run())
    assert newest == run and [path.exists() for path in results] == [False] * 40 + [True] * 10
    Store(tmp_path, run.stat().st_size + 3_000)  # opened with a smaller limit
    assert run.exists() and [path.exists() for path in results[40:]] == [False] * 7 + [True] * 3
