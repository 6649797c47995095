"""A checkpoint saved by transformers, loaded here: the same numbers. Saved here, loaded by transformers: the same again."""

from __future__ import annotations

import json

import pytest
import torch
import transformers as hf
from torch import nn

import core
from core.pretrained import inspect
from tests.core.pretrained.tiny import CHECKPOINTS, compared
from tests.core.reference.equality import assert_equal

each_checkpoint = pytest.mark.parametrize("name", CHECKPOINTS)


# Of an untied table, the first two are never used; the third is computed.
MADE_ANEW = ("predictions.bias", "lm_head.bias", "embed_positions.weight")


def assert_alike(theirs: nn.Module, ours: nn.Module) -> None:
    for what, expected, found in compared(theirs, ours):
        assert_equal(found, expected, 1e-5 if what.startswith("attention") else 1e-4, what)


@each_checkpoint
def test_there_and_back(name, tmp_path):
    theirs = CHECKPOINTS[name]()
    theirs.save_pretrained(tmp_path / "theirs")
    ours, tokenizer = core.load_pretrained(tmp_path / "theirs")
    assert tokenizer is None and not ours.training
    assert_alike(theirs, ours)

    core.save_pretrained(ours, tmp_path / "ours")
    back, told = type(theirs).from_pretrained(
        tmp_path / "ours", attn_implementation="eager", output_loading_info=True
    )
    assert not told["unexpected_keys"] and not told["mismatched_keys"]
    assert all(
        key.endswith(MADE_ANEW) or (name == "bert, no pooler" and "pooler" in key) for key in told["missing_keys"]
    )
    assert_alike(back, ours)
    assert_alike(theirs, core.load_pretrained(tmp_path / "ours")[0])
    saved, told = hf.AutoConfig.from_pretrained(tmp_path / "ours"), theirs.config
    assert saved.model_type == told.model_type
    assert json.loads((tmp_path / "ours/config.json").read_text())["architectures"][0] in _same(type(theirs).__name__)


def _same(name: str) -> set[str]:
    """Base models whose table serves as their head are saved with it."""
    return {name, {"GPT2Model": "GPT2LMHeadModel", "T5Model": "T5ForConditionalGeneration"}.get(name, name)}


@each_checkpoint
def test_counts(name, tmp_path):
    theirs = CHECKPOINTS[name]()
    theirs.save_pretrained(tmp_path)
    told = inspect(tmp_path)
    ours, _ = core.load_pretrained(tmp_path)
    assert told.n_parameters == sum(weight.numel() for weight in ours.parameters())
    assert told.memory_bytes == 4 * told.n_parameters
    unused = sum(
        weight.numel()
        for key, weight in theirs.named_parameters()
        if key.endswith("embed_positions.weight")
        or (name.endswith("untied") and key.endswith((".predictions.bias", "lm_head.bias")))
    )
    assert told.n_parameters == sum(weight.numel() for weight in theirs.parameters()) - unused
    assert told.config == ours.config and told.model_type == theirs.config.model_type
    assert told.architecture == type(theirs).__name__


@pytest.mark.parametrize("name", ["BertForPreTraining", "DistilBertModel", "GPT2LMHeadModel", "t5 v1.1"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(name, dtype, tmp_path):
    CHECKPOINTS[name]().to(dtype).save_pretrained(tmp_path)
    theirs = type(CHECKPOINTS[name]()).from_pretrained(tmp_path, dtype=torch.float32, attn_implementation="eager")
    ours, _ = core.load_pretrained(tmp_path)
    assert inspect(tmp_path).dtypes == ({torch.float16: "F16", torch.bfloat16: "BF16"}[dtype],)
    assert all(weight.dtype == torch.float32 for weight in ours.parameters())
    assert_alike(theirs, ours)


@pytest.mark.parametrize("name", ["BertForMaskedLM", "RobertaForMaskedLM", "GPT2LMHeadModel", "t5 v1.0"])
def test_shards(name, tmp_path):
    theirs = CHECKPOINTS[name]()
    theirs.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2 and (tmp_path / "model.safetensors.index.json").exists()
    ours, _ = core.load_pretrained(tmp_path)
    assert_alike(theirs, ours)


@pytest.mark.parametrize("name", ["BertForMaskedLM", "GPT2LMHeadModel", "t5 v1.0"])
def test_tied_tables_stay_one(name, tmp_path):
    CHECKPOINTS[name]().save_pretrained(tmp_path)
    ours, _ = core.load_pretrained(tmp_path)
    stack = getattr(ours, "encoder", ours)
    assert ours.head.proj.weight is stack.token_embedding.weight
    if name.startswith("t5"):
        assert ours.decoder.token_embedding.weight is stack.token_embedding.weight


def test_a_loaded_model_can_be_trained(tmp_path):
    """Its weights are its own: changing them leaves the file as it was."""
    CHECKPOINTS["BertForSequenceClassification"]().save_pretrained(tmp_path)
    before = (tmp_path / "model.safetensors").read_bytes()
    ours, _ = core.load_pretrained(tmp_path)
    optimiser = torch.optim.AdamW(ours.parameters(), lr=1e-2)
    ids = torch.randint(1, 40, (8, 6))
    losses = []
    for _ in range(20):
        loss = ours.head.loss(ours(ids).logits, torch.arange(8) % 5)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
    assert (tmp_path / "model.safetensors").read_bytes() == before


def test_what_is_not_in_it_is_told(tmp_path):
    CHECKPOINTS["BertModel"]().save_pretrained(tmp_path / "base")
    assert "no head" in inspect(tmp_path / "base").notes[0].en
    CHECKPOINTS["GPT2Model"]().save_pretrained(tmp_path / "gpt")
    assert "table serves" in inspect(tmp_path / "gpt").notes[0].en
    CHECKPOINTS["BertForMaskedLM"]().save_pretrained(tmp_path / "mlm")
    assert inspect(tmp_path / "mlm").notes == ()


def test_labels_are_told(tmp_path):
    model = CHECKPOINTS["BertForSequenceClassification"]()
    model.config.id2label = dict(enumerate(["joy", "怒", "fear", "love", "none"]))
    model.save_pretrained(tmp_path)
    assert inspect(tmp_path).labels == ("joy", "怒", "fear", "love", "none")
