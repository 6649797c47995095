"""Checkpoints are loaded in the background, one copy for all sessions, within a memory budget."""

import threading
import time

import pytest
import torch

from app.service.checkpoints import checkpoint_runs
from app.service.checkpoints.checkpoint_cache import MAX_FINISHED_LOADS, CheckpointCache, LoadStopped
from app.service.runs import model_slots, run_registry
from core import InputError
from core.runs.pretrained_run import PretrainedRun
from tests.app.checkpoints import small_checkpoints
from tests.app.checkpoints.small_checkpoints import post, wait_for

MINILM = "checkpoint:all-MiniLM-L6-v2"


def test_its_cost_is_described_then_it_is_loaded_in_the_background_and_shared(client):
    about = post(client, "checkpoints/about", name=MINILM)
    assert about["parameters"] == 22_713_216 and about["bytes"] == 4 * about["parameters"] and about["seconds"] > 0
    assert about["status"] == "away" and (about["layers"], about["heads"]) == (6, 12)
    listed = {run["name"]: run for run in client.get("/api/runs").json()}
    assert listed[MINILM]["checkpoint"] == {"source": "package", "ready": False}
    post(client, "checkpoints/load", name=MINILM)
    wait_for(client, MINILM)
    models = []
    sessions = [
        threading.Thread(target=lambda: models.append(run_registry.open_run(MINILM).run.model)) for _ in range(2)
    ]
    for session in sessions:
        session.start()
    for session in sessions:
        session.join()
    assert models[0] is models[1], "one copy for all"
    assert checkpoint_runs.checkpoint_cache.used_bytes() == about["bytes"]
    listed = {run["name"]: run for run in client.get("/api/runs").json()}
    assert listed[MINILM]["checkpoint"]["ready"]


def test_a_request_waits_while_it_is_loaded_and_reports_the_progress(monkeypatch):
    checkpoint_cache, go = CheckpointCache(100), threading.Event()

    def slow(progress):
        progress.report(0.5)
        go.wait(10)
        return "model"

    checkpoint_cache.start_loading("one", 10, slow)
    monkeypatch.setattr("app.service.checkpoints.checkpoint_cache.WAIT_SECONDS", 0.2)
    with pytest.raises(InputError, match="50%"):
        checkpoint_cache.get("one", 10, slow)
    assert checkpoint_cache.status("one")["status"] == "loading"
    threading.Timer(0.05, go.set).start()
    monkeypatch.setattr("app.service.checkpoints.checkpoint_cache.WAIT_SECONDS", 10)
    assert checkpoint_cache.get("one", 10, slow) == "model"


def test_while_one_is_loaded_other_requests_are_answered(client, monkeypatch):
    monkeypatch.setattr("app.service.checkpoints.checkpoint_cache.WAIT_SECONDS", 0.5)
    run_registry.open_run("induction-gpt")
    answers = []
    with checkpoint_runs.checkpoint_cache.load_lock:  # as while a large one is being loaded
        texts = [f"hello {i}" for i in range(4)]
        clients = [
            threading.Thread(target=lambda text=text: answers.append(post(client, "look", run=MINILM, text=text)))
            for text in texts
        ]
        for thread in clients:
            thread.start()
        time.sleep(0.1)
        acquired = [model_slots.MODEL_SLOTS.acquire(timeout=0.1) for _ in range(2)]
        for _ in range(sum(acquired)):
            model_slots.MODEL_SLOTS.release()
        for thread in clients:
            thread.join()
    assert acquired == [True, True], "a request that waits for a checkpoint holds no slot"
    for answer in answers:
        assert answer["problem"]["again"] and "still being loaded" in answer["problem"]["en"]
    wait_for(client, MINILM)
    assert (
        client.post("/api/look", json={"run": MINILM, "text": "hello"}).headers["content-type"] != "application/json"
    )


def test_the_number_of_finished_loads_is_bounded():
    checkpoint_cache = CheckpointCache(100)
    for i in range(2 * MAX_FINISHED_LOADS):
        checkpoint_cache.start_loading(f"{i}", 10, lambda progress: "model")
        assert checkpoint_cache.loads[f"{i}"].finished.wait(5)
    assert len(checkpoint_cache.loads) == MAX_FINISHED_LOADS


def test_loading_can_be_stopped_and_started_again():
    checkpoint_cache, started = CheckpointCache(100), threading.Event()

    def endless(progress):
        started.set()
        while True:
            progress.report(0.1)
            time.sleep(0.01)

    checkpoint_cache.start_loading("one", 10, endless)
    assert started.wait(5)
    checkpoint_cache.stop("one")
    with pytest.raises(InputError, match="stopped"):
        _raise_error(checkpoint_cache, "one")
    assert checkpoint_cache.status("one")["status"] == "failed" and checkpoint_cache.status("one")["problem"]["zh"]
    assert checkpoint_cache.get("one", 10, lambda progress: "model") == "model"
    assert issubclass(LoadStopped, Exception)


def _raise_error(checkpoint_cache, key):
    assert checkpoint_cache.loads[key].finished.wait(5)
    raise checkpoint_cache.loads[key].error


def test_the_least_recently_used_are_evicted_and_loaded_again(root):
    for name in ("a", "b", "c"):
        small_checkpoints.bert(root / name)
    size = checkpoint_runs.checkpoint_cost(checkpoint_runs.location_of("checkpoint:a")).memory_bytes
    checkpoint_runs.checkpoint_cache.budget = 2 * size
    first = run_registry.open_run("checkpoint:a").run
    run_registry.open_run("checkpoint:b")
    assert run_registry.open_run("checkpoint:a").run is first, "used again: now b is the oldest"
    run_registry.open_run("checkpoint:c")
    ready = [run["title"]["en"] for run in checkpoint_runs.list_checkpoints() if run["checkpoint"]["ready"]]
    assert (
        ready == ["a", "c"]
        and checkpoint_runs.checkpoint_cache.used_bytes() <= checkpoint_runs.checkpoint_cache.budget
    )
    assert isinstance(run_registry.open_run("checkpoint:b").run, PretrainedRun), "opened, it is loaded again"
    checkpoint_runs.checkpoint_cache.budget = size - 1
    checkpoint_runs.checkpoint_cache.loaded.clear()
    with pytest.raises(InputError, match="--checkpoint-memory"):
        run_registry.open_run("checkpoint:a")


def test_a_file_that_is_truncated_later_does_not_affect_a_loaded_model(root):
    small_checkpoints.bert(root / "small")
    run = run_registry.open_run("checkpoint:small").run
    before = [weight.clone() for weight in run.model.parameters()]
    with (root / "small/model.safetensors").open("r+b") as file:
        file.truncate(100)
    for weight, expected in zip(run.model.parameters(), before, strict=True):
        torch.testing.assert_close(weight, expected)
    with pytest.raises(InputError, match="cut short"):
        run_registry.open_run("checkpoint:small")
