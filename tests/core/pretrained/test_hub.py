"""Hub ids: the cache as huggingface_hub lays it out, no network, and a local server in place of the hub."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import core
from core.pretrained.hub import MAX_SMALL_FILE_BYTES, is_hub_id
from tests.core.pretrained.tiny import CHECKPOINTS

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("bert")
    CHECKPOINTS["BertForMaskedLM"]().save_pretrained(path)
    return path


@pytest.fixture
def cache(folder, tmp_path) -> Path:
    """models--owner--tiny with its blobs, a snapshot that links to them, and a branch that names it"""
    repo = tmp_path / "cache/models--owner--tiny"
    snapshot, blobs = repo / "snapshots" / COMMIT, repo / "blobs"
    for directory in (snapshot, blobs, repo / "refs"):
        directory.mkdir(parents=True)
    (repo / "refs/main").write_text(COMMIT)
    for i, file in enumerate(sorted(folder.iterdir())):
        (blobs / f"blob{i}").write_bytes(file.read_bytes())
        (snapshot / file.name).symlink_to(Path("../../blobs") / f"blob{i}")
    return tmp_path / "cache"


@pytest.fixture
def no_network(monkeypatch):
    """Opening a connection fails the test."""

    def refuse(*arguments, **options):
        raise AssertionError(f"a connection was tried: {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_from_the_cache_without_a_network(cache, no_network):
    model, _ = core.load_pretrained("owner/tiny", cache=cache, offline=True)
    assert model.config.n_layers == 3
    assert core.pretrained.inspect("owner/tiny", cache=cache, offline=True).architecture == "BertForMaskedLM"
    assert core.load_pretrained("owner/tiny", cache=cache, revision=COMMIT, offline=True)[0].config == model.config


def test_the_environment_says_offline(cache, no_network, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert core.load_pretrained("owner/tiny", cache=cache)[0].config.n_layers == 3


def test_not_in_the_cache(cache, no_network):
    with pytest.raises(core.PretrainedError, match=r"no folder owner/other, and no copy of it in the hub's cache"):
        core.load_pretrained("owner/other", cache=cache, offline=True)


def test_half_in_the_cache(cache, no_network):
    (cache / f"models--owner--tiny/snapshots/{COMMIT}/model.safetensors").unlink()
    with pytest.raises(core.PretrainedError, match=r"There is no model\.safetensors in"):
        core.load_pretrained("owner/tiny", cache=cache, offline=True)


def test_a_link_out_of_the_cache(cache, tmp_path, no_network):
    place = cache / f"models--owner--tiny/snapshots/{COMMIT}/config.json"
    (tmp_path / "secret.json").write_bytes(place.read_bytes())
    place.unlink()
    place.symlink_to(tmp_path / "secret.json")
    with pytest.raises(core.PretrainedError, match=r"config\.json lies outside of"):
        core.load_pretrained("owner/tiny", cache=cache, offline=True)


def test_a_folder_goes_before_the_hub(folder, cache, no_network, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert core.load_pretrained(folder.name, cache=cache)[0].config.n_layers == 3


@pytest.mark.parametrize("text", ["gpt2", "google/flan-t5-small", "owner/name_1.0-x"])
def test_hub_ids(text):
    assert is_hub_id(text)


@pytest.mark.parametrize(
    "text",
    ["", "/etc", "../x", "a/b/c", "a..b", "~", "a b", "a/", "/a", "https://x.org/a", "a\\b", "a--b", "中文", "-a"],
)
def test_no_hub_ids(text):
    assert not is_hub_id(text)


class Hub(BaseHTTPRequestHandler):
    """The part of the hub's HTTP interface that a download needs."""

    files: dict[str, bytes]
    requests: list[str]

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        path = self.path.partition("?")[0]
        self.requests.append(f"{self.command} {path} {self.headers.get('authorization')}")
        if path.startswith("/api/models/owner/tiny"):
            siblings = [{"rfilename": name, "size": len(data)} for name, data in self.files.items()]
            return self.send(json.dumps({"id": "owner/tiny", "sha": COMMIT, "siblings": siblings}).encode(), body)
        name = path.rpartition("/")[2]
        if path.startswith("/owner/tiny/resolve/") and name in self.files:
            return self.send(self.files[name], body, {"ETag": f'"{name}"', "X-Repo-Commit": COMMIT})
        headers = {"X-Error-Code": "RepoNotFound" if path.startswith("/api") else "EntryNotFound"}
        self.send(b"{}", body, headers, 404)

    def send(self, data: bytes, body: bool, headers: dict | None = None, code: int = 200) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *arguments) -> None:
        pass


@pytest.fixture
def hub(folder):
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    files |= {"pytorch_model.bin": b"never to be fetched", "README.md": b"nor this", "onnx.model": b"nor this"}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Hub,), {"files": files, "requests": []}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


SCRIPT = """
import json, sys, core
from tests.words import chinese
request = json.loads(sys.argv[1])
result, reports = {}, []
def progress(done, total):
    reports.append([done, total])
    if request.get("stop") and done:
        raise KeyboardInterrupt
try:
    if request.get("inspect"):
        checkpoint = core.pretrained.inspect(request["id"], cache=request["cache"])
        result |= {"download": checkpoint.download_bytes, "memory": checkpoint.memory_bytes}
        result["architecture"] = checkpoint.architecture
        core.pretrained.inspect(request["id"], cache=request["cache"], offline=False)
    model, _ = core.load_pretrained(request["id"], cache=request["cache"], progress=progress)
    result["layers"] = model.config.n_layers
except core.PretrainedError as error:
    result["error"] = [str(error), chinese(error)]
except KeyboardInterrupt:
    result["stopped"] = True
print(json.dumps({**result, "progress": reports}))
"""


def load_in_process(port: int, cache: Path, repo: str = "owner/tiny", **options) -> dict:
    """`SCRIPT` in a process of its own, whose hub is at that port: the library reads its address once."""
    home = {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_HOME": str(cache / "home"), "HF_HUB_OFFLINE": "0"}
    request = json.dumps({"id": repo, "cache": str(cache), **options})
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, request], capture_output=True, text=True, timeout=250,
        env={**os.environ, **home, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_fetched_once_with_progress_then_used_without_the_hub(hub, tmp_path, folder):
    handler = hub.RequestHandlerClass
    result = load_in_process(hub.server_port, tmp_path)
    assert result["layers"] == 3
    total = sum((folder / name).stat().st_size for name in ("config.json", "model.safetensors"))
    assert result["progress"][-1] == [total, total] and result["progress"] == sorted(result["progress"])
    fetched = {
        line.split()[1].rpartition("/")[2]
        for line in handler.requests
        if line.startswith("GET") and "resolve" in line
    }
    assert fetched == {"config.json", "model.safetensors"}
    assert all(line.endswith(" None") for line in handler.requests), "no token is sent"

    handler.requests.clear()
    assert load_in_process(hub.server_port, tmp_path)["layers"] == 3
    assert not [line for line in handler.requests if "resolve" in line], "nothing is fetched twice"

    hub.shutdown()
    hub.server_close()
    assert load_in_process(hub.server_port, tmp_path)["layers"] == 3, (
        "the copy in the cache is used while the hub is away"
    )


def test_inspection_before_downloading(hub, tmp_path, folder):
    result = load_in_process(hub.server_port, tmp_path, inspect=True)
    assert result["architecture"] == "BertForMaskedLM" and result["layers"] == 3
    assert result["memory"] == core.pretrained.inspect(folder).memory_bytes
    weights = (folder / "model.safetensors").stat().st_size
    assert weights < result["download"] <= weights + (folder / "config.json").stat().st_size
    assert [total for _, total in result["progress"]][-1] == weights, "after the inspection only the weights are left"
    requests = [
        line for line in hub.RequestHandlerClass.requests if "model.safetensors" in line and line.startswith("GET")
    ]
    assert len(requests) == 3, "two requests of the header, one download"


@pytest.mark.slow
def test_fetching_can_be_stopped_and_goes_on_later(hub, tmp_path):
    assert load_in_process(hub.server_port, tmp_path, stop=True)["stopped"]
    assert load_in_process(hub.server_port, tmp_path)["layers"] == 3


def test_no_hub_at_this_address(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    en, zh = load_in_process(port, tmp_path)["error"]
    assert "There is no folder owner/tiny, and the hub cannot be reached to fetch it" in en
    assert "无法连接 hub" in zh and "Traceback" not in en


def test_no_such_checkpoint(hub, tmp_path):
    en, _ = load_in_process(hub.server_port, tmp_path, "owner/nothing")["error"]
    assert en == "There is no folder owner/nothing, and no public checkpoint of that name on the hub."


def test_only_pickled_weights_are_not_fetched(hub, tmp_path):
    del hub.RequestHandlerClass.files["model.safetensors"]
    en, _ = load_in_process(hub.server_port, tmp_path)["error"]
    assert "owner/tiny has pytorch_model.bin but no model.safetensors" in en
    assert not [line for line in hub.RequestHandlerClass.requests if "resolve" in line]


def test_shards_are_fetched(tmp_path, hub):
    CHECKPOINTS["BertForMaskedLM"]().save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    files = {file.name: file.read_bytes() for file in (tmp_path / "shards").iterdir()}
    hub.RequestHandlerClass.files = files
    assert load_in_process(hub.server_port, tmp_path / "cache")["layers"] == 3


def test_a_tokenizer_that_is_too_large_is_not_fetched(hub, tmp_path):
    files = hub.RequestHandlerClass.files
    files["tokenizer.json"] = b" " * (MAX_SMALL_FILE_BYTES + 1)
    en, zh = load_in_process(hub.server_port, tmp_path, inspect=True)["error"]
    assert "tokenizer.json has more than 67,108,864 bytes" in en and "tokenizer.json" in zh
    assert not [line for line in hub.RequestHandlerClass.requests if "resolve" in line]
