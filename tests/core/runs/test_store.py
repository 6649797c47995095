"""Runs survive being stored, stopped, killed, damaged and evicted."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import core
from core.runs.recipes import make_recipe
from core.runs.run import FORMAT
from core.runs.store import Store, StoreError
from tests.words import chinese

ROOT = Path(__file__).resolve().parents[3]


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
    torch.manual_seed(99)  # the global generator does not matter
    losses += advance(resumed, 7)
    assert losses == expected
    assert same_weights(whole, resumed)
    assert [s.step for s in resumed.snapshots] == [s.step for s in whole.snapshots]
    assert resumed.steps == whole.steps
    for stored, original in zip(resumed.snapshots, whole.snapshots, strict=True):
        assert all(torch.equal(stored.weights[name], weight) for name, weight in original.weights.items())
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
def test_a_damaged_file_is_refused_with_a_reason_and_the_others_are_not_touched(tmp_path, damage):
    store = Store(tmp_path)
    path = store.save(core.Run(small_recipe()))
    other = store.save(core.Run(small_recipe(), seed=7))
    changed = damaged(path.read_bytes())[damage]
    assert changed != path.read_bytes()
    path.write_bytes(changed)
    with pytest.raises(StoreError) as error:
        store.load(path.stem)
    assert str(error.value).startswith(path.name) and chinese(error.value) != str(error.value)
    assert store.load(other.stem).seed == 7


def test_a_single_flipped_bit_is_detected(tmp_path):
    store, run = Store(tmp_path), core.Run(small_recipe(ema=0.9), seed=3)
    advance(run, 5)
    path = store.save(run)
    whole, chance = path.read_bytes(), random.Random(0)
    header = 8 + int.from_bytes(whole[:8], "little")
    detected = {True: 0, False: 0}
    for place in [chance.randrange(*part) for part in ((8, header), (header, len(whole))) for _ in range(60)]:
        changed = bytearray(whole)
        changed[place] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        try:
            again = store.load(path.stem)
            assert again.steps == run.steps and same_weights(again, run)  # of no consequence
        except StoreError:
            detected[place < header] += 1
    assert detected[True] > 55 and detected[False] == 60


def rewritten(path: Path, change) -> None:
    """Write the file again with a change and without digests, as older versions did."""
    with safe_open(path, "pt") as file:
        facts = json.loads(file.metadata()["run"])
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    facts.pop("digest", None)
    change(facts, tensors)
    save_file(tensors, path, metadata={"run": json.dumps(facts)})


def test_files_from_before_there_were_digests_are_read(tmp_path):
    store, run = Store(tmp_path), core.Run(small_recipe(ema=0.9), seed=3)
    advance(run, 5)
    path = store.save(run)
    rewritten(path, lambda facts, tensors: None)
    again = store.load(path.stem)
    assert again.steps == run.steps and same_weights(again, run)


WEIGHT = "head.proj.weight"
INVALID = {  # files that no run has written
    "index below 0": lambda facts, _: facts.update(index=-1),
    "index not a number": lambda facts, _: facts.update(index="5"),
    "index is no whole number": lambda facts, _: facts.update(index=5.0),
    "index beyond the steps": lambda facts, _: facts.update(index=6),
    "a step too few": lambda facts, _: facts["steps"].pop(),
    "steps out of order": lambda facts, _: facts["steps"].reverse(),
    "a loss that is a text": lambda facts, _: facts["steps"][2].__setitem__(1, "0.5"),
    "a loss that is no number": lambda facts, _: facts["steps"][2].__setitem__(1, float("nan")),
    "an infinite loss": lambda facts, _: facts["steps"][2].__setitem__(1, 10**400),
    "a step that is a number": lambda facts, _: facts["steps"].__setitem__(2, 3),
    "no steps": lambda facts, _: facts.update(steps=None),
    "no snapshots": lambda facts, _: facts.update(snapshots=[]),
    "a snapshot after the last step": lambda facts, tensors: (facts["snapshots"].append(9), tensors.update({name.replace("/5/", "/9/"): t.clone() for name, t in tensors.items() if name.startswith("snapshot/5/")})),
    "snapshots out of order": lambda facts, _: facts["snapshots"].reverse(),
    "a snapshot that is named oddly": lambda facts, _: facts["snapshots"].__setitem__(0, "0"),
    "a snapshot that is missing": lambda facts, _: facts["snapshots"].append(4),
    "half a snapshot": lambda _, tensors: tensors.pop(f"snapshot/1/{WEIGHT}"),
    "a snapshot of another shape": lambda _, tensors: tensors.update({f"snapshot/1/{WEIGHT}": torch.zeros(1, 1).half()}),
    "a snapshot of another kind": lambda _, tensors: tensors.update({f"snapshot/1/{WEIGHT}": tensors[f"model/{WEIGHT}"].clone()}),
    "a weight that is missing": lambda _, tensors: tensors.pop(f"model/{WEIGHT}"),
    "a weight that would be broadcast": lambda _, tensors: tensors.update({f"model/{WEIGHT}": torch.zeros(1, 1)}),
    "an unknown weight": lambda _, tensors: tensors.update({"model/strange": torch.zeros(1)}),
    "an average that is missing": lambda _, tensors: tensors.pop(f"average/{WEIGHT}"),
    "an average that would be broadcast": lambda _, tensors: tensors.update({f"average/{WEIGHT}": torch.zeros(1, 1)}),
    "an average without a count": lambda facts, _: facts.update(averaged=None),
    "an average of -1": lambda facts, _: facts.update(averaged=-1),
    "Adam state of another shape": lambda _, tensors: tensors.update({"optimiser/0/exp_avg": torch.zeros(1)}),
    "Adam state that is missing": lambda _, tensors: tensors.pop("optimiser/0/exp_avg"),
    "Adam state of no parameter": lambda _, tensors: tensors.update({"optimiser/99/exp_avg": torch.zeros(1)}),
    "Adam state without a name": lambda _, tensors: tensors.update({"optimiser/": torch.zeros(1)}),
    "random numbers cut short": lambda _, tensors: tensors.update({"random/data": tensors["random/data"][:100].clone()}),
    "no random numbers": lambda _, tensors: tensors.pop("random/noise"),
    "no curriculum": lambda facts, _: facts.update(curriculum=None),
    "half a curriculum": lambda facts, _: facts["curriculum"].pop("limit"),
    "a curriculum of nothing": lambda facts, _: facts["curriculum"].update(limit=0),
    "a curriculum too long": lambda facts, _: facts["curriculum"].update(limit=1000),
    "no divergence state": lambda facts, _: facts.update(watch=[]),
    "an infinite divergence count": lambda facts, _: facts["watch"].update(excess=float("inf")),
    "no recipe": lambda facts, _: facts.update(recipe=None),
    "a recipe of lists": lambda facts, _: facts.update(recipe={"model": [], "task": [], "training": []}),
    "a seed that is no integer": lambda facts, _: facts.update(seed=3.0),
    "nothing at all": lambda facts, tensors: (facts.pop("steps"), tensors.pop("random/data")),
}  # fmt: skip


@pytest.mark.parametrize("change", INVALID)
def test_an_invalid_file_is_refused_also_without_a_digest(tmp_path, change):
    store, run = Store(tmp_path), core.Run(small_recipe(ema=0.9), seed=3)
    advance(run, 5)
    path = store.save(run)
    rewritten(path, INVALID[change])
    with pytest.raises(StoreError) as error:
        store.load(path.stem)
    assert str(error.value).startswith(path.name)


@pytest.mark.parametrize("key", ["../outside", "a/b", "", ".", "a.b"])
def test_a_key_cannot_leave_the_folder(tmp_path, key):
    with pytest.raises(StoreError):
        Store(tmp_path).load(key)


def test_reading_a_recipe_does_not_count_as_a_use(tmp_path):
    store, run = Store(tmp_path), core.Run(small_recipe(), seed=3)
    path = store.save(run)
    os.utime(path, (1, 1))
    assert store.recipe(run.key) == (run.recipe, run.seed) and path.stat().st_mtime == 1
    store.load(run.key)
    assert path.stat().st_mtime > 1


def test_a_fork_that_cannot_be_reset_stays_as_it_is(tmp_path, monkeypatch):
    store, parent = Store(tmp_path), core.Run(small_recipe(), seed=3)
    list(parent.train())
    store.save(parent)
    fork = parent.fork(parent.recipe.training.steps, steps=2 * parent.recipe.training.steps)
    content = store.save(fork).read_bytes()

    def no_room(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("core.store.save_file", no_room)
        with pytest.raises(OSError):
            store.reset(fork.recipe, fork.seed)
    assert store.path(fork.key).read_bytes() == content and not list(tmp_path.glob("*.part"))
    store.reset(fork.recipe, fork.seed)
    assert store.load(fork.key).trainer.index == fork.recipe.start_step and not list(tmp_path.glob("*.part"))


def test_a_missing_run_is_said_to_be_missing(tmp_path):
    with pytest.raises(StoreError, match="no such run"):
        Store(tmp_path).load("abc")


def test_the_least_recently_used_run_is_evicted_first(tmp_path):
    store = Store(tmp_path)
    paths = [store.save(core.Run(small_recipe(), seed)) for seed in range(3)]
    for age, path in zip((30, 20, 10), paths, strict=True):
        os.utime(path, (time.time() - age,) * 2)
    store.load(paths[0].stem)  # used: now the most recent
    store.most_bytes = 3 * paths[0].stat().st_size
    newest = store.save(core.Run(small_recipe(), 3))
    assert [p.exists() for p in paths] == [True, False, True] and newest.exists()


@pytest.mark.parametrize("times", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_in_mid_write_the_store_opens_and_the_run_is_whole(tmp_path, times):
    """A process saves over and over and is killed at a random time; the file left behind is a complete run."""
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
from core.runs.store import Store
from tests.core.runs.test_store import small_recipe

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
