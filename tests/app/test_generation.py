"""What the Generate tab is told, against core itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

import core
from app.main import make_app
from app.service import payload
from app.service.generation import generation
from app.service.inputs import LONGEST
from app.service.runs import run_registry
from core.decoding import filters
from core.runs.recipes import make_recipe
from core.runs.run import Run
from tests.words import chinese

WRITERS = ["induction-gpt", "copy-transformer", "reverse-t5", "dates-bahdanau", "translation-transformer"]


def told(name: str, index: int = 3, **how):
    run = run_registry.open_run(name).run
    asked = generation.prompt_of(run, None, index)
    header, arrays = payload.unpack(generation.written(run, asked, run.snapshots[-1].step, how))
    return run, asked, header, arrays


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("how", [{}, {"strategy": "sample", "temperature": 1.7, "top_k": 5}, {"strategy": "beam"}])
def test_texts_shares_and_attention_are_cores(name, how):
    run, asked, header, arrays = told(name, **how)
    model = generation.at_step(run, run.snapshots[-1].step)
    lengths = asked.lengths if header["two"] else None
    written = core.generate(model, asked.ids, lengths, **how)[0].tolist()
    ids = [run.task.tokens.index(token) for token in header["texts"][0]["tokens"]]
    assert ids == written[: len(ids)]

    with torch.no_grad(), core.capture(model, "*.weights") as tape:
        if header["two"]:
            logits = model(asked.ids, torch.tensor([[1, *ids[:-1]]]), asked.lengths).logits[0]
        else:
            logits = model(torch.tensor([asked.read + ids[:-1]])).logits[0, len(asked.read) - 1 :]
    before = logits.softmax(-1)
    narrowed = (
        filters.warp_logits(logits, core.decoding.Decoding(**how)) if how.get("strategy") == "sample" else logits
    )
    for at, step in enumerate(header["steps"]):
        assert step["chosen"] == ids[at]
        np.testing.assert_allclose(step["before"], before[at, step["ids"]], atol=1e-5)
        np.testing.assert_allclose(step["after"], narrowed[at].softmax(-1)[step["ids"]], atol=1e-5)
    stack = "cross" if header["two"] else "self"
    points = [point for point in tape.names() if (".cross." in point) == header["two"]]
    for layer, point in enumerate(points):
        expected = tape[point][0, :, -len(ids) :]
        np.testing.assert_allclose(arrays[f"{stack}.weights"][layer], expected, atol=1e-6)


def test_the_tree_tells_how_each_score_came_about():
    run, asked, header, _ = told("translation-transformer", strategy="beam", beams=3, n_best=3, length_penalty=0.0)
    model = generation.at_step(run, run.snapshots[-1].step)
    tree = header["tree"]

    def way(level: int, place: int) -> list[int]:
        node = tree[level][place]
        return ([] if level == 0 else way(level - 1, node["parent"])) + [node["id"]]

    assert [len(level) for level in tree[1:]] == [6] * (len(tree) - 1)
    for level, place in [(0, 0), (1, 2), (3, 5), (len(tree) - 1, 1)]:
        ids = way(level, place)
        with torch.no_grad():
            logits = model(asked.ids, torch.tensor([[1, *ids[:-1]]]), asked.lengths).logits[0].log_softmax(-1)
        likely = logits.gather(1, torch.tensor(ids)[:, None])[:, 0]
        assert tree[level][place]["score"] == pytest.approx(float(likely.sum()), abs=1e-3)
        assert tree[level][place]["share"] == pytest.approx(float(likely[-1].exp()), abs=1e-4)
    ended = [round(node["score"], 3) for level in tree for node in level if node["ended"]]
    assert [round(text["score"], 3) for text in header["texts"]] == sorted(ended, reverse=True)[:3]


def test_every_node_that_went_on_tells_what_could_follow():
    run, asked, header, _ = told("translation-transformer", strategy="beam", beams=3, no_repeat=1)
    model, tree = generation.at_step(run, run.snapshots[-1].step), header["tree"]
    for level in tree[:-1]:
        assert [node["next"] is not None for node in level] == [node["kept"] for node in level]
    place = next(i for i, node in enumerate(tree[1]) if node["kept"])
    ids = [tree[0][tree[1][place]["parent"]]["id"], tree[1][place]["id"]]
    with torch.no_grad():
        logits = model(asked.ids, torch.tensor([[1, *ids]]), asked.lengths).logits[0, -1]
    allowed = torch.ones(len(logits), dtype=torch.bool)
    allowed[[1, *ids]] = False  # no token twice
    following = tree[1][place]["next"]
    np.testing.assert_allclose(following["before"], logits.softmax(-1)[following["ids"]], atol=1e-5)
    np.testing.assert_allclose(following["after"], (logits.softmax(-1) * allowed)[following["ids"]], atol=1e-5)
    assert following["left"] == int(allowed.sum()) and following["narrowed"]
    for step in header["steps"]:
        assert step["after"][step["ids"].index(step["chosen"])] > 0


@pytest.mark.parametrize("name", ["characters-gru", "dates-bahdanau"])
def test_the_gates_behind_a_token_are_the_tapes(name):
    run, asked, header, arrays = told(name)
    model, ids = (
        generation.at_step(run, run.snapshots[-1].step),
        [run.task.tokens.index(t) for t in header["texts"][0]["tokens"]],
    )
    with torch.no_grad(), core.capture(model, "*layers.*") as tape:
        if header["two"]:
            model(asked.ids, torch.tensor([[1, *ids[:-1]]]), asked.lengths)
        else:
            model(torch.tensor([asked.read + ids[:-1]]))
    points = [point for point in tape.names() if not point.startswith("encoder")]
    assert header["cells"] and set(header["cells"]) <= set(points)
    for point in header["cells"]:
        np.testing.assert_allclose(arrays[point], tape[point][0, -len(ids) :], atol=1e-6)


def test_a_text_begins_as_in_training_and_goes_on():
    run = run_registry.open_run("characters-gru").run
    asked = generation.prompt_of(run, "the ", 0)
    assert run.task.show(asked.read) == ["<s>", "t", "h", "e", " "]
    header, _ = payload.unpack(generation.written(run, asked, run.snapshots[-1].step, {"max_new": 60}))
    text = "the " + "".join(header["texts"][0]["tokens"][:-1])
    words = set(run.task._words)
    assert header["texts"][0]["tokens"][-1] == "</s>"
    assert {word.strip(".?") for word in text.split()} <= words


def test_an_early_snapshot_writes_worse():
    run = run_registry.open_run("translation-transformer").run
    asked = generation.prompt_of(run, "will this child steal the flower?", 0)
    first, last = (
        payload.unpack(generation.written(run, asked, run.snapshots[at].step, {}))[0]["texts"][0]["tokens"]
        for at in (0, -1)
    )
    assert last[:-1] == run.task.show(asked.right) != first[: len(asked.right)]


def test_what_cannot_be_is_said_in_a_sentence():
    client = TestClient(make_app())
    question = {"run": "translation-transformer", "text": "will this child steal the flower?", "step": 0}
    for change, word in [
        ({"how": {"temperature": 0}}, "temperature"),
        ({"how": {"no_such": 1}}, "no_such"),
        ({"text": "zzz"}, "zzz"),
        ({"run": "parity-lstm"}, "does not write"),
        ({"run": "nobody"}, "nobody"),
    ]:
        answer = client.post("/api/write", json=question | change)
        assert answer.status_code == 422
        assert word in answer.json()["problem"]["en"] and answer.json()["problem"]["zh"]


def test_no_more_is_asked_for_than_is_written_here():
    client = TestClient(make_app())
    (longest,) = (one for one in client.get("/api/write").json()["options"] if one["name"] == "max_new")
    assert (longest["low"], longest["high"]) == (1, generation.LONGEST)
    question = {"run": "induction-gpt", "text": "t g w b", "step": 0}
    for wanted in (0, generation.LONGEST + 1):
        problem = client.post("/api/write", json=question | {"how": {"max_new": wanted}}).json()["problem"]
        assert problem["option"] == "max_new" and f"from 1 to {generation.LONGEST}" in problem["en"]


def test_a_text_that_ends_because_the_model_is_full_says_so():
    run = run_registry.open_run("induction-gpt").run
    most, step = run.model.config.max_len, run.snapshots[-1].step
    for tokens, full in ((most - 3, most), (5, None)):
        asked = generation.prompt_of(run, "t " * tokens, 0)
        header, _ = payload.unpack(generation.written(run, asked, step, {"max_new": 20}))
        assert header["full"] == full and len(header["texts"][0]["tokens"]) == (3 if full else 20)


def test_several_tokens_may_end_a_text():
    rows = torch.tensor([[5, 6, 3, 0], [5, 4, 0, 0], [5, 6, 7, 8]])
    signs = generation.SpecialTokens(1, (3, 4), 0)
    texts = generation.texts_of(core.decoding.GenerationResult(rows, torch.zeros(3)), signs)
    assert texts == [[5, 6, 3], [5, 4], [5, 6, 7, 8]]


def test_of_a_long_prompt_only_the_rows_that_are_sent_are_held(monkeypatch):
    run = run_registry.open_run("induction-gpt").run
    asked, held = generation.prompt_of(run, " ".join("tgwb" * 32), 0), []
    monkeypatch.setattr(generation, "attention_of", lambda tape: held.extend(tape.values()) or {})
    generation.written(run, asked, run.snapshots[-1].step, {"max_new": 3})
    assert [tuple(rows.shape) for rows in held] == [(4, 3, 130)] * 2
    assert all(rows.untyped_storage().nbytes() == rows.nbytes for rows in held), "the rest of each map is freed"


def test_a_prompt_may_be_as_long_as_can_be_shown_and_leaves_room_to_write():
    model = {"n_layers": 1, "n_heads": 1, "d_model": 8, "d_ff": 8, "max_len": 2000}
    long = Run(make_recipe("gpt", "induction", model=model))
    assert generation.prompt_of(long, "t " * LONGEST, 0).ids.shape[1] == LONGEST
    run = run_registry.open_run("induction-gpt").run
    most = run.model.config.max_len
    assert generation.prompt_of(run, "t " * (most - 1), 0).ids.shape[1] == most - 1
    for whose, tokens, words in ((long, LONGEST + 1, str(LONGEST)), (run, most, "no room is left to write")):
        with pytest.raises(core.InputError, match=words) as refused:
            generation.prompt_of(whose, "t " * tokens, 0)
        assert chinese(refused.value)


@pytest.mark.parametrize("option", ["\ud800", "a\udfff"])
def test_an_option_that_is_no_text_is_refused_with_a_sentence(option):
    client, asked = TestClient(make_app()), {"run": "characters-gru", "text": "the ", "step": 0, "how": {option: 1}}
    for path, body in (
        ("write", asked),
        ("build/plan", {"family": "gpt", "options": {option: 1}}),
        ("look", {"run": "characters-gru", option: 1, "text": [option]}),
        ("look", {"run": option, "text": "a"}),
    ):
        headers = {"content-type": "application/json"}
        answer = client.post(f"/api/{path}", content=json.dumps(body), headers=headers)
        assert answer.status_code == 422 and answer.json()["problem"]["zh"]
    assert "\\ud" in client.post("/api/write", content=json.dumps(asked), headers=headers).json()["problem"]["option"]
