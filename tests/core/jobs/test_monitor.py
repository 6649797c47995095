"""Probes, events and diagnoses of a monitored run while it is trained, and the outcome stored beside it."""

import json

import pytest

import core
from core.analysis.training_events import find_training_events
from core.jobs import Jobs
from core.jobs.outcome import OUTCOME_KEYS, load_outcome, outcome_path
from core.jobs.worker.monitor import FINAL_PROBLEMS, Monitor
from core.jobs.worker.probe import PROBLEMS, Probe
from core.runs.store import Store
from tests.core.jobs.small_runs import exploding, small, train_here


def event_texts(events) -> list[tuple[int, str]]:
    return [(event["step"], str(event["text"])) for event in events]


@pytest.fixture(scope="module")
def monitored(tmp_path_factory):
    with Jobs(Store(tmp_path_factory.mktemp("monitored")), workers=1, monitor=True) as jobs:
        yield jobs


def test_the_results_are_those_of_the_finished_run(monitored):
    job = monitored.start(small(), 1)
    assert job.wait(60) and job.status == "done"
    run, results = train_here(small(), 1), job.probe_results
    assert results.latest == Probe(run).measure() and len(results.latest["problems"]) == PROBLEMS
    assert results.latest["gates"] and not results.latest["heads"]
    assert results.accuracy == run.evaluate(FINAL_PROBLEMS).accuracy
    assert event_texts(results.events) == [(event.step, str(event.text)) for event in find_training_events(run)]
    assert sorted(results.head_shares) == [snapshot.step for snapshot in run.snapshots]


def test_the_outcome_is_found_again(monitored):
    job = monitored.start(exploding(), 2)
    assert job.wait(60) and job.status == "failed" and job.probe_results.diagnoses
    assert set(json.loads(outcome_path(monitored.store, job.key).read_text())) == set(OUTCOME_KEYS)
    assert load_outcome(monitored.store, job.key, job.progress)["noticed"] == job.probe_results.diagnoses
    assert load_outcome(monitored.store, job.key, job.progress + 1) is None, "it is about another number of steps"
    key, problem, diagnoses = job.key, job.problem, job.probe_results.diagnoses
    with Jobs(monitored.store, workers=1) as others:
        again = others.find(key)
        assert (again.status, again.problem, again.probe_results.diagnoses) == ("failed", problem, diagnoses)


def test_nothing_is_measured_twice():
    run = core.Run(small(), 3)
    monitor = Monitor(run, {})
    monitor.training_seconds = 1000.0
    assert set(monitor.poll()) == {"probe", "head_shares"}, "the snapshot of step 0"
    monitor.probed_at = 0.0
    assert monitor.poll() == {}, "no step was made since"
