"""Checkpoints come from nowhere they should not come from; what the hub would send is told before."""

import json
import os
import threading

import pytest

from app.service.checkpoints import checkpoint_runs, locations
from app.service.checkpoints.checkpoint_cache import BUDGET
from app.service.checkpoints.loading import Cost, cost_ahead, without_paths
from core.messages import Text
from core.pretrained.checkpoint_folder import CheckpointFolder
from core.pretrained.hub import RemoteCheckpoint
from tests.app.checkpoints import made_checkpoints as made
from tests.app.checkpoints.made_checkpoints import ask, wait_for


@pytest.mark.parametrize(
    "name",
    ["../secret", "a/../../secret", "/etc", "~", "..", "C:\\x", "a\0b", "x" * 190, "checkpoint:../secret", "org/.."],
)
def test_paths_that_lead_elsewhere_are_refused(client, root, name):
    made.bert(root.parent / "secret")
    for path in ("about", "load", "stop"):
        answer = ask(client, f"checkpoints/{path}", name=name)
        assert set(answer) == {"problem"} and str(root.parent) not in json.dumps(answer)
    for body in ({"run": f"checkpoint:{name}"[:200], "text": "a b c"}, {"run": name, "text": "a b c"}):
        assert "problem" in ask(client, "look", **body)
    assert checkpoint_runs.checkpoint_cache.used() == 0


def test_links_out_of_the_root_are_not_followed(client, root):
    made.bert(root.parent / "secret")
    os.symlink(root.parent / "secret", root / "link")
    assert "checkpoint:link" not in locations.places(root)
    assert "leads out" in ask(client, "checkpoints/about", name="link")["problem"]["en"]
    made.bert(root / "half")
    (root / "half/model.safetensors").unlink()
    os.symlink(root.parent / "secret/model.safetensors", root / "half/model.safetensors")
    answer = ask(client, "checkpoints/load", name="half")
    assert set(answer) == {"problem"} and str(root.parent) not in json.dumps(answer)
    assert checkpoint_runs.checkpoint_cache.used() == 0


def test_broken_checkpoints_say_what_is_wrong_and_not_where_they_lie(client, root):
    for name in ("cut", "config", "tokenizer", "words", "pickle"):
        made.bert(root / name)
    with (root / "cut/model.safetensors").open("r+b") as file:
        file.truncate(1000)
    (root / "config/config.json").write_text('{"model_type": "llama"}')
    (root / "tokenizer/tokenizer.json").write_text("{")
    (root / "words/tokenizer.json").unlink()
    (root / "pickle/model.safetensors").rename(root / "pickle/pytorch_model.bin")
    expected = {"cut": "cut short", "config": "llama", "words": "tokenizer", "pickle": "pytorch_model.bin"}
    for name, words in expected.items():
        answer = ask(client, "checkpoints/about", name=name)
        assert words in answer["problem"]["en"] and answer["problem"]["zh"]
        assert str(root) not in json.dumps(answer)
    ask(client, "checkpoints/load", name="tokenizer")
    told = wait_for(client, "tokenizer", "failed")
    assert "tokenizer" in told["problem"]["en"] and str(root) not in json.dumps(told)
    assert checkpoint_runs.checkpoint_cache.used() == 0


def test_what_is_not_here_is_looked_for_on_the_hub_and_without_a_network_says_so(client, root, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for path in ("about", "load"):
        said = ask(client, f"checkpoints/{path}", name="org/never")["problem"]
        assert "no folder org/never" in said["en"] and "没有文件夹 org/never" in said["zh"]
        assert "cache (the checkpoint folder/.hub)" in said["en"] and "（预训练模型文件夹/.hub）" in said["zh"]
    assert str(root) not in json.dumps(said) and not checkpoint_runs.checkpoint_cache.reading


def test_the_root_and_a_checkpoints_own_folder_have_names_of_their_own(root):
    made.bert(root / "org/small")
    place, text = (
        checkpoint_runs.place_of("checkpoint:org/small"),
        Text("{folder} in {cache}", folder=root / "org/small", cache=f"{root}/.hub"),
    )
    assert str(without_paths(text, place)) == "org/small in the checkpoint folder/.hub"


def ahead(**changes) -> Cost:
    """What a checkpoint on the hub would cost."""
    facts = {
        "family": "bert",
        "layers": 2,
        "heads": 2,
        "parameters": 250,
        "bytes": 1000,
        "notes": (),
        "download": 500,
    }
    return Cost(**{**facts, "commit": "b" * 40, **changes})


def test_what_a_download_costs_is_told_before_and_what_cannot_be_used_is_not_fetched(client, root, monkeypatch):
    fetched = []
    monkeypatch.setattr("app.service.checkpoints.loading.fetch_checkpoint", lambda *asked: fetched.append(asked))
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.cost_ahead", lambda place: ahead())
    told = ask(client, "checkpoints/about", name="org/tiny")
    assert (told["status"], told["source"], told["download"], told["bytes"]) == ("away", "hub", 500, 1000)
    assert not checkpoint_runs.checkpoint_cache.reading and not fetched
    for changes in ({"bytes": BUDGET + 1}, {"download": BUDGET + 1}):
        monkeypatch.setattr(
            "app.service.checkpoints.checkpoint_runs.cost_ahead", lambda place, changes=changes: ahead(**changes)
        )
        name = f"org/{next(iter(changes))}"
        assert "2.00 GB are set aside" in ask(client, "checkpoints/load", name=name)["problem"]["en"]
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.cost_ahead", cost_ahead)
    monkeypatch.setattr("core.pretrained.loading.inspect_remote", llama)
    for path in ("about", "load"):
        assert "llama" in ask(client, f"checkpoints/{path}", name="org/llama")["problem"]["en"]
    assert not checkpoint_runs.checkpoint_cache.reading and not fetched


def llama(repo, where):
    """The hub, standing in: its config.json is here, its weights have been asked for their headers."""
    folder = where.folder / "models--org--llama" / "snapshots" / ("c" * 40)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    return RemoteCheckpoint(CheckpointFolder(folder), {}, 100)


def test_one_is_fetched_at_a_time_and_only_what_was_looked_at(client, root, monkeypatch):
    go, asked = threading.Event(), []

    def slowly(hub_id, where):
        asked.append((hub_id, where.revision))
        go.wait(10)

    monkeypatch.setattr("app.service.checkpoints.loading.fetch_checkpoint", slowly)
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.cost_ahead", lambda place: ahead())
    for _ in range(2):
        assert ask(client, "checkpoints/load", name="org/one")["status"] == "loading"
    refused = ask(client, "checkpoints/load", name="org/two")["problem"]
    assert "one at a time" in refused["en"] and refused["zh"]
    go.set()
    wait_for(client, "org/one", "away")
    ask(client, "checkpoints/load", name="org/two")
    wait_for(client, "org/two", "away")
    assert asked == [("org/one", "b" * 40), ("org/two", "b" * 40)]


def test_while_the_hub_is_asked_others_are_told_to_wait(client, root, monkeypatch):
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.cost_ahead", lambda place: ahead())
    with checkpoint_runs.looking_up:
        assert ask(client, "checkpoints/about", name="org/tiny")["problem"]["again"]
    assert ask(client, "checkpoints/about", name="org/tiny")["download"] == 500


def test_links_that_lead_nowhere_are_no_files(client, root):
    made.bert(root / "sound")
    (root / "sound/extra.safetensors").symlink_to("/nowhere/x")
    (root / "mine").mkdir()
    (root / "mine/config.json").write_text("{}")
    (root / "mine/model.safetensors").symlink_to("/nowhere/x")
    names = {one["name"] for one in client.get("/api/runs").json()}
    assert {"checkpoint:mine", "checkpoint:sound"} <= names
    assert ask(client, "checkpoints/about", name="sound")["parameters"] > 0
    assert "problem" in ask(client, "checkpoints/about", name="mine")


def test_what_was_fetched_before_is_offered_without_a_network(client, root, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    repo = root / locations.HUB_CACHE / "models--org--tiny"
    made.bert(repo / "snapshots" / ("a" * 40))
    (repo / "refs").mkdir()
    (repo / "refs/main").write_text("a" * 40)
    assert "checkpoint:org/tiny" in locations.places(root)
    assert ask(client, "checkpoints/about", name="org/tiny")["parameters"] > 0
    assert client.get("/api/runs/checkpoint:org/tiny").json()["title"]["en"] == "org/tiny"
    (repo / "snapshots" / ("a" * 40) / "model.safetensors").unlink()
    assert "checkpoint:org/tiny" not in locations.places(root), "its fetching was stopped halfway"
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (repo / "snapshots" / ("a" * 40) / "model.safetensors.index.json").write_text(json.dumps(index))
    (repo / "snapshots" / ("a" * 40) / "model-1.safetensors").touch()
    assert "checkpoint:org/tiny" not in locations.places(root), "a part is missing"


def test_fetching_tells_how_far_it_is_can_be_stopped_and_ends_with_what_it_costs(client, root, monkeypatch):
    go = threading.Event()

    def slowly(hub_id, where):
        """The hub, standing in: half of it, then the rest when it is let."""
        where.progress(50, 100)
        for _ in range(500):
            if go.wait(0.01):
                break
            where.progress(50, 100)
        repo = where.folder / "models--org--tiny"
        made.bert(repo / "snapshots" / ("b" * 40))
        (repo / "refs").mkdir()
        (repo / "refs/main").write_text("b" * 40)

    monkeypatch.setattr("app.service.checkpoints.loading.fetch_checkpoint", slowly)
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.cost_ahead", lambda place: ahead())
    ask(client, "checkpoints/load", name="org/tiny")
    assert wait_for(client, "org/tiny", "loading")["source"] == "hub"
    ask(client, "checkpoints/stop", name="org/tiny")
    assert "stopped" in wait_for(client, "org/tiny", "failed")["problem"]["en"]
    assert "checkpoint:org/tiny" not in locations.places(root)
    ask(client, "checkpoints/load", name="org/tiny")
    wait_for(client, "org/tiny", "loading")
    go.set()
    told = wait_for(client, "org/tiny", "away")
    assert told["source"] == "folder" and told["parameters"] > 0, "here now, and not yet in memory"
    ask(client, "checkpoints/load", name="org/tiny")
    wait_for(client, "org/tiny")
