"""The heads of one model that are most similar to a head of another."""

import numpy as np
import pytest

from app import payload
from app.service.inputs import input_from_text
from app.service.runs import run_registry
from core.analysis.head_similarity import SIMILAR
from tests.app.checkpoints.small_checkpoints import post

MINILM = "checkpoint:all-MiniLM-L6-v2"


def test_the_previous_token_head_of_a_toy_is_found_in_minilm(client):
    toy = run_registry.open_run("induction-gpt").run
    request = {"run": "induction-gpt", "text": "t g w b n h c s t g w b n h c s", "step": toy.snapshots[-1].step}
    answer = client.post("/api/like", json={**request, "point": "blocks.0.attn", "head": 3, "where": MINILM})
    header, arrays = payload.unpack(answer.content)
    best = header["best"][0]
    assert (best["group"], best["layer"], best["head"]) == ("blocks", 0, 2) and best["likeness"] > SIMILAR
    assert header["left_out"] == ["[CLS]", "[SEP]"] and header["of"]["left_out"] == [] and header["heads"] == 72
    similarities = [entry["likeness"] for entry in header["best"]]
    assert len(similarities) == 5 and similarities == sorted(similarities, reverse=True)
    run = run_registry.open_run(MINILM).run
    (tape,) = run.replay(*input_from_text(run, request["text"]).batch.inputs, "blocks.0.attn.weights")
    np.testing.assert_allclose(arrays["best0.weights"], tape["blocks.0.attn.weights"][0, 2], atol=1e-6)
    inner = tape["blocks.0.attn.weights"][0, 2, 1:-1, 1:-1]
    assert best["profile"]["previous"] == pytest.approx(float(inner.diagonal(-1).mean()), abs=1e-5)


def test_a_head_is_not_compared_with_itself(client):
    toy = run_registry.open_run("induction-gpt").run
    request = {"run": "induction-gpt", "text": "t g w b n h c s t g w b n h c s", "point": "blocks.1.attn"}
    for head in range(4):
        body = {**request, "head": head, "where": "induction-gpt"}
        now, _ = payload.unpack(client.post("/api/like", json={**body, "step": toy.snapshots[-1].step}).content)
        assert (1, head) not in [(entry["layer"], entry["head"]) for entry in now["best"]] and now["heads"] == 7
        before, _ = payload.unpack(client.post("/api/like", json={**body, "step": toy.snapshots[-2].step}).content)
        assert before["heads"] == 8, "the same head at a later step counts"


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
def test_invalid_requests_are_refused_with_a_sentence(client, changes, words):
    toy = run_registry.open_run("induction-gpt").run
    body = {
        "run": "induction-gpt", "text": "t g w b t g w b", "step": toy.snapshots[-1].step,
        "point": "blocks.0.attn", "head": 0, "where": "induction-gpt", **changes,
    }  # fmt: skip
    answer = post(client, "like", **body)
    assert words in answer["problem"]["en"] and answer["problem"]["zh"]
