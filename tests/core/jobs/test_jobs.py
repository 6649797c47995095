"""Runs trained by workers are the same runs, and the workers are shared fairly."""

import itertools
import logging
import multiprocessing
import threading
import time

import pytest

import core
from core.jobs import Jobs
from core.jobs.failures import BUG
from core.jobs.messages import OpenRun, RunDone, RunFailed, Shutdown, TrainSlice
from core.jobs.worker.loop import WorkerLoop
from core.runs.store import Store
from core.tasks import custom_task
from core.training.loop import Trainer
from tests.core.jobs.small_runs import exploding, same_weights, small, train_here, until
from tests.words import chinese

SEEDS = itertools.count(100)  # no two tests share a run


def test_the_same_run_as_in_this_process(jobs):
    seed = next(SEEDS)
    job = jobs.start(small(), seed)
    streamed = list(job)
    expected = train_here(small(), seed)
    assert job.status == "done" and job.problem is None and job.key == expected.key
    assert streamed == job.steps == expected.steps
    assert job.poll(50) == expected.steps[50:] and job.poll(60) == []
    stored = jobs.store.load(job.key)
    assert same_weights(stored, expected) and stored.steps == expected.steps


def test_asked_for_by_many_threads_it_is_trained_once(jobs):
    seed, started = next(SEEDS), []
    threads = [threading.Thread(target=lambda: started.append(jobs.start(small(), seed))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, started))) == 1
    assert started[0].wait(60) and started[0].status == "done"
    spent = started[0].cpu_seconds
    again = jobs.start(small(), seed)
    assert again.status == "done" and again.cpu_seconds == spent


def test_what_the_store_has_finished_is_done_at_once(jobs, tmp_path):
    store, expected = Store(tmp_path), train_here(small(5), 0)
    store.save(expected)
    with Jobs(store, workers=1) as others:
        job = others.start(small(5), 0)
        assert job.status == "done" and job.steps == expected.steps and list(job) == expected.steps
        began = time.monotonic()
    assert time.monotonic() - began < 3, "closed before its workers were there"


@pytest.mark.slow
def test_eight_runs_share_two_workers(jobs):
    until(lambda: len(jobs.pids) == 2)
    running = [jobs.start(small(200, curriculum=False), next(SEEDS)) for _ in range(8)]
    first_step_at: dict[str, float] = {}
    while not any(job.ended for job in running):
        for job in running:
            if job.progress:
                first_step_at.setdefault(job.key, time.monotonic())
        time.sleep(0.01)
    progress = [job.progress for job in running]
    for job in running:
        job.stop()
    assert len(first_step_at) == 8 and max(first_step_at.values()) - min(first_step_at.values()) < 3
    assert min(progress) >= 0.75 * max(progress), progress


def test_a_worker_with_nothing_to_do_takes_over_runs_of_the_other(jobs):
    until(lambda: len(jobs.pids) == 2)
    running = [jobs.start(small(100_000), next(SEEDS)) for _ in range(4)]
    until(lambda: all(job.progress for job in running))
    home = running[0].schedule.worker
    stay = [job for job in running if job.schedule.worker is home]
    for job in running:
        if job not in stay:
            job.stop()
    until(lambda: len({job.schedule.worker for job in stay} - {None}) == 2 or len(stay) < 2, 10)
    for job in stay:
        job.stop()


def test_stopped_within_a_second_and_continued_as_if_nothing_had_happened(jobs):
    seed = next(SEEDS)
    job = jobs.start(small(), seed)
    until(lambda: job.progress >= 5)
    began = time.monotonic()
    job.stop()
    assert time.monotonic() - began < 1 and job.status == "stopped"
    steps_before = job.progress
    assert 5 <= steps_before < 60
    until(lambda: jobs.store.facts(job.key)["index"] == job.progress, 2)
    assert jobs.start(small(), seed) is job
    assert job.wait(60) and job.steps == train_here(small(), seed).steps


@pytest.mark.slow
def test_stopping_does_not_wait_for_a_long_step(jobs):
    recipe, seed = small(3, batch_size=512, accumulate=128, curriculum=False), next(SEEDS)
    job = jobs.start(recipe, seed)
    until(lambda: job.status == "running")
    began = time.monotonic()
    job.stop()
    assert time.monotonic() - began < 1 and job.status == "stopped"
    assert jobs.start(recipe, seed) is job, "also while its worker is still busy with that step"
    assert job.wait(120) and job.status == "done" and [step.index for step in job.steps] == [1, 2, 3]


def test_paused_and_resumed(jobs):
    seed = next(SEEDS)
    job = jobs.start(small(), seed)
    until(lambda: job.progress >= 5)
    job.pause()
    until(lambda: job.status == "paused", 2)
    steps_before = job.progress
    time.sleep(0.5)
    assert job.progress == steps_before and not job.wait(0)
    job.resume()
    assert job.wait(60) and job.steps == train_here(small(), seed).steps
    job.resume()
    job.pause()
    job.stop()
    assert job.status == "done"


def test_a_rewind_does_not_empty_what_a_worker_goes_on_with(jobs):
    job = jobs.start(small(2_000), next(SEEDS))
    until(lambda: job.progress >= 5)
    with pytest.raises(core.InputError, match="busy"):
        jobs.reset(job)  # as if it had been resumed just before
    until(lambda: job.progress >= 10)
    assert [step.index for step in job.steps] == list(range(1, job.progress + 1))
    job.rewind()
    assert job.status == "paused" and job.progress == 0 and job.schedule.worker is None
    job.stop()


def test_of_many_paused_runs_the_oldest_are_stopped(jobs, monkeypatch):
    monkeypatch.setattr("core.jobs.jobs.MOST_PAUSED", 2)
    paused = [jobs.start(small(2_000), next(SEEDS)) for _ in range(4)]
    for job in paused:
        until(lambda job=job: job.progress)
        job.pause()
        until(lambda job=job: job.status == "paused")
    assert [job.status for job in paused] == ["stopped", "stopped", "paused", "paused"]
    assert jobs.find(paused[0].key) is paused[0], "it is stored"
    steps_before = paused[0].progress
    assert jobs.start(small(2_000), paused[0].seed) is paused[0]
    until(lambda: paused[0].progress > steps_before)
    for job in paused:
        job.stop()


def test_a_stored_run_is_found_without_its_weights(jobs, monkeypatch):
    run = train_here(small(5), next(SEEDS))
    jobs.store.save(run)
    monkeypatch.delattr(Store, "load")
    job = jobs.find(run.key)
    assert (job.recipe, job.seed, job.status, job.steps) == (run.recipe, run.seed, "done", run.steps)


def test_divergence_is_reported_and_the_steps_so_far_are_stored(jobs):
    seed = next(SEEDS)
    job = jobs.start(exploding(), seed)
    assert job.wait(60) and job.status == "failed"
    assert "no longer a number" in str(job.problem) and "不再是数值" in chinese(job.problem)
    run = core.Run(exploding(), seed)
    with pytest.raises(core.Diverged):
        list(run.train())
    assert job.steps == run.steps and len(run.steps) > 0
    assert jobs.store.load(job.key).steps == run.steps
    assert jobs.start(exploding(), seed).wait(60) and job.status == "failed", "it fails in the same way again"
    assert job.steps == run.steps


class Misspelt(core.Recipe):
    def to_dict(self):
        facts = super().to_dict()
        return {**facts, "model": {**facts["model"], "d_hiden": 1}}


def test_a_bug_is_a_short_sentence_and_the_details_are_in_the_log(jobs, caplog):
    good = small()
    with caplog.at_level(logging.ERROR):
        job = jobs.start(Misspelt(good.model, good.task, good.training), next(SEEDS))
        assert job.wait(60)
    assert job.status == "failed" and job.problem == BUG
    assert "Traceback" in caplog.text and "d_hiden" in caplog.text


def test_a_bug_in_one_run_does_not_concern_the_others(tmp_path, monkeypatch):
    """The loop of a worker without its process, so that a bug can be put in."""
    ours, theirs = multiprocessing.Pipe()
    loop = threading.Thread(target=WorkerLoop(theirs, Store(tmp_path), 2.0).serve, daemon=True)
    orders = [OpenRun(key, small(3).to_dict(), seed) for seed, key in enumerate("ab")]
    orders += [TrainSlice("a", 10.0)] + [TrainSlice("b", 10.0)] * 3  # each ends early when there is another order
    step = Trainer.step
    monkeypatch.setattr(
        Trainer, "step", lambda trainer: 1 / 0 if trainer.data_rng.initial_seed() == 0 else step(trainer)
    )
    loop.start()
    for order in orders:
        ours.send(order)
    replies = []
    while not replies or not isinstance(replies[-1], RunDone):
        replies.append(ours.recv())
    failure = next(reply for reply in replies if isinstance(reply, RunFailed))
    assert (failure.key, failure.why) == ("a", BUG) and "ZeroDivisionError" in failure.traceback
    assert replies[-1] == RunDone("b")
    ours.send(Shutdown())
    loop.join()


def test_a_damaged_file_is_trained_anew(jobs):
    seed = next(SEEDS)
    key = core.Run(small(20), seed).key
    jobs.store.path(key).write_bytes(b"not a run at all")
    job = jobs.start(small(20), seed)
    assert job.wait(60) and job.status == "done" and len(jobs.store.load(key).steps) == 20


def test_custom_data_is_trained_like_any_other(jobs):
    lines = "".join(f"a{i} b{i},{i % 2}\n" for i in range(40))
    task = custom_task("mine.csv", f"text,label\n{lines}".encode())
    recipe = core.Recipe(core.configure("lstm", **task.model_options("lstm")), task, core.Training.make(steps=5))
    job = jobs.start(recipe, seed := next(SEEDS))
    assert job.wait(60) and job.status == "done" and job.steps == train_here(recipe, seed).steps
    assert same_weights(jobs.store.load(job.key), train_here(recipe, seed))
