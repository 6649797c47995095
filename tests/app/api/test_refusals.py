"""What the endpoints say to questions that cannot be answered, and what they keep to themselves."""

import urllib.error
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from gradio_client.exceptions import AppError

from app.api.endpoint import endpoint
from app.api.result_files import ResultFiles
from tests.app.api.calls import GPT, LSTM, WITHOUT_PROXY, ask

BAD = [
    ("build", {"family": "gtp"}, "name = 'gtp': there is no such model."),
    ("build", {"family": 3}, "family: "),
    ("build", {"family": "gpt", "options": {"n_layers": -1}}, "n_layers = -1: it is out of range."),
    ("build", {"family": "gpt", "options": {"n_layer": 1}}, "Did you mean n_layers?"),
    ("build", {"family": "gpt", "options": "n_layers=3"}, "options: "),
    ("build", {"family": "gpt", "options": {"x" * 5000: 1}}, "These are too many options."),
    ("look", {"run": "no-such-run"}, "There is no run called 'no-such-run'."),
    ("look", {"run": "../../etc/passwd"}, "There is no run called"),
    ("look", {"run": "0" * 24}, "This run is not here any more."),
    ("look", {"run": GPT, "text": "t g ?"}, "'?' is not one of this task's tokens"),
    ("look", {"run": GPT, "text": "t " * 1000}, "The input has 1000 tokens"),
    ("look", {"run": GPT, "text": "t" * 30_000}, "text: "),
    ("capture", {"run": GPT, "pattern": "nothing"}, "No point of this model matches 'nothing'"),
    ("capture", {"run": GPT, "step": 7}, "step = 7: this run has no snapshot there."),
    ("capture", {"run": GPT, "step": -1}, "step: "),
    ("train", {"family": "lstm", "task": "parties"}, "task = 'parties': there is no such choice."),
    ("train", {"family": "lstm", "task": "own text"}, "task = 'own text': there is no such choice."),
    ("train", {"family": "bert", "task": "translation"}, "family = 'bert': it cannot do the task translation."),
    ("train", {"family": "lstm", "task": "parity", "options": {"stepps": 3}}, "Did you mean steps?"),
    ("train", {"family": "lstm", "task": "parity", "options": {"vocab_size": 3}}, "the task decides it."),
    (
        "train",
        {"family": "lstm", "task": "parity", "options": {"d_hidden": 4096, "n_layers": 8}},
        "at most 10,000,000",
    ),
    ("train", {"family": "lstm", "task": "parity", "seed": -1}, "seed = -1: it is out of range."),
    ("train", {"family": "lstm", "task": "parity", "variant": "best"}, "best"),
    ("evaluate", {"run": LSTM, "length": 0}, "length: "),
    ("evaluate", {"run": LSTM, "length": 100_000}, "length = 100000: it is out of range."),
    ("generate", {"run": LSTM, "prompt": "2 3"}, "This model does not write"),
    ("generate", {"run": GPT, "prompt": "t g", "strategy": "best"}, "strategy: "),
    ("generate", {"run": GPT, "prompt": "t g", "options": {"max_new": 1000}}, "max_new = 1000: it is out of range."),
    ("generate", {"run": GPT, "prompt": "t g", "options": {"beams": 2}}, "greedy does not read it."),
    ("measures", {"run": GPT, "text": ""}, "The input is empty."),
    ("figure", {"name": "pie", "run": GPT}, "name = 'pie': this run has no such figure on this input."),
    ("figure", {"name": "timeline", "run": GPT, "state": {"snapshot": 99}}, "a whole number from 0 to 15"),
    ("figure", {"name": "timeline", "run": GPT, "state": {"snapshot": "first"}}, "a whole number from 0 to 15"),
    ("figure", {"name": "blocks/one_head", "run": GPT, "state": {"hed": 1}}, "Did you mean head?"),
    ("figure", {"name": "blocks/one_head", "run": GPT, "state": {"theme": "blue"}}, "theme = 'blue'"),
    (
        "figure",
        {"name": "blocks/one_head", "run": GPT, "state": {"query": "x"}},
        "There is no such picture: query = 'x'.",
    ),
    ("figure", {"name": "blocks/one_head", "run": GPT, "state": {"query": []}}, "state: "),
]


@pytest.mark.parametrize("name, arguments, part", BAD, ids=[f"{name}-{i}" for i, (name, *_) in enumerate(BAD)])
def test_what_cannot_be_answered_gets_one_sentence(client, name, arguments, part):
    with pytest.raises(AppError) as refused:
        ask(client, name, **arguments)
    sentence = str(refused.value)
    assert part in sentence
    assert "\n" not in sentence and "Traceback" not in sentence and "Error" not in sentence


def test_files_of_the_server_cannot_be_fetched(app_url):
    for path in ("/etc/passwd", str(Path(__file__).resolve()), str(Path(__file__).parents[3] / "requirements.txt")):
        with pytest.raises(urllib.error.HTTPError) as refused:
            WITHOUT_PROXY.open(f"{app_url}/gradio_api/file={path}")
        assert refused.value.code == 403


def test_other_errors_are_not_told():
    def fails(run: str) -> dict[str, Any]:
        raise RuntimeError(f"the password of {run} is secret")

    with pytest.raises(gr.Error) as told:
        endpoint(fails)("it")
    assert "secret" not in told.value.message and told.value.message.endswith(".")


def test_files_are_removed_when_there_are_too_many(monkeypatch):
    files = ResultFiles()
    values = {"a": np.zeros(100, np.float32)}
    monkeypatch.setattr("app.api.result_files.MAX_BYTES", 1200)
    kept = [Path(files.save("arrays", values, {}).path) for _ in range(4)]
    assert not kept[0].exists() and kept[-1].exists()
    assert sum(path.stat().st_size for path in files.folder.glob("*/*")) <= 1200
    monkeypatch.setattr("app.api.result_files.MAX_SECONDS", 0.0)
    newest = Path(files.save("arrays", values, {}).path)
    assert list(files.folder.glob("*/*")) == [newest]
    folder = files.folder
    files.close()
    assert not folder.exists()
