"""Checkpoints as runs: the values shown are those that transformers computes."""

import numpy as np
import pytest
import torch
import transformers

from app.service import positions
from app.service.checkpoints import checkpoint_runs
from app.service.generation import answers, generation
from app.service.inputs import held_out_input, input_from_text
from app.service.runs import run_registry
from app.service.snapshot_arrays import collect_arrays
from core import InputError
from tests.app.checkpoints import small_checkpoints
from tests.app.sent_arrays import sent_arrays
from tests.words import chinese

MINILM = "checkpoint:all-MiniLM-L6-v2"
SENTENCES = ["The animal didn't cross the street because it was too tired.", "a b c a b c", "你好，世界。"]


def test_the_real_bert_shows_what_transformers_computes(root):
    location = checkpoint_runs.location_of(MINILM)
    theirs = transformers.AutoModel.from_pretrained(location.folder, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(location.folder)
    run = run_registry.open_run(MINILM).run
    for text in SENTENCES:
        problem = input_from_text(run, text)
        ids = tokenizer(text, return_tensors="pt")
        assert problem.ids.tolist() == ids["input_ids"][0].tolist()
        with torch.no_grad():
            expected = theirs(**ids, output_attentions=True, output_hidden_states=True)
        header, arrays = sent_arrays(collect_arrays(run, problem))
        (heads,) = header["heads"]
        assert heads["shape"] == [1, 6, 12, len(problem.source), len(problem.source)]
        weights = torch.stack(expected.attentions)[:, 0].numpy()
        np.testing.assert_allclose(arrays["blocks.weights"][0], weights, atol=1e-4)
        hidden = run.replay(*problem.batch.inputs, "*.resid_out", "logits")[0]
        np.testing.assert_allclose(hidden["logits"], expected.last_hidden_state, atol=1e-4)


def test_two_texts_are_a_pair_with_segments(root):
    run = run_registry.open_run(MINILM).run
    location = checkpoint_runs.location_of(MINILM)
    tokenizer = transformers.AutoTokenizer.from_pretrained(location.folder)
    expected = tokenizer("a man plays", "it is music")
    ids, _, segments = input_from_text(run, "a man plays [SEP] it is music").batch.inputs
    assert ids[0].tolist() == expected["input_ids"] and segments[0].tolist() == expected["token_type_ids"]
    with pytest.raises(InputError, match="at most two"):
        input_from_text(run, "one [SEP] two [SEP] three")


@pytest.mark.parametrize("form", small_checkpoints.HEADS)
def test_every_head_is_shown_in_its_own_form(root, form):
    theirs = small_checkpoints.bert(root / "org" / form, form)
    name = f"checkpoint:org/{form}"
    metadata, run = run_registry.run_metadata(name), run_registry.open_run(name).run
    assert metadata["form"] == form and run.task.forms == (form,)
    assert metadata["snapshots"] == [0] and metadata["steps"] == []
    assert metadata["accuracy"] is None and metadata["seed"] is None
    problem = held_out_input(run, 0)
    answer = collect_arrays(run, problem).predictions[0]
    with torch.no_grad():
        inputs = {"input_ids": problem.ids[None], "token_type_ids": problem.batch.inputs[2]}
        logits = None if form in ("none", "answer") else theirs(**inputs).logits[0]
    if form == "masked":
        position = run.task.show(problem.ids.tolist()).index("[MASK]")
        assert answer["places"] == [position] and answer["said"] == [
            dict.fromkeys(("en", "zh"), run.task.tokens[int(logits[position].argmax())])
        ]
        assert answer["shares"][0] == pytest.approx(float(logits[position].softmax(-1).max()), abs=1e-5)
    elif form == "label":
        assert answer["shares"] == [pytest.approx(float(logits.softmax(-1).max()), abs=1e-5)]
    elif form == "tags":
        assert len(answer["said"]) == len(problem.source)
        np.testing.assert_allclose(answer["shares"], logits.softmax(-1).amax(-1), atol=1e-5)
    else:
        assert answer["said"] == []


def test_masks_are_filled_as_transformers_fills_them(client, root):
    theirs, name = small_checkpoints.bert(root / "small", "masked"), "checkpoint:small"
    run = run_registry.open_run(name).run
    text = "the [MASK] of France is [MASK]"
    header = answers.answer(run, input_from_text(run, text), 0).header
    ids = input_from_text(run, text).batch.inputs[0]
    with torch.no_grad():
        shares = theirs(ids).logits[0].softmax(-1)
    positions_of_masks = (ids[0] == run.task.ids["[MASK]"]).nonzero().squeeze(1).tolist()
    assert [hole["place"] for hole in header["holes"]] == positions_of_masks
    for hole in header["holes"]:
        best = shares[hole["place"]].topk(len(hole["words"]))
        np.testing.assert_allclose(hole["shares"], best.values, atol=1e-5)
        assert hole["words"][0] == run.task.tokens[int(best.indices[0])]


@pytest.mark.parametrize("form", ["label", "tags", "answer", "masked"])
def test_every_kind_of_answer_is_given(client, root, form):
    small_checkpoints.bert(root / form, form)
    run = run_registry.open_run(f"checkpoint:{form}").run
    assert answers.answer(run, held_out_input(run, 0), 0).header["form"] == form


@pytest.mark.parametrize("family", ["gpt2", "t5"])
def test_what_a_checkpoint_writes_is_what_transformers_writes(root, family):
    theirs = getattr(small_checkpoints, family)(root / family)
    run = run_registry.open_run(f"checkpoint:{family}").run
    prompt = generation.make_prompt(run, "the capital of France", 0)
    header = generation.write(run, prompt, 0, {"max_new": 8}).header
    with torch.no_grad():
        expected = theirs.generate(prompt.ids, max_new_tokens=8, do_sample=False, pad_token_id=0)[0].tolist()
    expected = expected[1:] if family == "t5" else expected[prompt.ids.shape[1] :]
    assert header["texts"][0]["tokens"] == run.task.show(expected)
    assert header["tokens"]["length"] == 400 and len(header["tokens"]) < 400, "not the whole vocabulary"
    for step in header["steps"]:
        assert all(header["tokens"][str(i)] == run.task.tokens[i] for i in step["ids"])
    groups = {heads.name for heads in collect_arrays(run, input_from_text(run, "the capital of France")).attention}
    assert groups == ({"encoder.blocks", "decoder.blocks", "decoder.cross"} if family == "t5" else {"blocks"})


def test_its_positions_are_read_off_its_own_table(root):
    theirs = small_checkpoints.bert(root / "small")
    header, arrays = positions.learned("checkpoint:small")
    table = theirs.embeddings.position_embeddings.weight[: positions.MAX_CHECKPOINT_ROWS].detach().numpy()
    np.testing.assert_array_equal(arrays["position_embedding.table"][0], table)
    assert header["asked"] and header["checkpoint"] == {"positions": 512}
    theirs = small_checkpoints.t5(root / "t5")
    header, arrays = positions.t5_trained("checkpoint:t5")
    near = theirs.encoder.block[0].layer[0].SelfAttention.relative_attention_bias.weight[0].detach().numpy()
    np.testing.assert_allclose(arrays["encoder.position.bias"][0, :, header["offsets"].index(0)], near)


@pytest.mark.parametrize("text", ["", "  \n ", "x " * 600, "</script><b>"])
def test_inputs_it_cannot_show_raise_a_message(root, text):
    small_checkpoints.bert(root / "small")
    run = run_registry.open_run("checkpoint:small").run
    if "script" in text:
        assert input_from_text(run, text).source[0] == "[CLS]"
        return
    with pytest.raises(InputError) as error:
        input_from_text(run, text)
    assert str(error.value) and chinese(error.value)
