"""A killed worker costs no more than the steps since the last checkpoint, and no process outlives the caller."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.jobs import Jobs
from core.jobs.failures import DIED_TOO_OFTEN, RESUMES
from core.runs.store import Store
from tests.core.jobs.small_runs import is_alive, same_weights, small, train_here, until

ROOT = Path(__file__).resolve().parents[3]
SEEDS = itertools.count(500)


def kill_its_worker(job) -> None:
    until(lambda: job.ended or (job.schedule.worker and job.schedule.worker.pid))
    os.kill(job.schedule.worker.pid, signal.SIGKILL)


@pytest.mark.parametrize("runs", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_twice_a_run_ends_as_if_undisturbed(jobs, runs, caplog):
    rng, recipe = random.Random(runs), small(400)
    for _ in range(runs):
        seed = next(SEEDS)
        job = jobs.start(recipe, seed)
        for death, least in enumerate((30, 150), start=1):
            goal = least + rng.randrange(30)
            until(lambda goal=goal, job=job: job.progress >= goal and jobs.store.path(job.key).exists())
            kill_its_worker(job)
            until(lambda death=death, job=job: job.deaths == death)
            assert job.problem in (RESUMES, None) and job.progress >= goal  # None: it is already going on
            until(lambda job=job: job.key in caplog.text)
            caplog.clear()
        assert job.wait(120) and job.status == "done" and job.problem is None
        expected = train_here(recipe, seed)
        assert job.steps == expected.steps
        stored = jobs.store.load(job.key)
        assert stored.steps == expected.steps and same_weights(stored, expected)
        assert [s.step for s in stored.snapshots] == [s.step for s in expected.snapshots]
    assert not list(jobs.store.folder.glob("*.part"))


def test_killed_three_times_it_has_failed_and_may_be_tried_again(jobs):
    seed = next(SEEDS)
    job = jobs.start(small(100_000), seed)
    for death in (1, 2, 3):
        steps_before = job.progress
        until(lambda steps_before=steps_before: job.progress > steps_before)
        kill_its_worker(job)
        until(lambda death=death: job.deaths == death)
    assert job.wait(5) and job.status == "failed" and job.problem == DIED_TOO_OFTEN
    jobs.start(small(100_000), seed)
    until(lambda: job.status == "running" and job.problem is None)
    job.stop()


def test_only_the_run_in_training_is_blamed(jobs):
    running = [jobs.start(small(100_000), next(SEEDS)) for _ in range(4)]
    until(lambda: all(job.progress for job in running))
    kill_its_worker(running[0])
    until(lambda: sum(job.deaths for job in running) == 1)
    steps_before = [job.progress for job in running]
    until(lambda: all(job.progress > before for job, before in zip(running, steps_before, strict=True)))
    for job in running:
        job.stop()


def test_closed_it_leaves_no_process_and_no_file_but_the_runs(tmp_path):
    jobs = Jobs(Store(tmp_path), workers=2)
    pids = [jobs._worker_pool.launcher.pid]
    running = [jobs.start(small(100_000), seed) for seed in range(3)]
    until(lambda: all(job.progress for job in running) and len(jobs.pids) == 2)
    pids += jobs.pids
    began = time.monotonic()
    jobs.close()
    assert time.monotonic() - began < 3
    assert len(pids) == 3 and not any(map(is_alive, pids))
    assert [job.status for job in running] == ["stopped"] * 3
    assert {path.name for path in tmp_path.iterdir()} == {f"{job.key}.safetensors" for job in running}
    for job in running:
        assert Store(tmp_path).load(job.key).steps == job.steps
    jobs.close()
    with pytest.raises(RuntimeError):
        jobs.start(small(), 9)


@pytest.mark.slow
def test_workers_end_with_the_caller(tmp_path):
    command = [sys.executable, "-c", CALLER, str(tmp_path)]
    caller = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        pids = [int(pid) for pid in caller.stdout.readline().split()]
        assert len(pids) == 3 and all(map(is_alive, pids))
    finally:
        caller.kill()
        caller.wait()
        caller.stdout.close()
    until(lambda: not any(map(is_alive, pids)), 5)
    assert Store(tmp_path).keys() or not list(tmp_path.iterdir())


CALLER = """
import sys, time
from core.jobs import Jobs
from core.runs.store import Store
from tests.core.jobs.small_runs import small, until

assert "pandas" not in sys.modules, "only a sweep needs it"
assert "ray" not in sys.modules, "only the process that is connected to a cluster needs it"
jobs = Jobs(Store(sys.argv[1]))
running = [jobs.start(small(100_000), seed) for seed in range(3)]
until(lambda: all(job.progress for job in running))
print(jobs._worker_pool.launcher.pid, *jobs.pids, flush=True)
time.sleep(60)
"""
