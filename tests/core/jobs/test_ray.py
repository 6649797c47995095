"""On a real Ray cluster of two nodes, runs and tables are the same as here, whatever dies."""

import itertools
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
import torch

import core
from core.jobs import Jobs
from core.jobs import sweep as sweep_module
from core.jobs.failures import CLUSTER_LOST, RAY
from core.jobs.ray import worker_launcher
from core.runs.store import Store
from core.tasks import custom_task
from tests.core.jobs.ray_cluster import TwoNodes, actor_pids
from tests.core.jobs.small_runs import exploding, same_weights, small, train_here, until
from tests.words import chinese

ROOT = Path(__file__).resolve().parents[3]
SEEDS = itertools.count(900)
START_SECONDS = 200.0  # actors import torch, on a machine that may have other things to do
GRID = {"n_layers": [1, 2], "n_heads": [1, 2]}


@pytest.fixture(scope="module", autouse=True)
def single_thread():
    """As workers have: the runs trained here for comparison would otherwise be rounded differently."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def nodes():
    nodes = TwoNodes()
    yield nodes
    nodes.close()


@pytest.fixture(scope="module")
def ray_jobs(nodes, tmp_path_factory):
    with Jobs(Store(tmp_path_factory.mktemp("ray")), checkpoint_seconds=0.3, ray=nodes.address) as jobs:
        yield jobs
        pids = set(jobs.pids)
    assert pids and not pids & set(actor_pids()), "closed, it leaves no actor"


def families(steps: int) -> dict[str, core.Recipe]:
    training = {"steps": steps, "batch_size": 8}
    return {
        family: core.runs.recipes.make_recipe(family, "copy", model={"d_model": 16}, training=training)
        for family in ("gpt", "transformer")
    }


def assert_same_but_for_time(first: pd.DataFrame, second: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(
        first.drop(columns="cpu_seconds"), second.drop(columns="cpu_seconds"), check_exact=True
    )


def test_the_same_run_as_in_this_process(ray_jobs):
    assert ray_jobs.size == 2, "one worker for each processor of the cluster"
    job = ray_jobs.start(small(), seed := next(SEEDS))
    streamed, expected = list(job), train_here(small(), seed)
    assert job.status == "done" and job.problem is None and job.cpu_seconds > 0
    assert streamed == job.steps == expected.steps
    stored = ray_jobs.store.load(job.key)
    assert same_weights(stored, expected) and stored.steps == expected.steps
    assert [s.step for s in stored.snapshots] == [s.step for s in expected.snapshots]


@pytest.mark.slow
def test_stopped_paused_and_continued_as_if_nothing_had_happened(ray_jobs):
    job = ray_jobs.start(small(150), seed := next(SEEDS))
    until(lambda: job.progress >= 5)
    began = time.monotonic()
    job.stop()
    assert time.monotonic() - began < 1 and job.status == "stopped"
    until(lambda: ray_jobs.store.facts(job.key)["index"] == job.progress)
    assert ray_jobs.start(small(150), seed) is job
    job.pause()
    until(lambda: job.status == "paused")
    job.resume()
    assert job.wait(60) and job.steps == train_here(small(150), seed).steps


@pytest.mark.slow
def test_more_runs_than_workers_all_move(ray_jobs):
    until(lambda: len(ray_jobs.pids) == 2, START_SECONDS)
    running = [ray_jobs.start(small(100_000), next(SEEDS)) for _ in range(5)]
    until(lambda: min(job.progress for job in running) > 30)
    most, least = (pick(job.schedule.served_seconds for job in running) for pick in (max, min))
    for job in running:
        job.stop()
    assert least > most / 4


@pytest.mark.slow
def test_a_run_on_custom_data_and_a_fork(ray_jobs):
    lines = "".join(f"a{i % 5} b{i % 3},{i % 2}\n" for i in range(40))
    task = custom_task("mine.csv", f"text,label\n{lines}".encode())
    recipe = core.Recipe(core.configure("lstm", **task.model_options("lstm")), task, core.Training.make(steps=8))
    job = ray_jobs.start(recipe, seed := next(SEEDS))
    assert job.wait(60) and job.steps == train_here(recipe, seed).steps
    parent = ray_jobs.store.load(job.key)
    fork = parent.fork(8, steps=12)
    job = ray_jobs.start(fork.recipe, fork.seed)
    assert job.wait(60) and job.status == "done", job.problem
    list(fork.train())
    assert job.steps == fork.steps and len(fork.steps) == 12


@pytest.mark.slow
def test_divergence_and_a_damaged_file(ray_jobs):
    seed = next(SEEDS)
    key = core.Run(small(10), seed).key
    ray_jobs.store.path(key).write_bytes(b"not a run at all")
    repaired, diverging = ray_jobs.start(small(10), seed), ray_jobs.start(exploding(), seed)
    assert diverging.wait(60) and diverging.status == "failed" and diverging.diverged
    assert "不再是数值" in chinese(diverging.problem)
    assert repaired.wait(60) and repaired.status == "done" and ray_jobs.store.load(key).steps == repaired.steps


@pytest.mark.slow
def test_a_run_that_cannot_be_stored_fails_with_the_reason(ray_jobs):
    seed = next(SEEDS)
    job = ray_jobs.start(small(100_000), seed)
    until(lambda: job.progress)
    job.stop()
    path = ray_jobs.store.path(job.key)
    until(path.exists)
    ray_jobs.start(small(100_000), seed)
    until(lambda: job.status == "running")
    path.unlink()
    path.mkdir()  # no file can take its place
    assert job.wait(60) and job.status == "failed" and "could not be stored" in str(job.problem)
    path.rmdir()


def test_the_sweep_gives_the_same_frame(ray_jobs):
    grid = {"d_hidden": [8, 12], "lr": [1e-2, 1e-3]}
    on_ray = core.sweep(small(20), grid, seeds=2, jobs=ray_jobs)
    assert len(on_ray) == 8 and on_ray.problem.isna().all() and (on_ray.cpu_seconds > 0).all()
    assert_same_but_for_time(on_ray, core.sweep(small(20), grid, seeds=2))
    with pytest.raises(core.ConfigError):
        core.sweep(small(1), jobs=ray_jobs, ray="auto")


@pytest.mark.slow
def test_a_node_killed_in_mid_sweep_loses_no_result(nodes, ray_jobs, monkeypatch, caplog):
    """The last one with these nodes."""
    monkeypatch.setattr(sweep_module, "AHEAD", 2)  # four runs under way, four to come
    results = len(list(ray_jobs.store.folder.glob("*.json")))
    tables: list[pd.DataFrame] = []
    thread = threading.Thread(target=lambda: tables.append(core.sweep(families(60), GRID, jobs=ray_jobs)))
    thread.start()
    until(
        lambda: (
            len(list(ray_jobs.store.folder.glob("*.json"))) >= results + 2
            and all(worker.jobs for worker in ray_jobs._worker_pool.workers)
        )  # whichever is killed, it has something to lose
    )
    nodes.kill_one()
    assert not tables, "in mid-sweep"
    thread.join(200)
    assert "resumes from its last checkpoint" in caplog.text
    assert len(tables[0]) == 8 and tables[0].problem.isna().all() and (tables[0].steps == 60).all()
    assert_same_but_for_time(tables[0], core.sweep(families(60), GRID))


# Without a cluster


@pytest.mark.parametrize("address", ["nowhere", "ray://127.0.0.1:10001", "127.0.0.1:1", "127.0.0.1:99999", ""])
def test_a_bad_address_is_refused_with_a_sentence(address, tmp_path):
    with pytest.raises(core.ConfigError) as refusal:
        Jobs(Store(tmp_path), ray=address)
    assert refusal.value.option == "ray" and chinese(refusal.value) != str(refusal.value)


def test_something_else_at_the_address_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_launcher, "CONNECT_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(core.ConfigError, match="no Ray cluster"):
        Jobs(Store(tmp_path), ray=f"127.0.0.1:{other.getsockname()[1]}")


def test_without_ray_it_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_launcher.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(core.ConfigError, match=f"pip install ray=={RAY}"):
        core.sweep(small(1), store=Store(tmp_path), ray="auto")
    assert f"ray=={RAY}" in (ROOT / "requirements-dev.txt").read_text().split()


# When more is lost than a node


@pytest.fixture
def own_nodes():
    nodes = TwoNodes()
    yield nodes
    nodes.close()


@pytest.mark.slow
def test_found_by_itself_and_left_without_a_trace(own_nodes, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", own_nodes.address)  # where "auto" looks first
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = actor_pids()
    on_ray = core.sweep(families(3), GRID, ray="auto")
    assert_same_but_for_time(on_ray, core.sweep(families(3), GRID))
    assert not set(actor_pids()) - set(before) and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_lost_cluster_is_reported_and_costs_no_more_than_the_steps_since_the_last_checkpoint(own_nodes, tmp_path):
    with Jobs(Store(tmp_path), checkpoint_seconds=0.3, ray=own_nodes.address) as jobs:
        job = jobs.start(small(400), seed := next(SEEDS))
        until(lambda: job.progress > 50 and jobs.store.path(job.key).exists(), START_SECONDS)
        own_nodes.kill_all()
        assert job.wait(120) and job.status == "failed" and job.problem == CLUSTER_LOST
    with Jobs(Store(tmp_path), workers=1) as here:
        job = here.start(small(400), seed)
        assert job.progress > 0, "not from the beginning"
        assert job.wait(60) and job.steps == train_here(small(400), seed).steps


@pytest.mark.slow
def test_a_node_that_comes_later_is_used(own_nodes, tmp_path):
    own_nodes.kill_one()
    with Jobs(Store(tmp_path), workers=2, ray=own_nodes.address) as jobs:
        running = [jobs.start(small(100_000), next(SEEDS)) for _ in range(2)]
        until(lambda: all(job.progress for job in running), START_SECONDS)
        assert len(jobs.pids) == 1
        own_nodes.start_one()
        until(lambda: len({job.schedule.worker for job in running} - {None}) == 2, START_SECONDS)
    assert [job.status for job in running] == ["stopped"] * 2


CALLER = """
import sys, time
from core.jobs import Jobs
from core.runs.store import Store
from tests.core.jobs.small_runs import small, until

jobs = Jobs(Store(sys.argv[1]), ray=sys.argv[2])
job = jobs.start(small(100_000))
until(lambda: job.progress and len(jobs.pids) == 2, 200)
print(*jobs.pids, flush=True)
time.sleep(200)
"""


@pytest.mark.slow
def test_the_actors_end_with_the_caller(own_nodes, tmp_path):
    command = [sys.executable, "-c", CALLER, str(tmp_path), own_nodes.address]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as caller:
        pids = {int(pid) for pid in caller.stdout.readline().split()}
        assert len(pids) == 2 and pids <= set(actor_pids())
        caller.kill()
    until(lambda: not pids & set(actor_pids()), 20)
