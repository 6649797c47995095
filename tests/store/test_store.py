"""Runs survive being stored, stopped, killed, damaged and evicted."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import core
from core.recipes import make_recipe
from core.run import FORMAT
from core.store import Store, StoreError

ROOT = Path(__file__).resolve().parents[2]


def small_recipe(**training) -> core.Recipe:
    model = {"d_embed": 8, "d_hidden": 16, "dropout": 0.1}
    return make_recipe("lstm", "parity", model=model, training={"steps": 12, "curriculum": True, **training})


def advance(run: core.Run, steps: int) -> list[float]:
    training = run.train()
    return [next(training).loss for _ in range(steps)]


def same_weights(first: core.Run, second: core.Run) -> bool:
    pairs = zip(first.model.parameters(), second.model.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    "training",
    [
        {},
        {"ema": 0.9},
        {"adversarial": 0.5, "accumulate": 2},
        {"precision": "bfloat16"},
        {"schedule": "piecewise", "points": {4: 1, 10: 0.1}},
    ],
)
def test_a_run_stored_in_the_middle_goes_on_as_if_nothing_had_happened(tmp_path, training):
    whole = core.Run(small_recipe(**training), seed=3)
    expected = advance(whole, 12)
    stopped = core.Run(small_recipe(**training), seed=3)
    losses = advance(stopped, 5)
    Store(tmp_path).save(stopped)
    resumed = Store(tmp_path).get(small_recipe(**training), seed=3)
    torch.manual_seed(99)  # what happens elsewhere does not matter
    losses += advance(resumed, 7)
    assert losses == expected
    assert same_weights(whole, resumed)
    assert [s.step for s in resumed.snapshots] == [s.step for s in whole.snapshots]
    assert resumed.steps == whole.steps
    for stored, kept in zip(resumed.snapshots, whole.snapshots, strict=True):
        assert all(torch.equal(stored.weights[name], weight) for name, weight in kept.weights.items())
    assert resumed.evaluate(64) == whole.evaluate(64)


def test_the_key_depends_on_every_option_and_on_the_seed():
    keys = {core.Run(small_recipe(), seed).key for seed in (0, 1)}
    keys |= {core.Run(small_recipe(lr=1e-3)).key, core.Run(small_recipe(clip=0.5)).key}
    keys.add(core.Run(make_recipe("lstm", "parity", model={"d_hidden": 17})).key)
    assert len(keys) == 5
    assert core.Run(small_recipe()).key == core.Run(small_recipe()).key


def damaged(content: bytes) -> dict[str, bytes]:
    return {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "header only": content[:20],
        "foreign": b"not a run at all" * 10,
        "a pickle": b"\x80\x04\x95" + content[:100],
        "huge header": (10**10).to_bytes(8, "little") + content[8:],
        "facts changed": content.replace(b'\\"seed\\": 0', b'\\"seed\\": 1'),
        "format changed": content.replace(rf"\"format\": {FORMAT}".encode(), rb"\"format\": 99"),
    }


@pytest.mark.parametrize("damage", list(damaged(b"")))
def test_a_damaged_file_is_refused_with_a_sentence_and_the_others_are_not_touched(tmp_path, damage):
    store = Store(tmp_path)
    path = store.save(core.Run(small_recipe()))
    other = store.save(core.Run(small_recipe(), seed=7))
    spoiled = damaged(path.read_bytes())[damage]
    assert spoiled != path.read_bytes()
    path.write_bytes(spoiled)
    with pytest.raises(StoreError) as refusal:
        store.load(path.stem)
    assert refusal.value.text("en").startswith(path.name) and refusal.value.text("zh") != refusal.value.text("en")
    assert store.load(other.stem).seed == 7


@pytest.mark.parametrize("key", ["../outside", "a/b", "", ".", "a.b"])
def test_a_key_cannot_leave_the_folder(tmp_path, key):
    with pytest.raises(StoreError):
        Store(tmp_path).load(key)


def test_to_ask_for_a_recipe_is_not_to_use_the_run(tmp_path):
    store, run = Store(tmp_path), core.Run(small_recipe(), seed=3)
    path = store.save(run)
    os.utime(path, (1, 1))
    assert store.recipe(run.key) == (run.recipe, run.seed) and path.stat().st_mtime == 1
    store.load(run.key)
    assert path.stat().st_mtime > 1


def test_what_cannot_begin_again_stays_as_it_is(tmp_path, monkeypatch):
    store, parent = Store(tmp_path), core.Run(small_recipe(), seed=3)
    list(parent.train())
    store.save(parent)
    fork = parent.fork(parent.recipe.training.steps, steps=2 * parent.recipe.training.steps)
    kept = store.save(fork).read_bytes()

    def no_room(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("core.store.save_file", no_room)
        with pytest.raises(OSError):
            store.begin_again(fork.recipe, fork.seed)
    assert store.path(fork.key).read_bytes() == kept and not list(tmp_path.glob("*.part"))
    store.begin_again(fork.recipe, fork.seed)
    assert store.load(fork.key).trainer.index == fork.recipe.begins_at and not list(tmp_path.glob("*.part"))


def test_a_missing_run_is_said_to_be_missing(tmp_path):
    with pytest.raises(StoreError, match="no such run"):
        Store(tmp_path).load("abc")


def test_the_run_not_looked_at_for_longest_is_evicted_first(tmp_path):
    store = Store(tmp_path)
    paths = [store.save(core.Run(small_recipe(), seed)) for seed in range(3)]
    for age, path in zip((30, 20, 10), paths, strict=True):
        os.utime(path, (time.time() - age,) * 2)
    store.load(paths[0].stem)  # looked at: now the youngest
    store.most_bytes = 3 * paths[0].stat().st_size
    newest = store.save(core.Run(small_recipe(), 3))
    assert [p.exists() for p in paths] == [True, False, True] and newest.exists()


@pytest.mark.parametrize("times", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_in_mid_write_the_store_opens_and_the_run_is_whole(tmp_path, times):
    """A process saves over and over and is killed at a random moment; whatever is there afterwards is a whole run."""
    rng = random.Random(0)
    key = core.Run(small_recipe(steps=100_000)).key
    command = [sys.executable, "-c", KILL_LOOP, str(tmp_path)]
    host = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        for _ in range(times):
            assert host.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0, 0.03))
            print("kill", file=host.stdin, flush=True)
            saved = int(host.stdout.readline())
            run = Store(tmp_path).load(key)
            assert len(run.steps) == run.trainer.index >= saved >= 2
            assert not list(tmp_path.glob("*.part"))
    finally:
        os.killpg(host.pid, signal.SIGKILL)
        host.wait()


# Forks the writers from one warm process: importing torch twenty times would take a minute.
KILL_LOOP = """
import os, signal, sys
import core, torch
import torch._dynamo  # what each writer's first optimiser would otherwise import, for seconds
from core.store import Store
from tests.store.test_store import small_recipe

torch.set_num_threads(1)

def write_for_ever(out):
    store, run = Store(sys.argv[1]), core.Run(small_recipe(steps=100_000))
    for step in run.train():
        store.save(run)
        out.write(f"{step.index}\\n")
        out.flush()

while True:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        write_for_ever(os.fdopen(write, "w"))
    os.close(write)
    with os.fdopen(read) as lines:
        saved = [int(lines.readline()), int(lines.readline())]
        print("ready", flush=True)
        sys.stdin.readline()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        saved += [int(line) for line in lines if line.endswith("\\n")]
    print(saved[-1], flush=True)
"""
