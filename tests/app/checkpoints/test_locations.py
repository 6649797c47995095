"""No checkpoint is read from outside of packages and the root; the cost of a download is described before it."""

import json
import os
import threading

import pytest

from app.service.checkpoints import checkpoint_runs, locations
from app.service.checkpoints.checkpoint_cache import DEFAULT_BUDGET
from app.service.checkpoints.loading import CheckpointCost, hub_cost, without_paths
from core.pretrained.checkpoint_folder import CheckpointFolder
from core.pretrained.hub import RemoteCheckpoint
from core.translatable import Text
from tests.app.checkpoints import small_checkpoints
from tests.app.checkpoints.small_checkpoints import post, wait_for


@pytest.mark.parametrize(
    "name",
    ["../secret", "a/../../secret", "/etc", "~", "..", "C:\\x", "a\0b", "x" * 190, "checkpoint:../secret", "org/.."],
)
def test_paths_that_lead_elsewhere_are_refused(client, root, name):
    small_checkpoints.bert(root.parent / "secret")
    for path in ("about", "load", "stop"):
        answer = post(client, f"checkpoints/{path}", name=name)
        assert set(answer) == {"problem"} and str(root.parent) not in json.dumps(answer)
    for body in ({"run": f"checkpoint:{name}"[:200], "text": "a b c"}, {"run": name, "text": "a b c"}):
        assert "problem" in post(client, "look", **body)
    assert checkpoint_runs.checkpoint_cache.used_bytes() == 0


def test_links_out_of_the_root_are_not_followed(client, root):
    small_checkpoints.bert(root.parent / "secret")
    os.symlink(root.parent / "secret", root / "link")
    assert "checkpoint:link" not in locations.local_locations(root)
    assert "leads out" in post(client, "checkpoints/about", name="link")["problem"]["en"]
    small_checkpoints.bert(root / "half")
    (root / "half/model.safetensors").unlink()
    os.symlink(root.parent / "secret/model.safetensors", root / "half/model.safetensors")
    answer = post(client, "checkpoints/load", name="half")
    assert set(answer) == {"problem"} and str(root.parent) not in json.dumps(answer)
    assert checkpoint_runs.checkpoint_cache.used_bytes() == 0


def test_errors_of_broken_checkpoints_name_the_cause_and_no_path(client, root):
    for name in ("cut", "config", "tokenizer", "words", "pickle"):
        small_checkpoints.bert(root / name)
    with (root / "cut/model.safetensors").open("r+b") as file:
        file.truncate(1000)
    (root / "config/config.json").write_text('{"model_type": "llama"}')
    (root / "tokenizer/tokenizer.json").write_text("{")
    (root / "words/tokenizer.json").unlink()
    (root / "pickle/model.safetensors").rename(root / "pickle/pytorch_model.bin")
    expected = {"cut": "cut short", "config": "llama", "words": "tokenizer", "pickle": "pytorch_model.bin"}
    for name, words in expected.items():
        answer = post(client, "checkpoints/about", name=name)
        assert words in answer["problem"]["en"] and answer["problem"]["zh"]
        assert str(root) not in json.dumps(answer)
    post(client, "checkpoints/load", name="tokenizer")
    about = wait_for(client, "tokenizer", "failed")
    assert "tokenizer" in about["problem"]["en"] and str(root) not in json.dumps(about)
    assert checkpoint_runs.checkpoint_cache.used_bytes() == 0


def test_a_checkpoint_on_the_hub_is_an_error_without_a_network(client, root, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for path in ("about", "load"):
        problem = post(client, f"checkpoints/{path}", name="org/never")["problem"]
        assert "no folder org/never" in problem["en"] and "没有文件夹 org/never" in problem["zh"]
        assert "cache (the checkpoint folder/.hub)" in problem["en"] and "（预训练模型文件夹/.hub）" in problem["zh"]
    assert str(root) not in json.dumps(problem) and not checkpoint_runs.checkpoint_cache.loads


def test_the_root_and_the_folder_of_a_checkpoint_are_replaced_by_names(root):
    small_checkpoints.bert(root / "org/small")
    location = checkpoint_runs.location_of("checkpoint:org/small")
    text = Text("{folder} in {cache}", folder=root / "org/small", cache=f"{root}/.hub")
    assert str(without_paths(text, location)) == "org/small in the checkpoint folder/.hub"


def small_cost(**changes) -> CheckpointCost:
    """Of a checkpoint on the hub."""
    facts = {
        "family": "bert",
        "layers": 2,
        "heads": 2,
        "parameters": 250,
        "memory_bytes": 1000,
        "notes": (),
        "download_bytes": 500,
    }
    return CheckpointCost(**{**facts, "commit": "b" * 40, **changes})


def test_the_cost_of_a_download_is_described_before_and_unusable_checkpoints_are_not_downloaded(
    client, root, monkeypatch
):
    downloads = []
    monkeypatch.setattr(
        "app.service.checkpoints.loading.fetch_checkpoint", lambda *arguments: downloads.append(arguments)
    )
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.hub_cost", lambda location: small_cost())
    about = post(client, "checkpoints/about", name="org/tiny")
    assert (about["status"], about["source"], about["download"], about["bytes"]) == ("away", "hub", 500, 1000)
    assert not checkpoint_runs.checkpoint_cache.loads and not downloads
    for changes in ({"memory_bytes": DEFAULT_BUDGET + 1}, {"download_bytes": DEFAULT_BUDGET + 1}):
        monkeypatch.setattr(
            "app.service.checkpoints.checkpoint_runs.hub_cost",
            lambda location, changes=changes: small_cost(**changes),
        )
        name = f"org/{next(iter(changes))}"
        assert "2.00 GB are set aside" in post(client, "checkpoints/load", name=name)["problem"]["en"]
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.hub_cost", hub_cost)
    monkeypatch.setattr("core.pretrained.loading.inspect_remote", look_ahead_at_llama)
    for path in ("about", "load"):
        assert "llama" in post(client, f"checkpoints/{path}", name="org/llama")["problem"]["en"]
    assert not checkpoint_runs.checkpoint_cache.loads and not downloads


def look_ahead_at_llama(repo, where):
    """Stands in for the hub: config.json is downloaded, of the weights only the headers."""
    folder = where.folder / "models--org--llama" / "snapshots" / ("c" * 40)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    return RemoteCheckpoint(CheckpointFolder(folder), {}, 100)


def test_one_is_downloaded_at_a_time_and_only_the_commit_that_was_described(client, root, monkeypatch):
    go, requests = threading.Event(), []

    def slow_download(hub_id, where):
        requests.append((hub_id, where.revision))
        go.wait(10)

    monkeypatch.setattr("app.service.checkpoints.loading.fetch_checkpoint", slow_download)
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.hub_cost", lambda location: small_cost())
    for _ in range(2):
        assert post(client, "checkpoints/load", name="org/one")["status"] == "loading"
    problem = post(client, "checkpoints/load", name="org/two")["problem"]
    assert "one at a time" in problem["en"] and problem["zh"]
    go.set()
    wait_for(client, "org/one", "away")
    post(client, "checkpoints/load", name="org/two")
    wait_for(client, "org/two", "away")
    assert requests == [("org/one", "b" * 40), ("org/two", "b" * 40)]


def test_during_a_request_to_the_hub_others_have_to_wait(client, root, monkeypatch):
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.hub_cost", lambda location: small_cost())
    with checkpoint_runs.hub_lock:
        assert post(client, "checkpoints/about", name="org/tiny")["problem"]["again"]
    assert post(client, "checkpoints/about", name="org/tiny")["download"] == 500


def test_broken_links_are_ignored(client, root):
    small_checkpoints.bert(root / "sound")
    (root / "sound/extra.safetensors").symlink_to("/nowhere/x")
    (root / "mine").mkdir()
    (root / "mine/config.json").write_text("{}")
    (root / "mine/model.safetensors").symlink_to("/nowhere/x")
    names = {run["name"] for run in client.get("/api/runs").json()}
    assert {"checkpoint:mine", "checkpoint:sound"} <= names
    assert post(client, "checkpoints/about", name="sound")["parameters"] > 0
    assert "problem" in post(client, "checkpoints/about", name="mine")


def test_downloads_are_listed_without_a_network(client, root, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    repo = root / locations.HUB_CACHE / "models--org--tiny"
    small_checkpoints.bert(repo / "snapshots" / ("a" * 40))
    (repo / "refs").mkdir()
    (repo / "refs/main").write_text("a" * 40)
    assert "checkpoint:org/tiny" in locations.local_locations(root)
    assert post(client, "checkpoints/about", name="org/tiny")["parameters"] > 0
    assert client.get("/api/runs/checkpoint:org/tiny").json()["title"]["en"] == "org/tiny"
    (repo / "snapshots" / ("a" * 40) / "model.safetensors").unlink()
    assert "checkpoint:org/tiny" not in locations.local_locations(root), "an interrupted download"
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (repo / "snapshots" / ("a" * 40) / "model.safetensors.index.json").write_text(json.dumps(index))
    (repo / "snapshots" / ("a" * 40) / "model-1.safetensors").touch()
    assert "checkpoint:org/tiny" not in locations.local_locations(root), "a part is missing"


def test_a_download_reports_progress_can_be_stopped_and_ends_with_a_description(client, root, monkeypatch):
    go = threading.Event()

    def slow_download(hub_id, where):
        """Stands in for the hub: half of the download, then the rest once `go` is set."""
        where.progress(50, 100)
        for _ in range(500):
            if go.wait(0.01):
                break
            where.progress(50, 100)
        repo = where.folder / "models--org--tiny"
        small_checkpoints.bert(repo / "snapshots" / ("b" * 40))
        (repo / "refs").mkdir()
        (repo / "refs/main").write_text("b" * 40)

    monkeypatch.setattr("app.service.checkpoints.loading.fetch_checkpoint", slow_download)
    monkeypatch.setattr("app.service.checkpoints.checkpoint_runs.hub_cost", lambda location: small_cost())
    post(client, "checkpoints/load", name="org/tiny")
    assert wait_for(client, "org/tiny", "loading")["source"] == "hub"
    post(client, "checkpoints/stop", name="org/tiny")
    assert "stopped" in wait_for(client, "org/tiny", "failed")["problem"]["en"]
    assert "checkpoint:org/tiny" not in locations.local_locations(root)
    post(client, "checkpoints/load", name="org/tiny")
    wait_for(client, "org/tiny", "loading")
    go.set()
    about = wait_for(client, "org/tiny", "away")
    assert about["source"] == "folder" and about["parameters"] > 0, "here now, and not yet in memory"
    post(client, "checkpoints/load", name="org/tiny")
    wait_for(client, "org/tiny")
