"""Answers in the Generate tab, compared with core, pytorch-crf and formulas by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import torchcrf

import core
from app.service.generation import answers
from app.service.inputs import held_out_input, input_from_text
from app.service.runs import run_registry
from core.runs.recipes import make_recipe
from core.runs.run import Run
from tests.words import chinese

REPORT = "Disney Group hired Paris on 28 September 2020."


def answer(name: str, text: str | None = None, masks: list[int] | None = None, index: int = 3):
    run = run_registry.open_run(name).run
    model_input = held_out_input(run, index) if text is None else input_from_text(run, text)
    result = answers.answer(run, model_input, run.snapshots[-1].step, masks)
    return run, model_input, result.header, result.arrays


@pytest.fixture(scope="module")
def their_crf() -> torchcrf.CRF:
    ours = run_registry.open_run("entities-crf").run.model.head.crf
    theirs = torchcrf.CRF(len(ours.start), batch_first=True)
    theirs.start_transitions.data, theirs.end_transitions.data = ours.start.data, ours.end.data
    theirs.transitions.data = ours.transition.data
    return theirs


@pytest.mark.parametrize("text", [REPORT, None])
def test_tags_are_those_of_another_crf(their_crf, text):
    run, model_input, header, arrays = answer("entities-crf", text)
    with torch.no_grad():
        emissions = run.model(*model_input.batch.inputs).logits
        np.testing.assert_allclose(arrays["emissions"], emissions[0], atol=1e-5)
        assert [header["path"]] == their_crf.decode(emissions)
        for which, tags in (("path", header["path"]), ("alone", emissions[0].argmax(-1).tolist())):
            score, log_likelihood = header["crf"][which], their_crf(emissions, torch.tensor([tags])).item()
            assert header[which] == tags
            assert score["share"] == pytest.approx(np.exp(log_likelihood), abs=1e-5)
            assert score["score"] == pytest.approx(score["emitted"] + score["moved"], abs=1e-4)
        path, alone = header["crf"]["path"], header["crf"]["alone"]
        difference = their_crf(emissions, torch.tensor([header["path"]])) - their_crf(
            emissions, torch.tensor([header["alone"]])
        )
        assert path["score"] - alone["score"] == pytest.approx(difference.item(), abs=1e-4)


def test_marginals_are_sums_over_all_paths():
    run, model_input, _, arrays = answer("entities-crf", "Paris met Anna")
    emissions, crf = run.model(*model_input.batch.inputs).logits[0].detach(), run.model.head.crf
    weights = torch.zeros(emissions.shape, dtype=torch.double)
    for path in itertools.product(range(emissions.shape[1]), repeat=3):
        score = crf.start[path[0]] + crf.end[path[-1]] + sum(emissions[t, tag] for t, tag in enumerate(path))
        score = score + crf.transition[path[0], path[1]] + crf.transition[path[1], path[2]]
        for t, tag in enumerate(path):
            weights[t, tag] += score.detach().exp()
    np.testing.assert_allclose(arrays["shares"], weights / weights.sum(1, keepdim=True), atol=1e-5)


def test_the_table_of_transitions_has_start_and_end_and_marks_illegal_ones():
    run, _, header, arrays = answer("entities-crf", REPORT)
    crf, names = run.model.head.crf, [str(name) for name in run.task.label_names]
    np.testing.assert_allclose(arrays["transitions"][:-1, :-1], crf.transition.detach())
    np.testing.assert_allclose(arrays["transitions"][-1, :-1], crf.start.detach())
    np.testing.assert_allclose(arrays["transitions"][:-1, -1], crf.end.detach())
    for i, before in enumerate([*names, "start"]):
        for j, after in enumerate([*names, "end"]):
            fine = not after.startswith("I-") or before in (after, f"B-{after[2:]}")
            assert bool(arrays["legal"][i, j]) == fine, (before, after)
    # What the lead of the run says: Paris by itself would go on with a firm that has not begun.
    assert [names[tag] for tag in header["alone"]][3] == "I-ORG" and names[header["path"][3]] == "B-PER"
    assert header["crf"]["broken"] == [3] and header["path"] == header["right"]


def test_spans_score_as_the_formula_says():
    run, model_input, header, arrays = answer("nested-bert", "the head of the bank of Paris met Anna Ford.")
    with torch.no_grad(), core.capture(run.model, "*pointer*") as tape:
        run.model(*model_input.batch.inputs)
    q, k = (next(tape[name][0] for name in tape.names() if name.endswith(end)) for end in (".q", ".k"))
    scores = torch.einsum("tid,tjd->tij", q, k) / q.shape[-1] ** 0.5
    forwards = torch.ones(scores.shape[1:]).triu().bool().expand_as(scores)
    assert (torch.tensor(arrays["can"]).bool() == forwards).all()
    np.testing.assert_allclose(arrays["scores"][forwards], scores[forwards], atol=1e-4)
    assert header["found"] == ((scores > 0) & forwards).nonzero().tolist() == header["right"]
    words = {" ".join(header["tokens"][start : end + 1]): kind for kind, start, end in header["found"]}
    assert words == {"the head of the bank of Paris": 0, "Anna Ford": 0, "Paris": 1, "the bank of Paris": 2}


def test_the_answer_to_a_question_is_the_best_of_all_pairs():
    run = Run(make_recipe("bert", "questions", model={"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16}), 0)
    run.model.eval()
    model_input = held_out_input(run, 2)
    result = answers.answer(run, model_input, 0)
    header, arrays = result.header, result.arrays
    start, end = arrays["scores"]
    pairs = {(i, j): start[i] + end[j] for i in range(len(start)) for j in range(i, len(start))}
    total = sum(np.exp(list(pairs.values())))
    assert tuple(header["best"]) == max(pairs, key=pairs.get) == tuple(header["spans"][0]["span"])
    for one in header["spans"]:
        assert one["share"] == pytest.approx(np.exp(pairs[tuple(one["span"])]) / total, rel=1e-3)
    expected = run.task.say(model_input.batch.inputs[0][0, header["right"][0] : header["right"][1] + 1].tolist())
    assert expected in run.task.say(model_input.ids.tolist())


def test_a_classifier_is_run_on_every_prefix():
    run, model_input, header, arrays = answer("parity-lstm", "3 2 3 3 2")
    for t, length in enumerate(header["lengths"]):
        with torch.no_grad():
            shares = run.model(model_input.batch.inputs[0][:, :length]).logits[0].softmax(-1)
        np.testing.assert_allclose(arrays["shares"][t], shares, atol=1e-5)
    assert header["right"] == 1 == arrays["shares"][-1].argmax()


@torch.no_grad()
def test_of_a_long_input_as_many_prefixes_are_classified_as_the_limits_allow():
    run = run_registry.open_run("parity-lstm").run
    model_input = input_from_text(run, "2 3 " * 256)
    shapes, model = [], answers.model_at_step(run, run.snapshots[-1].step)
    model.register_forward_pre_hook(lambda _, inputs: shapes.append(inputs[0].shape))
    header, arrays = answers.class_probabilities(run, model, model_input)
    lengths = header["lengths"]
    assert lengths[-1] == 512 and lengths == sorted(set(lengths)) and sum(lengths) <= answers.MAX_PREFIX_TOKENS
    assert max(rows for rows, _ in shapes) <= answers.PREFIX_BATCH and shapes[-1][1] == 512
    shares = model(model_input.batch.inputs[0][:, : lengths[3]]).logits[0].softmax(-1)
    np.testing.assert_allclose(arrays["shares"][3], shares, atol=1e-5)
    for time in (1, 2, 12, 90, 91, 300, 5000):
        assert answers.prefix_lengths(time)[-1] == time and sum(answers.prefix_lengths(time)) <= max(
            time, answers.MAX_PREFIX_TOKENS
        )
    assert answers.prefix_lengths(90).tolist() == [*range(1, 91)]


def test_a_classifier_of_two_sentences_gets_their_segments():
    run = Run(make_recipe("bert", "next sentence", model={"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16}), 0)
    run.model.eval()
    model_input = held_out_input(run, 0)
    result = answers.answer(run, model_input, 0)
    header, arrays = result.header, result.arrays
    ids, _, segments = model_input.batch.inputs
    assert segments.any()
    for t, length in enumerate(header["lengths"]):
        with torch.no_grad():
            shares = run.model(ids[:, :length], None, segments[:, :length]).logits[0].softmax(-1)
        np.testing.assert_allclose(arrays["shares"][t], shares, atol=1e-5)


def test_any_word_can_be_masked():
    run, model_input, header, _ = answer(
        "masked-bert", "the [MASK] gave Mary an umbrella on Thursday.", [4, 8, 0, 99]
    )
    assert [hole["place"] for hole in header["holes"]] == [2, 4, 8]  # the typed one stays; [CLS] cannot be masked
    assert [hole["word"] for hole in header["holes"]] == [None, "Mary", "Thursday"]
    ids = model_input.ids.clone()
    ids[[4, 8]] = run.task.ids["[MASK]"]
    with torch.no_grad():
        shares = run.model(ids[None], *model_input.batch.inputs[1:]).logits[0].softmax(-1)
    for hole in header["holes"]:
        best = shares[hole["place"]].topk(len(hole["words"]))
        assert hole["words"] == run.task.show(best.indices.tolist())
        np.testing.assert_allclose(hole["shares"], best.values, atol=1e-5)
        if hole["word"]:
            of = shares[hole["place"]]
            assert hole["rank"] == 1 + int((of > of[run.task.ids[hole["word"]]]).sum())
    assert header["follows"] is None


def test_next_sentence_is_predicted_with_nothing_masked():
    run, model_input, header, _ = answer("masked-bert", None, [])
    assert header["holes"] == [] and "[MASK]" not in header["tokens"]
    ids = torch.tensor([[run.task.ids[token] for token in header["tokens"]]])
    with torch.no_grad():
        follows = run.model(ids, *model_input.batch.inputs[1:]).next_sentence[0].softmax(-1)
    np.testing.assert_allclose(header["follows"]["shares"], follows, atol=1e-5)
    assert header["follows"]["right"] == int(model_input.batch.next_sentence[0])


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("copy-transformer", "a b", "writes"),
        ("entities-crf", "<script>alert(1)</script>", "<"),
        ("entities-crf", "", "empty"),
        ("nobody", "a", "nobody"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_sentence(name, text, word):
    with pytest.raises(core.InputError, match=word) as error:
        answer(name, text)
    assert chinese(error.value)
