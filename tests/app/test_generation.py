"""The arrays and texts of the Generate tab, compared with core itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

import core
from app.main import make_app
from app.service.generation import generation
from app.service.inputs import MAX_INPUT_TOKENS
from app.service.runs import run_registry
from core.decoding import filters
from core.runs.recipes import make_recipe
from core.runs.run import Run
from tests.words import chinese

WRITERS = ["induction-gpt", "copy-transformer", "reverse-t5", "dates-bahdanau", "translation-transformer"]


def generate(name: str, index: int = 3, **how):
    run = run_registry.open_run(name).run
    prompt = generation.make_prompt(run, None, index)
    result = generation.write(run, prompt, run.snapshots[-1].step, how)
    return run, prompt, result.header, result.arrays


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("how", [{}, {"strategy": "sample", "temperature": 1.7, "top_k": 5}, {"strategy": "beam"}])
def test_texts_shares_and_attention_are_cores(name, how):
    run, prompt, header, arrays = generate(name, **how)
    model = generation.model_at_step(run, run.snapshots[-1].step)
    lengths = prompt.lengths if header["two"] else None
    written = core.generate(model, prompt.ids, lengths, **how)[0].tolist()
    ids = [run.task.tokens.index(token) for token in header["texts"][0]["tokens"]]
    assert ids == written[: len(ids)]

    with torch.no_grad(), core.capture(model, "*.weights") as tape:
        if header["two"]:
            logits = model(prompt.ids, torch.tensor([[1, *ids[:-1]]]), prompt.lengths).logits[0]
        else:
            logits = model(torch.tensor([prompt.tokens + ids[:-1]])).logits[0, len(prompt.tokens) - 1 :]
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


def test_the_scores_of_the_tree_are_sums_of_log_probabilities():
    run, prompt, header, _ = generate(
        "translation-transformer", strategy="beam", beams=3, n_best=3, length_penalty=0.0
    )
    model = generation.model_at_step(run, run.snapshots[-1].step)
    tree = header["tree"]

    def path_to(level: int, node_index: int) -> list[int]:
        node = tree[level][node_index]
        return ([] if level == 0 else path_to(level - 1, node["parent"])) + [node["id"]]

    assert [len(level) for level in tree[1:]] == [6] * (len(tree) - 1)
    for level, index in [(0, 0), (1, 2), (3, 5), (len(tree) - 1, 1)]:
        ids = path_to(level, index)
        with torch.no_grad():
            logits = model(prompt.ids, torch.tensor([[1, *ids[:-1]]]), prompt.lengths).logits[0].log_softmax(-1)
        likely = logits.gather(1, torch.tensor(ids)[:, None])[:, 0]
        assert tree[level][index]["score"] == pytest.approx(float(likely.sum()), abs=1e-3)
        assert tree[level][index]["share"] == pytest.approx(float(likely[-1].exp()), abs=1e-4)
    ended = [round(node["score"], 3) for level in tree for node in level if node["ended"]]
    assert [round(text["score"], 3) for text in header["texts"]] == sorted(ended, reverse=True)[:3]


def test_every_continued_node_has_the_distribution_of_the_next_token():
    run, prompt, header, _ = generate("translation-transformer", strategy="beam", beams=3, no_repeat=1)
    model, tree = generation.model_at_step(run, run.snapshots[-1].step), header["tree"]
    for level in tree[:-1]:
        assert [node["next"] is not None for node in level] == [node["kept"] for node in level]
    index = next(i for i, node in enumerate(tree[1]) if node["kept"])
    ids = [tree[0][tree[1][index]["parent"]]["id"], tree[1][index]["id"]]
    with torch.no_grad():
        logits = model(prompt.ids, torch.tensor([[1, *ids]]), prompt.lengths).logits[0, -1]
    allowed = torch.ones(len(logits), dtype=torch.bool)
    allowed[[1, *ids]] = False  # no token twice
    following = tree[1][index]["next"]
    np.testing.assert_allclose(following["before"], logits.softmax(-1)[following["ids"]], atol=1e-5)
    np.testing.assert_allclose(following["after"], (logits.softmax(-1) * allowed)[following["ids"]], atol=1e-5)
    assert following["left"] == int(allowed.sum()) and following["narrowed"]
    for step in header["steps"]:
        assert step["after"][step["ids"].index(step["chosen"])] > 0


@pytest.mark.parametrize("name", ["characters-gru", "dates-bahdanau"])
def test_the_gates_behind_a_token_are_the_tapes(name):
    run, prompt, header, arrays = generate(name)
    model, ids = (
        generation.model_at_step(run, run.snapshots[-1].step),
        [run.task.tokens.index(t) for t in header["texts"][0]["tokens"]],
    )
    with torch.no_grad(), core.capture(model, "*layers.*") as tape:
        if header["two"]:
            model(prompt.ids, torch.tensor([[1, *ids[:-1]]]), prompt.lengths)
        else:
            model(torch.tensor([prompt.tokens + ids[:-1]]))
    points = [point for point in tape.names() if not point.startswith("encoder")]
    assert header["cells"] and set(header["cells"]) <= set(points)
    for point in header["cells"]:
        np.testing.assert_allclose(arrays[point], tape[point][0, -len(ids) :], atol=1e-6)


def test_a_text_begins_as_in_training_and_goes_on():
    run = run_registry.open_run("characters-gru").run
    prompt = generation.make_prompt(run, "the ", 0)
    assert run.task.show(prompt.tokens) == ["<s>", "t", "h", "e", " "]
    header = generation.write(run, prompt, run.snapshots[-1].step, {"max_new": 60}).header
    text = "the " + "".join(header["texts"][0]["tokens"][:-1])
    words = set(run.task._words)
    assert header["texts"][0]["tokens"][-1] == "</s>"
    assert {word.strip(".?") for word in text.split()} <= words


def test_an_early_snapshot_writes_worse():
    run = run_registry.open_run("translation-transformer").run
    prompt = generation.make_prompt(run, "will this child steal the flower?", 0)
    first, last = (
        generation.write(run, prompt, run.snapshots[at].step, {}).header["texts"][0]["tokens"] for at in (0, -1)
    )
    assert last[:-1] == run.task.show(prompt.expected) != first[: len(prompt.expected)]


def write(name: str, text: str, how: dict | None = None) -> None:
    run = run_registry.open_run(name).run
    generation.write(run, generation.make_prompt(run, text, 0), 0, how or {})


@pytest.mark.parametrize(
    ("name", "text", "how", "word"),
    [
        ("translation-transformer", "will this child?", {"temperature": 0}, "temperature"),
        ("translation-transformer", "will this child?", {"no_such": 1}, "no_such"),
        ("translation-transformer", "zzz", {}, "zzz"),
        ("parity-lstm", "2 3", {}, "does not write"),
        ("nobody", "2 3", {}, "nobody"),
    ],
)
def test_what_cannot_be_written_is_refused_with_a_sentence(name, text, how, word):
    with pytest.raises((core.InputError, core.ConfigError), match=word) as error:
        write(name, text, how)
    assert chinese(error.value)


def test_max_new_is_limited_to_what_is_offered():
    (max_new,) = (option for option in generation.decoding_options() if option.name == "max_new")
    assert (max_new.low, max_new.high) == (1, generation.MAX_NEW_TOKENS)
    for tokens in (0, generation.MAX_NEW_TOKENS + 1):
        with pytest.raises(core.ConfigError, match=f"max_new.*from 1 to {generation.MAX_NEW_TOKENS}"):
            write("induction-gpt", "t g w b", {"max_new": tokens})


@pytest.mark.parametrize("how", [{}, {"strategy": "beam"}])
def test_the_text_so_far_is_told_while_it_is_written(how):
    run = run_registry.open_run("translation-transformer").run
    prompt, told = generation.make_prompt(run, "will this child steal the flower?", 0), []
    result = generation.write(run, prompt, run.snapshots[-1].step, how, on_tokens=told.append)
    text = result.header["texts"][0]["tokens"]
    assert [len(tokens) for tokens in told] == list(range(1, len(told) + 1)), "one token more each time"
    if not how:
        assert told == [text[:n] for n in range(1, len(text) + 1)]


def test_a_text_ended_by_max_len_says_so():
    run = run_registry.open_run("induction-gpt").run
    most, step = run.model.config.max_len, run.snapshots[-1].step
    for tokens, full in ((most - 3, most), (5, None)):
        prompt = generation.make_prompt(run, "t " * tokens, 0)
        header = generation.write(run, prompt, step, {"max_new": 20}).header
        assert header["full"] == full and len(header["texts"][0]["tokens"]) == (3 if full else 20)


def test_several_tokens_may_end_a_text():
    rows = torch.tensor([[5, 6, 3, 0], [5, 4, 0, 0], [5, 6, 7, 8]])
    special_tokens = generation.SpecialTokens(1, (3, 4), 0)
    texts = generation.trim_texts(core.decoding.GenerationResult(rows, torch.zeros(3)), special_tokens)
    assert texts == [[5, 6, 3], [5, 4], [5, 6, 7, 8]]


def test_of_a_long_prompt_only_the_rows_that_are_sent_stay_in_memory(monkeypatch):
    run = run_registry.open_run("induction-gpt").run
    prompt, rows_kept = generation.make_prompt(run, " ".join("tgwb" * 32), 0), []
    monkeypatch.setattr(generation, "stack_attention", lambda tape: rows_kept.extend(tape.values()) or {})
    generation.write(run, prompt, run.snapshots[-1].step, {"max_new": 3})
    assert [tuple(rows.shape) for rows in rows_kept] == [(4, 3, 130)] * 2
    assert all(rows.untyped_storage().nbytes() == rows.nbytes for rows in rows_kept), "the rest of each map is freed"


def test_a_prompt_may_be_as_long_as_can_be_shown_and_leaves_room_to_write():
    model = {"n_layers": 1, "n_heads": 1, "d_model": 8, "d_ff": 8, "max_len": 2000}
    long = Run(make_recipe("gpt", "induction", model=model))
    assert generation.make_prompt(long, "t " * MAX_INPUT_TOKENS, 0).ids.shape[1] == MAX_INPUT_TOKENS
    run = run_registry.open_run("induction-gpt").run
    most = run.model.config.max_len
    assert generation.make_prompt(run, "t " * (most - 1), 0).ids.shape[1] == most - 1
    for some_run, tokens, words in (
        (long, MAX_INPUT_TOKENS + 1, str(MAX_INPUT_TOKENS)),
        (run, most, "no room is left to write"),
    ):
        with pytest.raises(core.InputError, match=words) as error:
            generation.make_prompt(some_run, "t " * tokens, 0)
        assert chinese(error.value)


@pytest.mark.parametrize("option", ["\ud800", "a\udfff"])
def test_an_option_that_is_no_text_is_refused_with_a_sentence(option):
    client = TestClient(make_app())
    for path, request in (
        ("build/diagram", {"family": "gpt", "options": {option: 1}}),
        ("look", {"run": "characters-gru", option: 1, "text": [option]}),
        ("look", {"run": option, "text": "a"}),
    ):
        headers = {"content-type": "application/json"}
        answer = client.post(f"/api/{path}", content=json.dumps(request), headers=headers)
        assert answer.status_code == 422 and answer.json()["problem"]["zh"]
