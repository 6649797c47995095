"""The heads of one model that are most similar to a head of another."""

from typing import Any

import numpy as np
import pytest

from app.i18n import in_all_languages
from app.service.inputs import input_from_text
from app.service.runs import run_registry
from app.service.similar_heads import Comparison, compare_heads
from app.tabs.similar_heads import head_profiles, search
from core import InputError
from core.analysis.head_similarity import SIMILAR

MINILM = "checkpoint:all-MiniLM-L6-v2"
TEXT = "t g w b n h c s t g w b n h c s"
LAST = 10**9  # any step beyond stands for the last


def compare(point: str, head: int, where: str, text: str = TEXT, step: int = LAST) -> Comparison:
    toy, other = run_registry.open_run("induction-gpt").run, run_registry.open_run(where).run
    step = toy.snapshots[-1].step if step == LAST else step
    candidates = head_profiles(where, text)
    names = ("induction-gpt", where)
    return compare_heads(toy, input_from_text(toy, text), step, point, head, other, candidates, names)


def test_the_previous_token_head_of_a_toy_is_found_in_minilm():
    found = compare("blocks.0.attn", 3, MINILM)
    best = found.best[0]
    assert (best["group"], best["layer"], best["head"]) == ("blocks", 0, 2) and best["likeness"] > SIMILAR
    assert found.left_out == ["[CLS]", "[SEP]"] and found.of["left_out"] == [] and found.heads == 72
    similarities = [entry["likeness"] for entry in found.best]
    assert len(similarities) == 5 and similarities == sorted(similarities, reverse=True)
    run = run_registry.open_run(MINILM).run
    (tape,) = run.replay(*input_from_text(run, TEXT).batch.inputs, "blocks.0.attn.weights")
    drawn = found.cards["best0"].arrays()["best0.weights"].values
    np.testing.assert_allclose(drawn, tape["blocks.0.attn.weights"][0, 2], atol=1e-6)
    inner = tape["blocks.0.attn.weights"][0, 2, 1:-1, 1:-1]
    assert best["profile"]["previous"] == pytest.approx(float(inner.diagonal(-1).mean()), abs=1e-5)


def test_a_head_is_not_compared_with_itself():
    toy = run_registry.open_run("induction-gpt").run
    for head in range(4):
        now = compare("blocks.1.attn", head, "induction-gpt")
        assert (1, head) not in [(entry["layer"], entry["head"]) for entry in now.best] and now.heads == 7
        before = compare("blocks.1.attn", head, "induction-gpt", step=toy.snapshots[-2].step)
        assert before.heads == 8, "the same head at a later step counts"


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
def test_questions_without_an_answer_are_refused_with_a_sentence(changes: dict[str, Any], words: str):
    asked = {"point": "blocks.0.attn", "head": 0, "where": "induction-gpt", "text": "t g w b t g w b", **changes}
    with pytest.raises(InputError) as refused:
        compare(**asked)
    sentences = in_all_languages(refused.value.text)
    assert words in sentences["en"] and sentences["zh"] != sentences["en"]


def test_what_loads_in_no_time_is_loaded_without_a_question():
    *_, last = search(MINILM, "")
    assert last[-1]["state"] == {"similarIn": MINILM, "similarOpen": True}
