"""Checkpoints are loaded in the background, one copy for everybody, within a budget."""

import threading
import time

import pytest
import torch

from app.routes import runs
from app.service.checkpoints import checkpoint_runs
from app.service.checkpoints.checkpoint_cache import REMEMBERED, CheckpointCache, Stopped
from app.service.runs import run_registry
from core import InputError
from core.runs.pretrained_run import PretrainedRun
from tests.app.checkpoints import made_checkpoints as made
from tests.app.checkpoints.made_checkpoints import ask, wait_for

MINILM = "checkpoint:all-MiniLM-L6-v2"


def test_it_is_told_what_it_costs_then_loaded_in_the_background_and_shared(client):
    told = ask(client, "checkpoints/about", name=MINILM)
    assert told["parameters"] == 22_713_216 and told["bytes"] == 4 * told["parameters"] and told["seconds"] > 0
    assert told["status"] == "away" and (told["layers"], told["heads"]) == (6, 12)
    listed = {one["name"]: one for one in client.get("/api/runs").json()}
    assert listed[MINILM]["checkpoint"] == {"source": "package", "ready": False}
    ask(client, "checkpoints/load", name=MINILM)
    wait_for(client, MINILM)
    found = []
    sessions = [
        threading.Thread(target=lambda: found.append(run_registry.open_run(MINILM).run.model)) for _ in range(2)
    ]
    for one in sessions:
        one.start()
    for one in sessions:
        one.join()
    assert found[0] is found[1], "one copy for all"
    assert checkpoint_runs.checkpoint_cache.used() == told["bytes"]
    listed = {one["name"]: one for one in client.get("/api/runs").json()}
    assert listed[MINILM]["checkpoint"]["ready"]


def test_a_request_waits_while_it_is_loaded_and_may_be_told_how_far_it_is(monkeypatch):
    checkpoint_cache, go = CheckpointCache(100), threading.Event()

    def slow(reading):
        reading.tell(0.5)
        go.wait(10)
        return "model"

    checkpoint_cache.begin("one", 10, slow)
    monkeypatch.setattr("app.service.checkpoints.checkpoint_cache.PATIENCE", 0.2)
    with pytest.raises(InputError, match="50%"):
        checkpoint_cache.get("one", 10, slow)
    assert checkpoint_cache.state("one")["status"] == "loading"
    threading.Timer(0.05, go.set).start()
    monkeypatch.setattr("app.service.checkpoints.checkpoint_cache.PATIENCE", 10)
    assert checkpoint_cache.get("one", 10, slow) == "model"


def test_while_one_is_loaded_everybody_else_is_answered(client, monkeypatch):
    monkeypatch.setattr("app.service.checkpoints.checkpoint_cache.PATIENCE", 0.5)
    run_registry.open_run("induction-gpt")
    answers = []
    with checkpoint_runs.checkpoint_cache.turn:  # somebody's large one is being read
        texts = [f"hello {i}" for i in range(4)]
        asking = [
            threading.Thread(target=lambda text=text: answers.append(ask(client, "look", run=MINILM, text=text)))
            for text in texts
        ]
        for one in asking:
            one.start()
        time.sleep(0.1)
        taken = [runs.MODEL_SLOTS.acquire(timeout=0.1) for _ in range(2)]
        for _ in range(sum(taken)):
            runs.MODEL_SLOTS.release()
        for one in asking:
            one.join()
    assert taken == [True, True], "who waits for a checkpoint takes nobody's turn"
    for answer in answers:
        assert answer["problem"]["again"] and "still being loaded" in answer["problem"]["en"]
    wait_for(client, MINILM)
    assert (
        client.post("/api/look", json={"run": MINILM, "text": "hello"}).headers["content-type"] != "application/json"
    )


def test_what_ended_is_forgotten_in_time():
    checkpoint_cache = CheckpointCache(100)
    for i in range(2 * REMEMBERED):
        checkpoint_cache.begin(f"{i}", 10, lambda reading: "model")
        assert checkpoint_cache.reading[f"{i}"].ended.wait(5)
    assert len(checkpoint_cache.reading) == REMEMBERED


def test_loading_can_be_stopped_and_begun_again():
    checkpoint_cache, began = CheckpointCache(100), threading.Event()

    def endless(reading):
        began.set()
        while True:
            reading.tell(0.1)
            time.sleep(0.01)

    checkpoint_cache.begin("one", 10, endless)
    assert began.wait(5)
    checkpoint_cache.stop("one")
    with pytest.raises(InputError, match="stopped"):
        _ended(checkpoint_cache, "one")
    assert checkpoint_cache.state("one")["status"] == "failed" and checkpoint_cache.state("one")["problem"]["zh"]
    assert checkpoint_cache.get("one", 10, lambda reading: "model") == "model"
    assert issubclass(Stopped, Exception)


def _ended(checkpoint_cache, key):
    assert checkpoint_cache.reading[key].ended.wait(5)
    raise checkpoint_cache.reading[key].problem


def test_those_not_used_for_longest_make_way_and_come_back(root):
    for name in ("a", "b", "c"):
        made.bert(root / name)
    size = checkpoint_runs.cost(checkpoint_runs.place_of("checkpoint:a")).bytes
    checkpoint_runs.checkpoint_cache.budget = 2 * size
    first = run_registry.open_run("checkpoint:a").run
    run_registry.open_run("checkpoint:b")
    assert run_registry.open_run("checkpoint:a").run is first, "used again: now b is the oldest"
    run_registry.open_run("checkpoint:c")
    ready = [one["title"]["en"] for one in checkpoint_runs.listing() if one["checkpoint"]["ready"]]
    assert ready == ["a", "c"] and checkpoint_runs.checkpoint_cache.used() <= checkpoint_runs.checkpoint_cache.budget
    assert isinstance(run_registry.open_run("checkpoint:b").run, PretrainedRun), "asked for, it is loaded again"
    checkpoint_runs.checkpoint_cache.budget = size - 1
    checkpoint_runs.checkpoint_cache.ready.clear()
    with pytest.raises(InputError, match="--checkpoint-memory"):
        run_registry.open_run("checkpoint:a")


def test_a_file_that_is_cut_off_later_does_not_touch_a_loaded_model(root):
    made.bert(root / "small")
    run = run_registry.open_run("checkpoint:small").run
    before = [weight.clone() for weight in run.model.parameters()]
    with (root / "small/model.safetensors").open("r+b") as file:
        file.truncate(100)
    for weight, was in zip(run.model.parameters(), before, strict=True):
        torch.testing.assert_close(weight, was)
    with pytest.raises(InputError, match="cut short"):
        run_registry.open_run("checkpoint:small")
