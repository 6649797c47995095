"""Heads of one model that do what a head of another does."""

import numpy as np
import pytest

from app.service import payload
from app.service.inputs import typed
from app.service.runs import run_registry
from core.analysis.head_similarity import SIMILAR
from tests.app.checkpoints.small_checkpoints import post

MINILM = "checkpoint:all-MiniLM-L6-v2"


def test_the_toys_previous_token_head_is_found_in_the_real_bert(client):
    toy = run_registry.open_run("induction-gpt").run
    asked = {"run": "induction-gpt", "text": "t g w b n h c s t g w b n h c s", "step": toy.snapshots[-1].step}
    answer = client.post("/api/like", json={**asked, "point": "blocks.0.attn", "head": 3, "where": MINILM})
    header, arrays = payload.unpack(answer.content)
    best = header["best"][0]
    assert (best["group"], best["layer"], best["head"]) == ("blocks", 0, 2) and best["likeness"] > SIMILAR
    assert header["left_out"] == ["[CLS]", "[SEP]"] and header["of"]["left_out"] == [] and header["heads"] == 72
    likenesses = [one["likeness"] for one in header["best"]]
    assert len(likenesses) == 5 and likenesses == sorted(likenesses, reverse=True)
    run = run_registry.open_run(MINILM).run
    (tape,) = run.replay(*typed(run, asked["text"]).batch.inputs, "blocks.0.attn.weights")
    np.testing.assert_allclose(arrays["best.weights"][0], tape["blocks.0.attn.weights"][0, 2], atol=1e-6)
    inner = tape["blocks.0.attn.weights"][0, 2, 1:-1, 1:-1]
    assert best["profile"]["previous"] == pytest.approx(float(inner.diagonal(-1).mean()), abs=1e-5)


def test_nobody_is_told_that_a_head_is_like_itself(client):
    toy = run_registry.open_run("induction-gpt").run
    asked = {"run": "induction-gpt", "text": "t g w b n h c s t g w b n h c s", "point": "blocks.1.attn"}
    for head in range(4):
        body = {**asked, "head": head, "where": "induction-gpt"}
        now, _ = payload.unpack(client.post("/api/like", json={**body, "step": toy.snapshots[-1].step}).content)
        assert (1, head) not in [(one["layer"], one["head"]) for one in now["best"]] and now["heads"] == 7
        before, _ = payload.unpack(client.post("/api/like", json={**body, "step": toy.snapshots[-2].step}).content)
        assert before["heads"] == 8, "what became of it later is another matter"


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"point": "decoder.blocks.0.cross"}, "from the input at the input"),
        ({"head": 99}, "no such head"),
        ({"where": "parity-lstm"}, "not one of"),
        ({"where": "checkpoint:nowhere"}, "no checkpoint"),
        ({"text": "a b"}, "longer input"),
        ({"step": 999_999}, "no snapshot of step 999999"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(client, changes, words):
    toy = run_registry.open_run("induction-gpt").run
    body = {
        "run": "induction-gpt", "text": "t g w b t g w b", "step": toy.snapshots[-1].step,
        "point": "blocks.0.attn", "head": 0, "where": "induction-gpt", **changes,
    }  # fmt: skip
    answer = post(client, "like", **body)
    assert words in answer["problem"]["en"] and answer["problem"]["zh"]
