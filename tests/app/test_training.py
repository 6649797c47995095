"""Routes of the Train tab. A request that cannot be trained is answered with one sentence, in both languages, that names
its option; nothing is trained or stored for it."""

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
from app.service.build.option_titles import OPTION_TITLES
from app.service.runs.job_service import JobSettings, job_service
from app.service.training import job_start
from app.service.training.menu import menu
from app.service.training.requests import check_size
from app.service.training.run_titles import run_lead, run_title
from app.service.training.uploaded_files import MAX_FILE_BYTES
from core.jobs.worker.probe import Probe
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
    job_service.open(JobSettings(tmp_path_factory.mktemp("runs"), workers=1))
    yield TestClient(make_app())
    job_service.close()
    job_service.settings = JobSettings()


def refusal(answer) -> dict[str, Any]:
    assert answer.status_code == 422, answer.text[:300]
    problem = answer.json()["problem"]
    for language in ("en", "zh"):
        assert problem[language] and "Traceback" not in problem[language] and len(problem[language]) < 3_000
    assert any("\u4e00" <= letter <= "\u9fff" for letter in problem["zh"])
    return problem


def request(base: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {**base, **parts}


BAD_REQUESTS = [  # body, and the option that the error names
    *(
        (request(LSTM, training={"lr": value}), "lr")
        for value in (-1, 0, 1e9, "fast", None, [], {}, True, "1e-3", 10**400)
    ),
    *((request(LSTM, training={"steps": value}), "steps") for value in (0, -5, 2.5, "", 10**12, "many")),
    *((request(LSTM, training={"batch_size": value}), "batch_size") for value in (0, -1, 10**9, 1.5)),
    *((request(LSTM, training={"schedule": value}), "schedule") for value in ("", "cosinus", 3, None)),
    *((request(LSTM, task_options={"min_len": value}), "min_len") for value in (-1, 10**9, "a")),
    *((request(LSTM, model={"d_hidden": value}), "d_hidden") for value in (0, -3, 10**7, "wide", 16_384)),
    *((request(LSTM, seed=value), "seed") for value in (-1, 2**31, 2**70, 1.5, "", "x", None, [1])),
    (request(LSTM, task_options={"min_len": 30, "max_len": 20}), ("min_len", "max_len")),
    (request(GPT, model={"n_heads": 3}), "n_heads"),
    (request(GPT, model={"n_kv_heads": 3}), "n_kv_heads"),
    (request(GPT, model={"d_model": 62, "n_heads": 2, "position": "rope"}), "position"),
    (request(GPT, model={"n_layers": 96, "d_model": 4_096, "n_heads": 64}), "d_model"),
    (request(GPT, model={"head": "mlm"}), "head"),
    (request(GPT, model={"colour": "green"}), "colour"),
    (request(GPT, training={"beta3": 0.5}), "beta3"),
    (request(GPT, task_options={"depth": 3}), "depth"),
    (request(GPT, training={"batch_size": 4_096, "accumulate": 64}), "batch_size"),
    (request(COPY, task_options={"max_len": 512}, training={"samples": 10_000_000, "batch_size": 1}), "samples"),
    (request(LSTM, training={"samples": 10_000_000, "curriculum": False}), "samples"),
    (
        request(COPY, task_options={"n_symbols": 5_000, "max_len": 64}, model=TINY, training={"batch_size": 1_000}),
        "batch_size",
    ),
    (
        request(
            GPT,
            task_options={"max_len": 512, "n_symbols": 600},
            model={**TINY, "n_heads": 2, "n_layers": 16, "dropout": 0.1},
        ),
        "batch_size",
    ),
    (request(GPT, model={"vocab_size": 2}), "vocab_size"),
    (request(GPT, model={"max_len": 131_072}), "max_len"),
    (request(LSTM, model={"n_labels": 1}), "n_labels"),
    (request(LSTM, family="elmo"), "family"),
    (request(LSTM, family="<b>lstm</b>"), "family"),
    (request(LSTM, task="chess"), "task"),
    (request(LSTM, variant="nonsense"), "variant"),
    (request(LSTM, task="dates"), ("family", "recipe")),
    (request(LSTM, task="own text", variant=None), "file"),
    (request(LSTM, task="own text", variant=None, file={"name": "a.txt", "digest": "0" * 24}), "file"),
]


@pytest.mark.parametrize("order", ["check", "start"])
def test_errors_of_bad_requests_name_the_option(client, order):
    for body, option in BAD_REQUESTS:
        answer = client.post(
            f"/api/train/{order}", content=json.dumps(body), headers={"content-type": "application/json"}
        )
        actual = refusal(answer).get("option")
        expected = {option} if isinstance(option, str) else set(option)
        assert set(str(actual).split(", ")) & expected, (body, actual)
    assert not job_service.jobs.in_progress and not list(job_service.store.folder.glob("*")), "nothing was started"


def test_not_even_json(client):
    for body in (b"", b"{", b"[]", b"null", b'{"family": NaN}', b"\xff\xfe", b'{"family": "lstm"}', b"1" * 100):
        refusal(client.post("/api/train/check", content=body, headers={"content-type": "application/json"}))


def file_of(text: str, name: str = "mine.txt") -> dict[str, str]:
    return {"name": name, "text": text}


PAIRS = "".join(f'{{"source": "a b {i}", "target": "b a {i}"}}\n' for i in range(40))
BAD_FILES = [  # a file, and a part of the error message
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
    (file_of("a b c d\n" * (MAX_FILE_BYTES // 8 + 1)), "MB"),
]


@pytest.mark.parametrize(
    ("file", "message"), BAD_FILES, ids=[f["name"] + str(i) for i, (f, _) in enumerate(BAD_FILES)]
)
def test_errors_of_bad_files_name_the_cause(client, file, message):
    problem = refusal(client.post("/api/train/file", json=file))
    assert message == "one_of" or message in problem["en"], problem["en"]
    kinds = ("own text", "own labels", "own pairs")
    for kind in kinds:
        refusal(client.post("/api/train/check", json=request(LSTM, task=kind, variant=None, file=file)))


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
def test_a_good_file_with_a_bad_option(client, task_options):
    text = "the cat sat on the mat and the dog lay by the door\n" * 60
    good = client.post("/api/train/file", json=file_of(text)).json()
    assert good["kind"] == "own text" and good["rows"] > 0
    problem = refusal(client.post("/api/train/file", json={**file_of(text), "task_options": task_options}))
    assert problem["option"] in (*task_options, None) and next(iter(task_options)) in problem["en"]


def test_a_file_that_was_sent_before_is_found_by_its_digest(client):
    facts = client.post("/api/train/file", json=file_of(PAIRS, "mine.jsonl")).json()
    body = {"family": "lstm", "task": facts["kind"], "file": {"name": "mine.jsonl", "digest": facts["digest"]}}
    body = {**body, "family": facts["families"][0], "training": {"steps": 10}}
    by_text = client.post("/api/train/check", json={**body, "file": file_of(PAIRS, "mine.jsonl")}).json()
    assert client.post("/api/train/check", json=body).json()["key"] == by_text["key"]


def test_every_recipe_fits(client):
    for family, name in RECIPES:
        for variant in RECIPES[family, name]:
            check_size(recipe(family, name, variant))


def test_no_choice_needs_an_option_that_has_no_control(client):
    training = {option["name"]: option for option in menu()["training"]}
    for choice in training["schedule"]["choices"]:
        answer = client.post("/api/train/check", json=request(LSTM, training={"schedule": choice}))
        assert answer.status_code == 200, choice


def start(client, seed: int, page: str) -> dict[str, Any]:
    return client.post("/api/train/start", json=request(LSTM, seed=seed, page=page)).json()


def test_the_number_of_jobs_per_page_and_of_all_is_limited(client, monkeypatch):
    monkeypatch.setattr(job_start, "MAX_JOBS_PER_PAGE", 2)
    monkeypatch.setattr(job_start, "MAX_JOBS", 3)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda seed: start(client, seed, "one"), range(6)))
    keys = [answer["key"] for answer in answers if "key" in answer]
    assert len(keys) == len(job_service.jobs.in_progress) == 2
    client.post(f"/api/train/{keys[0]}/pause", json={})
    until(lambda: job_service.job(keys[0]).status == "paused")
    keys.append(start(client, 10, "one")["key"])
    assert "2 runs" in refusal(client.post(f"/api/train/{keys[0]}/go", json={"page": "one"}))["en"]
    keys.append(start(client, 11, "another")["key"])
    assert "3 runs" in refusal(client.post(f"/api/train/{keys[0]}/go", json={"page": "another"}))["en"]
    for key in keys:
        client.post(f"/api/train/{key}/stop", json={})
    assert not job_service.jobs.in_progress


def test_commands_from_another_web_site_are_refused(client):
    """Without a preflight request, a browser sends no JSON to another origin."""
    key = start(client, 20, "mine")["key"]
    for order in ("stop", "pause", "rewind", "step", "go"):
        refusal(client.post(f"/api/train/{key}/{order}", headers={"origin": "http://evil.example"}))
        refusal(client.post(f"/api/train/{key}/{order}", content="{}", headers={"content-type": "text/plain"}))
        refusal(client.post(f"/api/train/{key}/{order}", content="{}"))
    assert job_service.job(key).status in ("queued", "running")
    assert client.post(f"/api/train/{key}/stop", json={}).json()["status"] == "stopped"


def test_a_fork_cannot_change_sizes_that_follow_from_the_task(client):
    key = start(client, 21, "mine")["key"]
    until(lambda: job_service.job(key).progress)
    client.post(f"/api/train/{key}/stop", json={})
    until(lambda: job_service.stored_facts(key))
    body = {"step": 0, "model": {"max_len": 131_072}}
    assert refusal(client.post(f"/api/train/{key}/fork", json=body))["option"] == "max_len"


def test_a_folder_in_which_nothing_can_be_stored(client, tmp_path):
    before = job_service.settings
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(core.ConfigError) as error:
        job_service.open(JobSettings(tmp_path / "file/runs"))
    assert error.value.option == "store" and "--store" in chinese(error.value) and job_service.settings is before


def test_unknown_runs(client):
    for key in ("0" * 24, "nonsense", "../../etc/passwd", "%00"):
        for order in ("pause", "go", "step", "stop", "rewind", "fork"):
            answer = client.post(f"/api/train/{key}/{order}", json={"step": 0})
            assert answer.status_code == 404 or refusal(answer)
    refusal(client.post(f"/api/train/{'0' * 24}/explode", json={}))
    assert client.post("/api/train/known", json={"keys": ["0" * 24, "x", ""]}).json() == []
    refusal(client.post("/api/train/known", json={"keys": ["0"] * 1_000}))


def test_every_option_has_a_title_in_both_languages():
    choices = menu()
    options = [option for family in choices["families"] for option in family["options"]]
    options += [option for task in choices["tasks"] for option in task["task_options"]]
    options += choices["training"]
    for option in options:
        assert option["title"] == {
            "en": str(OPTION_TITLES[option["name"]]),
            "zh": chinese(OPTION_TITLES[option["name"]]),
        }
        assert "_" not in option["title"]["en"]
    assert all(str(title) and chinese(title) for title in OPTION_TITLES.values())


def test_titles_of_runs_name_the_changed_options():
    recipes = {
        "GPT on induction, seed 0": recipe("gpt", "induction"),
        "GPT on induction, one layer, seed 0": recipe("gpt", "induction", "one-layer"),
        "RNN on parity, learning rate too high, seed 0": recipe("rnn", "parity", "too-fast"),
        "RNN on parity, steps 189, batch size 32, seed 0": changed("rnn", "parity", steps=189, batch_size=32),
        "LSTM on parity, by heart: 2,000 fixed problems, learning rate 0.5, seed 0": changed("lstm", "parity", "source", lr=0.5),
        "GPT on sort, steps 50, learning rate 0.02, seed 0": core.runs.recipes.make_recipe("gpt", "sort", training={"steps": 50, "lr": 0.02}),
    }  # fmt: skip
    for title, titled_recipe in recipes.items():
        assert str(run_title(titled_recipe, 0)) == title
    assert "第 64 步的分支" in chinese(run_title(forked(recipe("gpt", "induction"), 64), 0))
    assert "fork at step 64" in str(run_title(forked(recipe("gpt", "induction"), 64), 0))
    many = changed("gpt", "induction", steps=50, batch_size=3, lr=0.1, clip=2.0, warmup=4)
    assert "2 more" in str(run_title(many, 0))
    for pair in RECIPES:
        titles = [run_title(recipe(*pair, variant), 0) for variant in RECIPES[pair]]
        assert len({str(title) for title in titles}) == len({chinese(title) for title in titles}) == len(titles)


def changed(family: str, task: str, variant: str = "default", **training: Any) -> Recipe:
    usual = recipe(family, task, variant)
    return replace(usual, training=replace(usual.training, **training))


def forked(parent: Recipe, step: int) -> ForkRecipe:
    return ForkRecipe(parent.model, parent.task, parent.training, origin=Origin("0" * 24, step, exact=False))


def test_the_lead_of_an_unfinished_run_names_both_steps():
    lead = run_lead(recipe("lstm", "parity"), 0, 0.5, 1)
    assert str(lead) == "LSTM on parity, seed 0: 50.0 % on held-out problems at step 1 of 300."


def test_the_example_of_a_stream_is_split_into_given_and_predicted_tokens(client):
    """Of induction, the repeated sequence up to its first token again is given; a probe of the run shows the same."""
    example = client.post("/api/train/check", json=GPT).json()["example"]
    sequence = example["source"][:-1]
    assert example["source"][-1] == sequence[0] and example["answer"]["en"] == sequence[1:]
    assert [sequence[positions[0]] for positions in example["alignment"]] == example["answer"]["en"]
    first = Probe(core.Run(recipe("gpt", "induction"), seed=0)).measure()["problems"][0]
    assert (first["tokens"], [str(token) for token in first["right"]]) == (example["source"], example["answer"]["en"])


def test_what_is_checked_is_what_core_would_train(client):
    for family, name in [("lstm", "parity"), ("transformer", "copy"), ("gpt", "induction"), ("bert", "entities")]:
        for variant in RECIPES[family, name]:
            body = {"family": family, "task": name, "variant": variant, "seed": 3}
            answer = client.post("/api/train/check", json=body).json()
            assert answer["key"] == key_of(recipe(family, name, variant), 3)
            model = core.build(recipe(family, name, variant).model, device="meta")
            assert answer["parameters"] == sum(weight.numel() for weight in model.parameters())
            assert not answer["differs"]
