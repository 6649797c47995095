"""The endpoint that trains: its stream, the run it leaves behind, and what becomes of it when nobody listens."""

import math
import time
from ast import literal_eval
from pathlib import Path

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from safetensors.torch import load_file

import core
from core.runs.run import key_of
from tests.app.api.calls import BITS, ask, post

README = Path(__file__).parents[3] / "README.md"
LONG_TRAINING = {"steps": 20_000, "lr": 1e-4}


def test_training_reaches_the_goal_and_gives_a_run(client):
    recipe = core.recipe("lstm", "parity")
    updates = list(client.submit(family="lstm", task="parity", api_name="/train"))
    last = updates[-1]
    assert last["key"] == key_of(recipe, 0) and last["status"] == "done"
    assert last["accuracy"] >= recipe.goal
    rows = [row for update in updates for row in update["rows"]]
    assert [row["step"] for row in rows] == list(range(1, recipe.training.steps + 1))
    assert all(math.isfinite(row["loss"]) for row in rows)
    assert ask(client, "evaluate", run=last["key"])["accuracy"] == last["accuracy"]
    assert ask(client, "look", run=last["key"], text=BITS)[0]["layers"]
    assert ask(client, "train", family="lstm", task="parity")["accuracy"] == last["accuracy"]  # not trained again


def test_options_of_all_parts_of_a_recipe(client):
    options = {"d_hidden": 12, "max_len": 9, "steps": 4}
    trained = ask(client, "train", family="gru", task="parity", options=options, seed=3)
    recipe = core.recipe("gru", "parity")
    assert trained["steps"] == 4 and trained["key"] != key_of(recipe, 3)
    parts = ask(client, "look", run=trained["key"], text="2 3")
    assert load_file(parts[1])["layers.0.fwd.hidden"].shape == (len(parts[0]["steps"]), 2, 12)


def test_training_goes_on_without_the_client(app_url):
    client = Client(app_url, verbose=False)
    job = client.submit(family="rnn", task="parity", options=LONG_TRAINING, api_name="/train")
    key = next(update["key"] for update in job if update["step"])
    job.cancel()
    client.close()
    before = post(app_url, "train/known", {"keys": [key]})[0]["index"]
    deadline = time.monotonic() + 60
    while (facts := post(app_url, "train/known", {"keys": [key]})[0])["index"] <= before + 50:
        assert time.monotonic() < deadline and facts["status"] in ("running", "queued")
        time.sleep(0.2)
    stopped = iter(
        Client(app_url, verbose=False).submit(family="rnn", task="parity", options=LONG_TRAINING, api_name="/train")
    )
    assert next(stopped)["rows"][0]["step"] == 1  # told from the beginning
    post(app_url, f"train/{key}/stop", {})
    assert list(stopped)[-1]["status"] == "stopped"


def test_the_readme_is_true(app_url):
    section = README.read_text("utf-8").split("## Calling it from outside")[1].split("\n## ")[0]
    lines = [line.removeprefix("    ") for line in section.splitlines() if line.startswith("    ")]
    calls = "\n".join(lines).replace("http://127.0.0.1:7860", app_url)
    evaluation = next(line for line in lines if '"/evaluate"' in line)
    names: dict = {}
    exec(calls.replace(evaluation, f"answer = {evaluation}"), names)
    assert names["answer"] == literal_eval(evaluation.split("# ")[1])
    assert "blocks.0.attn.weights" in load_file(names["path"])


def test_a_training_that_fails_says_why(client):
    options = {"lr": 30.0, "clip": 0.0, "batch_size": 8, "d_model": 16}
    with pytest.raises(AppError, match="it has exploded") as failed:
        ask(client, "train", family="gpt", task="induction", options=options)
    assert "\n" not in str(failed.value)
