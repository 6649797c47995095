"""What the Train tab asks the server for: whatever cannot be is answered with one sentence, in both languages, beside
the control it is about; nothing is trained and nothing is remembered of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

import core
from app.main import make_app
from app.routes import train
from app.service.build.option_titles import NAMES
from app.service.runs.job_service import Settings, job_service
from app.service.training.menu import menu
from app.service.training.requests import MOST_FILE_BYTES, check_size
from app.service.training.run_titles import run_lead, run_title
from core.jobs.probe import Sitting
from core.runs.fork import ForkRecipe, Origin
from core.runs.recipes import RECIPES, Recipe, recipe
from core.runs.run import key_of
from tests.core.jobs.small_runs import until
from tests.words import chinese

LSTM = {"family": "lstm", "task": "parity", "variant": "default"}
COPY = {"family": "transformer", "task": "copy", "variant": "default"}
TINY = {"n_layers": 1, "n_heads": 1, "d_model": 4, "d_ff": 4}
GPT = {"family": "gpt", "task": "induction", "variant": "default"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    job_service.open(Settings(tmp_path_factory.mktemp("runs"), workers=1))
    yield TestClient(make_app())
    job_service.close()
    job_service.settings = Settings()


def refusal(answer) -> dict[str, Any]:
    assert answer.status_code == 422, answer.text[:300]
    problem = answer.json()["problem"]
    for language in ("en", "zh"):
        assert problem[language] and "Traceback" not in problem[language] and len(problem[language]) < 3_000
    assert any("\u4e00" <= letter <= "\u9fff" for letter in problem["zh"])
    return problem


def wish(base: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {**base, **parts}


BAD_WISHES = [  # what is asked, and the option it is said beside
    *(
        (wish(LSTM, training={"lr": value}), "lr")
        for value in (-1, 0, 1e9, "fast", None, [], {}, True, "1e-3", 10**400)
    ),
    *((wish(LSTM, training={"steps": value}), "steps") for value in (0, -5, 2.5, "", 10**12, "many")),
    *((wish(LSTM, training={"batch_size": value}), "batch_size") for value in (0, -1, 10**9, 1.5)),
    *((wish(LSTM, training={"schedule": value}), "schedule") for value in ("", "cosinus", 3, None)),
    *((wish(LSTM, task_options={"min_len": value}), "min_len") for value in (-1, 10**9, "a")),
    *((wish(LSTM, model={"d_hidden": value}), "d_hidden") for value in (0, -3, 10**7, "wide", 16_384)),
    *((wish(LSTM, seed=value), "seed") for value in (-1, 2**31, 2**70, 1.5, "", "x", None, [1])),
    (wish(LSTM, task_options={"min_len": 30, "max_len": 20}), ("min_len", "max_len")),
    (wish(GPT, model={"n_heads": 3}), "n_heads"),
    (wish(GPT, model={"n_kv_heads": 3}), "n_kv_heads"),
    (wish(GPT, model={"d_model": 62, "n_heads": 2, "position": "rope"}), "position"),
    (wish(GPT, model={"n_layers": 96, "d_model": 4_096, "n_heads": 64}), "d_model"),
    (wish(GPT, model={"head": "mlm"}), "head"),
    (wish(GPT, model={"colour": "green"}), "colour"),
    (wish(GPT, training={"beta3": 0.5}), "beta3"),
    (wish(GPT, task_options={"depth": 3}), "depth"),
    (wish(GPT, training={"batch_size": 4_096, "accumulate": 64}), "batch_size"),
    (wish(COPY, task_options={"max_len": 512}, training={"samples": 10_000_000, "batch_size": 1}), "samples"),
    (wish(LSTM, training={"samples": 10_000_000, "curriculum": False}), "samples"),
    (
        wish(COPY, task_options={"n_symbols": 5_000, "max_len": 64}, model=TINY, training={"batch_size": 1_000}),
        "batch_size",
    ),
    (
        wish(
            GPT,
            task_options={"max_len": 512, "n_symbols": 600},
            model={**TINY, "n_heads": 2, "n_layers": 16, "dropout": 0.1},
        ),
        "batch_size",
    ),
    (wish(GPT, model={"vocab_size": 2}), "vocab_size"),
    (wish(GPT, model={"max_len": 131_072}), "max_len"),
    (wish(LSTM, model={"n_labels": 1}), "n_labels"),
    (wish(LSTM, family="elmo"), "family"),
    (wish(LSTM, family="<b>lstm</b>"), "family"),
    (wish(LSTM, task="chess"), "task"),
    (wish(LSTM, variant="nonsense"), "variant"),
    (wish(LSTM, task="dates"), ("family", "recipe")),
    (wish(LSTM, task="own text", variant=None), "file"),
    (wish(LSTM, task="own text", variant=None, file={"name": "a.txt", "digest": "0" * 24}), "file"),
]


@pytest.mark.parametrize("order", ["check", "start"])
def test_what_cannot_be_trained_is_said_beside_its_control(client, order):
    for asked, option in BAD_WISHES:
        answer = client.post(
            f"/api/train/{order}", content=json.dumps(asked), headers={"content-type": "application/json"}
        )
        found = refusal(answer).get("option")
        named = set(str(found).split(", "))
        assert named & ({option} if isinstance(option, str) else set(option)), (asked, found)
    assert not job_service.jobs.moving and not list(job_service.store.folder.glob("*")), "nothing was begun"


def test_not_even_json(client):
    for body in (b"", b"{", b"[]", b"null", b'{"family": NaN}', b"\xff\xfe", b'{"family": "lstm"}', b"1" * 100):
        refusal(client.post("/api/train/check", content=body, headers={"content-type": "application/json"}))


def file_of(text: str, name: str = "mine.txt") -> dict[str, str]:
    return {"name": name, "text": text}


PAIRS = "".join(f'{{"source": "a b {i}", "target": "b a {i}"}}\n' for i in range(40))
BAD_FILES = [  # a file, and what is said of it
    (file_of(""), "empty"),
    (file_of("  \n\t\n"), "empty"),
    (file_of("one line"), "needs at least"),
    (file_of("a\0b\n" * 400), "zero byte"),
    (file_of("MZ\0\x01\x02" * 2_000, "app.exe"), "zero byte"),
    (file_of("x" * 100, "picture.png"), ".png"),
    (file_of("word\n" * 60, "one.csv"), "column"),
    (file_of("text,label\n" + "a b,x\n" * 40, "one_label.csv"), "label"),
    (file_of("text,label\n" + "a b,x\nc d,y\n" * 20 + "too,many,cells\n", "ragged.csv"), "line 42"),
    (file_of("text\tlabel\n", "header_only.tsv"), "one_of"),
    (file_of(PAIRS + '{"source": "a", "target": \n', "broken.jsonl"), "line 41"),
    (file_of(PAIRS + "[1, 2]\n", "list.jsonl"), "line 41"),
    (file_of(PAIRS + '{"source": "a"}\n', "half.jsonl"), "line 41"),
    (file_of("1\n2\n3\n", "numbers.jsonl"), "line 1"),
    (file_of(PAIRS + '{"source": "a \\ud800", "target": "b"}\n', "halved.jsonl"), "line 41"),
    (file_of(",,,\n", "commas.csv"), "empty"),
    (file_of("a b c d\n" * (MOST_FILE_BYTES // 8 + 1)), "MB"),
]


@pytest.mark.parametrize(("file", "said"), BAD_FILES, ids=[f["name"] + str(i) for i, (f, _) in enumerate(BAD_FILES)])
def test_a_file_that_cannot_be_used_is_told_apart(client, file, said):
    problem = refusal(client.post("/api/train/file", json=file))
    assert said == "one_of" or said in problem["en"], problem["en"]
    kinds = ("own text", "own labels", "own pairs")
    for kind in kinds:
        refusal(client.post("/api/train/check", json=wish(LSTM, task=kind, variant=None, file=file)))


@pytest.mark.parametrize(
    "task_options",
    [
        {"unit": "syllable"},
        {"unit": ["word"]},
        {"max_vocab": 1},
        {"context": 10**9},
        {"context": "wide"},
        {"x": 1},
        {"name": "x"},
        {"data": "x"},
    ],
)
def test_a_good_file_with_a_bad_knob(client, task_options):
    text = "the cat sat on the mat and the dog lay by the door\n" * 60
    good = client.post("/api/train/file", json=file_of(text)).json()
    assert good["kind"] == "own text" and good["rows"] > 0
    problem = refusal(client.post("/api/train/file", json={**file_of(text), "task_options": task_options}))
    assert problem["option"] in (*task_options, None) and next(iter(task_options)) in problem["en"]


def test_a_file_that_was_sent_once_is_known_by_its_digest(client):
    read = client.post("/api/train/file", json=file_of(PAIRS, "mine.jsonl")).json()
    asked = {"family": "lstm", "task": read["kind"], "file": {"name": "mine.jsonl", "digest": read["digest"]}}
    asked = {**asked, "family": read["families"][0], "training": {"steps": 10}}
    by_text = client.post("/api/train/check", json={**asked, "file": file_of(PAIRS, "mine.jsonl")}).json()
    assert client.post("/api/train/check", json=asked).json()["key"] == by_text["key"]


def test_every_recipe_fits(client):
    for family, name in RECIPES:
        for variant in RECIPES[family, name]:
            check_size(recipe(family, name, variant))


def test_no_choice_needs_an_option_that_has_no_control(client):
    training = {option["name"]: option for option in menu()["training"]}
    for choice in training["schedule"]["choices"]:
        answer = client.post("/api/train/check", json=wish(LSTM, training={"schedule": choice}))
        assert answer.status_code == 200, choice


def begun(client, seed: int, page: str) -> dict[str, Any]:
    return client.post("/api/train/start", json=wish(LSTM, seed=seed, page=page)).json()


def test_no_page_trains_more_than_its_share(client, monkeypatch):
    monkeypatch.setattr(train, "MOST_PER_PAGE", 2)
    monkeypatch.setattr(train, "MOST_AT_ONCE", 3)
    with ThreadPoolExecutor(6) as many:
        told = list(many.map(lambda seed: begun(client, seed, "one"), range(6)))
    keys = [answer["key"] for answer in told if "key" in answer]
    assert len(keys) == len(job_service.jobs.moving) == 2
    client.post(f"/api/train/{keys[0]}/pause", json={})
    until(lambda: job_service.job(keys[0]).status == "paused")
    keys.append(begun(client, 10, "one")["key"])
    assert "2 runs" in refusal(client.post(f"/api/train/{keys[0]}/go", json={"page": "one"}))["en"]
    keys.append(begun(client, 11, "another")["key"])
    assert "3 runs" in refusal(client.post(f"/api/train/{keys[0]}/go", json={"page": "another"}))["en"]
    for key in keys:
        client.post(f"/api/train/{key}/stop", json={})
    assert not job_service.jobs.moving


def test_another_web_site_gives_no_orders(client):
    """Without asking first, it can send no JSON."""
    key = begun(client, 20, "mine")["key"]
    for order in ("stop", "pause", "rewind", "step", "go"):
        refusal(client.post(f"/api/train/{key}/{order}", headers={"origin": "http://evil.example"}))
        refusal(client.post(f"/api/train/{key}/{order}", content="{}", headers={"content-type": "text/plain"}))
        refusal(client.post(f"/api/train/{key}/{order}", content="{}"))
    assert job_service.job(key).status in ("queued", "running")
    assert client.post(f"/api/train/{key}/stop", json={}).json()["status"] == "stopped"


def test_a_fork_keeps_what_its_task_decides(client):
    key = begun(client, 21, "mine")["key"]
    until(lambda: job_service.job(key).progress)
    client.post(f"/api/train/{key}/stop", json={})
    until(lambda: job_service.stored(key))
    asked = {"step": 0, "model": {"max_len": 131_072}}
    assert refusal(client.post(f"/api/train/{key}/fork", json=asked))["option"] == "max_len"


def test_a_folder_in_which_nothing_can_be_stored(client, tmp_path):
    before = job_service.settings
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(core.ConfigError) as caught:
        job_service.open(Settings(tmp_path / "file/runs"))
    assert caught.value.option == "store" and "--store" in chinese(caught.value) and job_service.settings is before


def test_runs_that_are_not_there(client):
    for key in ("0" * 24, "nonsense", "../../etc/passwd", "%00"):
        for order in ("pause", "go", "step", "stop", "rewind", "fork"):
            answer = client.post(f"/api/train/{key}/{order}", json={"step": 0})
            assert answer.status_code == 404 or refusal(answer)
    refusal(client.post(f"/api/train/{'0' * 24}/explode", json={}))
    assert client.post("/api/train/known", json={"keys": ["0" * 24, "x", ""]}).json() == []
    refusal(client.post("/api/train/known", json={"keys": ["0"] * 1_000}))


def test_every_option_has_a_name_in_both_languages():
    everything = menu()
    options = [option for family in everything["families"] for option in family["options"]]
    options += [task_option for task in everything["tasks"] for task_option in task["task_options"]] + everything[
        "training"
    ]
    for option in options:
        assert option["title"] == {"en": str(NAMES[option["name"]]), "zh": chinese(NAMES[option["name"]])}
        assert "_" not in option["title"]["en"]
    assert all(str(name) and chinese(name) for name in NAMES.values())


def test_runs_are_called_by_what_tells_them_apart():
    made = {
        "GPT on induction, seed 0": recipe("gpt", "induction"),
        "GPT on induction, one layer, seed 0": recipe("gpt", "induction", "one-layer"),
        "RNN on parity, learning rate too high, seed 0": recipe("rnn", "parity", "too-fast"),
        "RNN on parity, steps 189, batch size 32, seed 0": changed("rnn", "parity", steps=189, batch_size=32),
        "LSTM on parity, by heart: 2,000 fixed problems, learning rate 0.5, seed 0": changed("lstm", "parity", "source", lr=0.5),
        "GPT on sort, steps 50, learning rate 0.02, seed 0": core.runs.recipes.make_recipe("gpt", "sort", training={"steps": 50, "lr": 0.02}),
    }  # fmt: skip
    for title, one in made.items():
        assert str(run_title(one, 0)) == title
    assert "第 64 步的分支" in chinese(run_title(forked(recipe("gpt", "induction"), 64), 0))
    assert "fork at step 64" in str(run_title(forked(recipe("gpt", "induction"), 64), 0))
    many = changed("gpt", "induction", steps=50, batch_size=3, lr=0.1, clip=2.0, warmup=4)
    assert "2 more" in str(run_title(many, 0))
    for known in RECIPES:
        titles = [run_title(recipe(*known, variant), 0) for variant in RECIPES[known]]
        assert len({str(title) for title in titles}) == len({chinese(title) for title in titles}) == len(titles)


def changed(family: str, task: str, variant: str = "default", **training: Any) -> Recipe:
    usual = recipe(family, task, variant)
    return replace(usual, training=replace(usual.training, **training))


def forked(parent: Recipe, step: int) -> ForkRecipe:
    return ForkRecipe(parent.model, parent.task, parent.training, origin=Origin("0" * 24, step, exact=False))


def test_what_came_of_a_run_is_said_of_any_number_of_steps():
    lead = run_lead(recipe("lstm", "parity"), 0, 0.5, 1)
    assert str(lead) == "LSTM on parity, seed 0: 50.0 % on held-out problems at step 1 of 300."


def test_an_example_gives_what_is_read_and_asks_for_what_is_answered(client):
    """What repeats itself begins with the first token again; it is told in the same way while it is trained."""
    found = client.post("/api/train/check", json=GPT).json()["example"]
    said = found["source"][:-1]
    assert found["source"][-1] == said[0] and found["answer"]["en"] == said[1:]
    assert [said[places[0]] for places in found["alignment"]] == found["answer"]["en"]
    first = Sitting(core.Run(recipe("gpt", "induction"), seed=0)).look()["problems"][0]
    assert (first["tokens"], [str(token) for token in first["right"]]) == (found["source"], found["answer"]["en"])


def test_what_is_checked_is_what_core_would_train(client):
    for family, name in [("lstm", "parity"), ("transformer", "copy"), ("gpt", "induction"), ("bert", "entities")]:
        for variant in RECIPES[family, name]:
            asked = {"family": family, "task": name, "variant": variant, "seed": 3}
            found = client.post("/api/train/check", json=asked).json()
            assert found["key"] == key_of(recipe(family, name, variant), 3)
            model = core.build(recipe(family, name, variant).model, device="meta")
            assert found["parameters"] == sum(weight.numel() for weight in model.parameters())
            assert not found["differs"]
