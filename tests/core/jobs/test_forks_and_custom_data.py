"""Runs that need more than a recipe to begin: forks, which begin in another run, and those on custom data."""

import itertools
import multiprocessing
import threading

import pytest

import core
from core.jobs.messages import (
    OpenRun,
    RunDone,
    RunFailed,
    RunOpened,
    RunReleased,
    Shutdown,
    StepsMade,
    TrainSlice,
    WorkerOrder,
    WorkerReply,
)
from core.jobs.worker.loop import WorkerLoop
from core.runs.recipes import make_recipe
from core.runs.store import Store, StoreError
from tests.core.jobs.small_runs import same_weights, small, train_here, until
from tests.core.runs.test_store_custom_and_forks import LABELS, recipe_on
from tests.words import chinese

SEEDS = itertools.count(3000)


def train_to_end(run: core.Run) -> core.Run:
    for _ in run.train():
        pass
    return run


def test_a_fork_is_trained_by_a_worker(jobs):
    parent = train_here(small(20), next(SEEDS))
    jobs.store.save(parent)
    fork = parent.fork(6, lr=1e-4, steps=40)
    job = jobs.start(fork.recipe, fork.seed)
    assert jobs.store.path(fork.key).exists(), "from now on its parent is not needed"
    streamed = list(job)
    expected = train_to_end(fork)
    assert job.status == "done" and job.key == expected.key and streamed == job.steps == expected.steps
    stored = jobs.store.load(job.key)
    assert same_weights(stored, expected) and stored.parent == parent.key
    assert [s.step for s in stored.snapshots] == [s.step for s in expected.snapshots]


def test_a_fork_that_was_stored_needs_no_parent(jobs):
    parent = train_here(small(20), next(SEEDS))
    fork = parent.fork(20, steps=40)
    jobs.store.save(fork)
    job = jobs.start(fork.recipe, fork.seed)
    assert job.wait(60) and job.status == "done" and job.steps == train_to_end(fork).steps


def test_a_fork_stopped_and_continued(jobs):
    parent = train_here(small(20), next(SEEDS))
    jobs.store.save(parent)
    fork = parent.fork(6, steps=120)
    job = jobs.start(fork.recipe, fork.seed)
    until(lambda: job.progress >= 15)
    job.stop()
    assert jobs.start(fork.recipe, fork.seed) is job
    assert job.wait(60) and job.steps == train_to_end(fork).steps


def test_a_fork_that_is_damaged_begins_anew_in_its_parent(jobs):
    parent = train_here(small(20), next(SEEDS))
    jobs.store.save(parent)
    fork = parent.fork(6)
    jobs.store.path(fork.key).write_bytes(b"not a run at all")
    job = jobs.start(fork.recipe, fork.seed)
    assert job.wait(60) and job.status == "done" and job.steps == train_to_end(fork).steps


def test_a_fork_without_a_beginning_is_refused(jobs):
    fork = train_here(small(20), next(SEEDS)).fork(6)
    with pytest.raises(StoreError) as refusal:
        jobs.start(fork.recipe, fork.seed)
    assert "not in the store" in str(refusal.value) and "不在存储中" in chinese(refusal.value)


def replies_to(store: Store, *orders: WorkerOrder) -> list[WorkerReply]:
    """The replies of a worker's loop to these orders."""
    ours, theirs = multiprocessing.Pipe()
    loop = threading.Thread(target=WorkerLoop(theirs, store, 2.0).serve, daemon=True)
    loop.start()
    replies = [ours.recv()]
    for order in orders:  # one at a time: training ends early when there is another order
        ours.send(order)
        last = RunOpened if isinstance(order, OpenRun) else RunReleased
        while not isinstance(replies[-1], RunDone | RunFailed | last):
            replies.append(ours.recv())
    ours.send(Shutdown())
    loop.join()
    return replies


def test_a_parent_that_goes_in_between_is_said_to_be_missing(tmp_path):
    fork = train_here(small(20), 0).fork(6)
    failure = replies_to(Store(tmp_path), OpenRun(fork.key, fork.recipe.to_dict(), fork.seed))[-1]
    assert isinstance(failure, RunFailed) and failure.key == fork.key
    assert "not in the store" in str(failure.why) and chinese(failure.why)


def test_custom_data_goes_to_the_worker_with_the_recipe(tmp_path):
    """Nothing of it was stored before, and no file is read."""
    recipe, store = recipe_on("a.csv", LABELS), Store(tmp_path)
    expected = train_to_end(core.Run(recipe, 4))
    replies = replies_to(store, OpenRun(expected.key, recipe.to_dict(), 4), TrainSlice(expected.key, 60.0))
    assert replies[-1] == RunDone(expected.key)
    assert [step for reply in replies if isinstance(reply, StepsMade) for step in reply.steps] == expected.steps
    stored = store.load(expected.key)
    assert same_weights(stored, expected) and stored.task == expected.task


def test_custom_data_is_trained_by_a_worker(jobs):
    recipe, seed = recipe_on("a.csv", LABELS), next(SEEDS)
    job = jobs.start(recipe, seed)
    expected = train_to_end(core.Run(recipe, seed))
    assert job.wait(60) and job.status == "done" and job.steps == expected.steps
    assert same_weights(jobs.store.load(job.key), expected)
    again = jobs.start(recipe_on("b.csv", LABELS), seed)
    assert again is job, "the same data is the same run"


def test_a_transfer_is_trained_by_a_worker_and_goes_back_to_its_beginning(jobs):
    sizes = {"d_embed": 8, "d_hidden": 8}
    first = make_recipe("lstm", "sentence classes", model=sizes, training={"steps": 5, "batch_size": 4})
    parent = train_here(first, next(SEEDS))
    jobs.store.save(parent)
    run = parent.transfer("entities", steps=20, batch_size=4, samples=8)
    job = jobs.start(run.recipe, run.seed)
    jobs.store.forget(parent.key)
    assert (
        list(job) == train_to_end(run).steps and len(job.steps) == 20 and same_weights(jobs.store.load(job.key), run)
    )
    jobs.store.save(parent)
    job.rewind()
    assert job.progress == 0 and job.status == "paused"
    job.resume()
    assert job.wait(60) and job.steps == run.steps and same_weights(jobs.store.load(job.key), run)
