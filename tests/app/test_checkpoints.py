"""A checkpoint is just another run: one copy for everybody, within a budget, from nowhere it should not come from."""

import json
import os
import threading
import time

import numpy as np
import pytest
import torch
import transformers
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app import checkpoint_places, checkpoints, gallery, payload, positions, writing
from app.checkpoint_shelf import Shelf, Stopped
from app.looking import look
from app.problem import held_out, typed
from app.routes import looks, router
from core import ConfigError, InputError
from core.likeness import ALIKE
from core.pretrained_run import PretrainedRun
from tests.app import made_checkpoints as made

MINILM = "checkpoint:all-MiniLM-L6-v2"
SENTENCES = ["The animal didn't cross the street because it was too tired.", "a b c a b c", "你好，世界。"]


@pytest.fixture
def root(tmp_path):
    """An empty root and an empty shelf; what was there before comes back."""
    before = checkpoints.settings.root, checkpoints.shelf
    checkpoints.shelf = Shelf(2_000_000_000)
    checkpoints.set_up(tmp_path / "root", 2_000_000_000)
    (tmp_path / "root").mkdir()
    yield tmp_path / "root"
    checkpoints.settings.root, checkpoints.shelf = before


@pytest.fixture
def client(root):
    app = FastAPI()
    app.include_router(router)
    for refusal in (InputError, ConfigError):
        app.add_exception_handler(refusal, looks.say_problem)
    return TestClient(app)


def ask(client, path, **body):
    return client.post(f"/api/{path}", json=body).json()


def wait_for(client, name, status="ready"):
    for _ in range(400):
        told = ask(client, "checkpoints/about", name=name)
        if told["status"] == status:
            return told
        time.sleep(0.05)
    raise AssertionError(told)


# What is shown


def test_the_real_bert_shows_what_transformers_computes(root):
    place = checkpoints.place_of(MINILM)
    theirs = transformers.AutoModel.from_pretrained(place.folder, attn_implementation="eager").eval()
    cut = transformers.AutoTokenizer.from_pretrained(place.folder)
    run = gallery.open_run(MINILM).run
    for text in SENTENCES:
        problem = typed(run, text)
        ids = cut(text, return_tensors="pt")
        assert problem.ids.tolist() == ids["input_ids"][0].tolist()
        with torch.no_grad():
            expected = theirs(**ids, output_attentions=True, output_hidden_states=True)
        header, arrays = payload.unpack(look(run, problem).pack())
        (heads,) = header["heads"]
        assert heads["shape"] == [1, 6, 12, len(problem.source), len(problem.source)]
        weights = torch.stack(expected.attentions)[:, 0].numpy()
        np.testing.assert_allclose(arrays["blocks.weights"][0], weights, atol=1e-4)
        hidden = run.replay(*problem.batch.inputs, "*.resid_out", "logits")[0]
        np.testing.assert_allclose(hidden["logits"], expected.last_hidden_state, atol=1e-4)


def test_two_texts_are_a_pair_with_segments(root):
    run = gallery.open_run(MINILM).run
    place = checkpoints.place_of(MINILM)
    cut = transformers.AutoTokenizer.from_pretrained(place.folder)
    expected = cut("a man plays", "it is music")
    ids, _, segments = typed(run, "a man plays [SEP] it is music").batch.inputs
    assert ids[0].tolist() == expected["input_ids"] and segments[0].tolist() == expected["token_type_ids"]
    with pytest.raises(InputError, match="at most two"):
        typed(run, "one [SEP] two [SEP] three")


@pytest.mark.parametrize("form", made.HEADS)
def test_every_head_is_shown_in_its_own_form(root, form):
    theirs = made.bert(root / "org" / form, form)
    name = f"checkpoint:org/{form}"
    story, run = gallery.story(name), gallery.open_run(name).run
    assert story["form"] == form and run.task.forms == (form,)
    assert story["snapshots"] == [0] and story["steps"] == [] and story["accuracy"] is None and story["seed"] is None
    problem = held_out(run, 0)
    said = look(run, problem).answers[0]
    with torch.no_grad():
        inputs = {"input_ids": problem.ids[None], "token_type_ids": problem.batch.inputs[2]}
        logits = None if form in ("none", "answer") else theirs(**inputs).logits[0]
    if form == "masked":
        place = run.task.show(problem.ids.tolist()).index("[MASK]")
        assert said["places"] == [place] and said["said"] == [[run.task.tokens[int(logits[place].argmax())]] * 2]
        assert said["shares"][0] == pytest.approx(float(logits[place].softmax(-1).max()), abs=1e-5)
    elif form == "label":
        assert said["shares"] == [pytest.approx(float(logits.softmax(-1).max()), abs=1e-5)]
    elif form == "tags":
        assert len(said["said"]) == len(problem.source)
        np.testing.assert_allclose(said["shares"], logits.softmax(-1).amax(-1), atol=1e-5)
    else:
        assert said["said"] == []


def test_holes_are_filled_as_transformers_fills_them(client, root):
    theirs, name = made.bert(root / "small", "masked"), "checkpoint:small"
    run = gallery.open_run(name).run
    text = "the [MASK] of France is [MASK]"
    header, _ = payload.unpack(client.post("/api/reply", json={"run": name, "text": text, "step": 0}).content)
    ids = typed(run, text).batch.inputs[0]
    with torch.no_grad():
        shares = theirs(ids).logits[0].softmax(-1)
    places = (ids[0] == run.task.ids["[MASK]"]).nonzero().squeeze(1).tolist()
    assert [hole["place"] for hole in header["holes"]] == places
    for hole in header["holes"]:
        best = shares[hole["place"]].topk(len(hole["words"]))
        np.testing.assert_allclose(hole["shares"], best.values, atol=1e-5)
        assert hole["words"][0] == run.task.tokens[int(best.indices[0])]


@pytest.mark.parametrize("form", ["label", "tags", "answer", "masked"])
def test_every_kind_of_answer_is_given(client, root, form):
    made.bert(root / form, form)
    answer = client.post("/api/reply", json={"run": f"checkpoint:{form}", "held_out": 0, "step": 0})
    assert payload.unpack(answer.content)[0]["form"] == form


@pytest.mark.parametrize("family", ["gpt2", "t5"])
def test_what_a_checkpoint_writes_is_what_transformers_writes(root, family):
    theirs = getattr(made, family)(root / family)
    run = gallery.open_run(f"checkpoint:{family}").run
    asked = writing.prompt_of(run, "the capital of France", 0)
    header, _ = payload.unpack(writing.written(run, asked, 0, {"max_new": 8}))
    with torch.no_grad():
        expected = theirs.generate(asked.ids, max_new_tokens=8, do_sample=False, pad_token_id=0)[0].tolist()
    expected = expected[1:] if family == "t5" else expected[asked.ids.shape[1] :]
    assert header["texts"][0]["tokens"] == run.task.show(expected)
    assert header["tokens"]["length"] == 400 and len(header["tokens"]) < 400, "not the whole vocabulary"
    for step in header["steps"]:
        assert all(header["tokens"][str(i)] == run.task.tokens[i] for i in step["ids"])
    groups = {heads.name for heads in look(run, typed(run, "the capital of France")).heads}
    assert groups == ({"encoder.blocks", "decoder.blocks", "decoder.cross"} if family == "t5" else {"blocks"})


def test_its_positions_are_read_off_its_own_table(root):
    theirs = made.bert(root / "small")
    header, arrays = positions.learned("checkpoint:small")
    table = theirs.embeddings.position_embeddings.weight[: positions.LONGEST_GIVEN].detach().numpy()
    np.testing.assert_array_equal(arrays["position_embedding.table"][0], table)
    assert header["asked"] and header["checkpoint"] == {"positions": 512}
    theirs = made.t5(root / "t5")
    header, arrays = positions.t5_trained("checkpoint:t5")
    near = theirs.encoder.block[0].layer[0].SelfAttention.relative_attention_bias.weight[0].detach().numpy()
    np.testing.assert_allclose(arrays["encoder.position.bias"][0, :, header["offsets"].index(0)], near)


@pytest.mark.parametrize("text", ["", "  \n ", "x " * 600, "</script><b>"])
def test_inputs_it_cannot_show_get_a_sentence(root, text):
    made.bert(root / "small")
    run = gallery.open_run("checkpoint:small").run
    if "script" in text:
        assert typed(run, text).source[0] == "[CLS]"
        return
    with pytest.raises(InputError) as refused:
        typed(run, text)
    assert refused.value.text("en") and refused.value.text("zh")


# Loading


def test_it_is_told_what_it_costs_then_loaded_in_the_background_and_shared(client):
    told = ask(client, "checkpoints/about", name=MINILM)
    assert told["parameters"] == 22_713_216 and told["bytes"] == 4 * told["parameters"] and told["seconds"] > 0
    assert told["status"] == "away" and (told["layers"], told["heads"]) == (6, 12)
    listed = {one["name"]: one for one in client.get("/api/runs").json()}
    assert listed[MINILM]["checkpoint"] == {"source": "package", "ready": False}
    ask(client, "checkpoints/load", name=MINILM)
    wait_for(client, MINILM)
    found = []
    sessions = [threading.Thread(target=lambda: found.append(gallery.open_run(MINILM).run.model)) for _ in range(2)]
    for one in sessions:
        one.start()
    for one in sessions:
        one.join()
    assert found[0] is found[1], "one copy for all"
    assert checkpoints.shelf.used() == told["bytes"]
    listed = {one["name"]: one for one in client.get("/api/runs").json()}
    assert listed[MINILM]["checkpoint"]["ready"]


def test_a_request_waits_while_it_is_loaded_and_may_be_told_how_far_it_is(monkeypatch):
    shelf, go = Shelf(100), threading.Event()

    def slow(reading):
        reading.tell(0.5)
        go.wait(10)
        return "model"

    shelf.begin("one", 10, slow)
    monkeypatch.setattr("app.checkpoint_shelf.PATIENCE", 0.2)
    with pytest.raises(InputError, match="50%"):
        shelf.get("one", 10, slow)
    assert shelf.state("one")["status"] == "loading"
    threading.Timer(0.05, go.set).start()
    monkeypatch.setattr("app.checkpoint_shelf.PATIENCE", 10)
    assert shelf.get("one", 10, slow) == "model"


def test_loading_can_be_stopped_and_begun_again():
    shelf, began = Shelf(100), threading.Event()

    def endless(reading):
        began.set()
        while True:
            reading.tell(0.1)
            time.sleep(0.01)

    shelf.begin("one", 10, endless)
    assert began.wait(5)
    shelf.stop("one")
    with pytest.raises(InputError, match="stopped"):
        _ended(shelf, "one")
    assert shelf.state("one")["status"] == "failed" and shelf.state("one")["problem"]["zh"]
    assert shelf.get("one", 10, lambda reading: "model") == "model"
    assert issubclass(Stopped, Exception)


def _ended(shelf, key):
    assert shelf.reading[key].ended.wait(5)
    raise shelf.reading[key].problem


def test_those_not_used_for_longest_make_way_and_come_back(root):
    for name in ("a", "b", "c"):
        made.bert(root / name)
    size = checkpoints.cost(checkpoints.place_of("checkpoint:a")).bytes
    checkpoints.shelf.budget = 2 * size
    first = gallery.open_run("checkpoint:a").run
    gallery.open_run("checkpoint:b")
    assert gallery.open_run("checkpoint:a").run is first, "used again: now b is the oldest"
    gallery.open_run("checkpoint:c")
    ready = [one["title"]["en"] for one in checkpoints.listing() if one["checkpoint"]["ready"]]
    assert ready == ["a", "c"] and checkpoints.shelf.used() <= checkpoints.shelf.budget
    assert isinstance(gallery.open_run("checkpoint:b").run, PretrainedRun), "asked for, it is loaded again"
    checkpoints.shelf.budget = size - 1
    checkpoints.shelf.ready.clear()
    with pytest.raises(InputError, match="--checkpoint-memory"):
        gallery.open_run("checkpoint:a")


def test_a_file_that_is_cut_off_later_does_not_touch_a_loaded_model(root):
    made.bert(root / "small")
    run = gallery.open_run("checkpoint:small").run
    before = [weight.clone() for weight in run.model.parameters()]
    with (root / "small/model.safetensors").open("r+b") as file:
        file.truncate(100)
    for weight, was in zip(run.model.parameters(), before, strict=True):
        torch.testing.assert_close(weight, was)
    with pytest.raises(InputError, match="cut short"):
        gallery.open_run("checkpoint:small")


# From nowhere else


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
    assert checkpoints.shelf.used() == 0


def test_links_out_of_the_root_are_not_followed(client, root):
    made.bert(root.parent / "secret")
    os.symlink(root.parent / "secret", root / "link")
    assert "checkpoint:link" not in checkpoint_places.places(root)
    assert "leads out" in ask(client, "checkpoints/about", name="link")["problem"]["en"]
    made.bert(root / "half")
    (root / "half/model.safetensors").unlink()
    os.symlink(root.parent / "secret/model.safetensors", root / "half/model.safetensors")
    answer = ask(client, "checkpoints/load", name="half")
    assert set(answer) == {"problem"} and str(root.parent) not in json.dumps(answer)
    assert checkpoints.shelf.used() == 0


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
    assert checkpoints.shelf.used() == 0


def test_what_is_not_here_is_looked_for_on_the_hub_and_without_a_network_says_so(client, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    told = ask(client, "checkpoints/about", name="org/never")
    assert told["source"] == "hub" and told["status"] == "away"
    ask(client, "checkpoints/load", name="org/never")
    told = wait_for(client, "org/never", "failed")
    assert "org/never" in told["problem"]["en"] and str(checkpoints.settings.root) not in json.dumps(told)


def test_what_was_fetched_before_is_offered_without_a_network(client, root, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    repo = root / checkpoint_places.HUB_CACHE / "models--org--tiny"
    made.bert(repo / "snapshots" / ("a" * 40))
    (repo / "refs").mkdir()
    (repo / "refs/main").write_text("a" * 40)
    assert "checkpoint:org/tiny" in checkpoint_places.places(root)
    assert ask(client, "checkpoints/about", name="org/tiny")["parameters"] > 0
    assert client.get("/api/runs/checkpoint:org/tiny").json()["title"]["en"] == "org/tiny"
    (repo / "snapshots" / ("a" * 40) / "model.safetensors").unlink()
    assert "checkpoint:org/tiny" not in checkpoint_places.places(root), "its fetching was stopped halfway"


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

    monkeypatch.setattr("app.checkpoint_reading.snapshot", slowly)
    ask(client, "checkpoints/load", name="org/tiny")
    assert wait_for(client, "org/tiny", "loading")["source"] == "hub"
    ask(client, "checkpoints/stop", name="org/tiny")
    assert "stopped" in wait_for(client, "org/tiny", "failed")["problem"]["en"]
    assert "checkpoint:org/tiny" not in checkpoint_places.places(root)
    ask(client, "checkpoints/load", name="org/tiny")
    wait_for(client, "org/tiny", "loading")
    go.set()
    told = wait_for(client, "org/tiny", "away")
    assert told["source"] == "folder" and told["parameters"] > 0, "here now, and not yet in memory"
    ask(client, "checkpoints/load", name="org/tiny")
    wait_for(client, "org/tiny")


# The bridge


def test_the_toys_previous_token_head_is_found_in_the_real_bert(client):
    toy = gallery.open_run("induction-gpt").run
    asked = {"run": "induction-gpt", "text": "t g w b n h c s t g w b n h c s", "step": toy.snapshots[-1].step}
    answer = client.post("/api/like", json={**asked, "point": "blocks.0.attn", "head": 3, "where": MINILM})
    header, arrays = payload.unpack(answer.content)
    best = header["best"][0]
    assert (best["group"], best["layer"], best["head"]) == ("blocks", 0, 2) and best["likeness"] > ALIKE
    assert header["left_out"] == ["[CLS]", "[SEP]"] and header["of"]["left_out"] == [] and header["heads"] == 72
    likenesses = [one["likeness"] for one in header["best"]]
    assert len(likenesses) == 5 and likenesses == sorted(likenesses, reverse=True)
    run = gallery.open_run(MINILM).run
    (tape,) = run.replay(*typed(run, asked["text"]).batch.inputs, "blocks.0.attn.weights")
    np.testing.assert_allclose(arrays["best.weights"][0], tape["blocks.0.attn.weights"][0, 2], atol=1e-6)
    inner = tape["blocks.0.attn.weights"][0, 2, 1:-1, 1:-1]
    assert best["profile"]["previous"] == pytest.approx(float(inner.diagonal(-1).mean()), abs=1e-5)


def test_searching_the_same_run_finds_the_head_itself(client):
    toy = gallery.open_run("induction-gpt").run
    asked = {"run": "induction-gpt", "text": "t g w b n h c s t g w b n h c s", "step": toy.snapshots[-1].step}
    for head in range(4):
        body = {**asked, "point": "blocks.1.attn", "head": head, "where": "induction-gpt"}
        header, _ = payload.unpack(client.post("/api/like", json=body).content)
        best = header["best"][0]
        assert (best["layer"], best["head"]) == (1, head) and best["likeness"] == pytest.approx(1)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"point": "decoder.blocks.0.cross"}, "from the input at the input"),
        ({"head": 99}, "no such head"),
        ({"where": "parity-lstm"}, "not one of"),
        ({"where": "checkpoint:nowhere"}, "no checkpoint"),
        ({"text": "a b"}, "longer input"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(client, changes, words):
    toy = gallery.open_run("induction-gpt").run
    body = {
        "run": "induction-gpt", "text": "t g w b t g w b", "step": toy.snapshots[-1].step,
        "point": "blocks.0.attn", "head": 0, "where": "induction-gpt", **changes,
    }  # fmt: skip
    answer = ask(client, "like", **body)
    assert words in answer["problem"]["en"] and answer["problem"]["zh"]
