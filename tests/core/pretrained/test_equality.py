"""A checkpoint saved by transformers, loaded here: the same numbers. Saved here, loaded by transformers: the same again."""

from __future__ import annotations

import json

import pytest
import torch
import transformers as hf
from torch import nn

import core
from core.pretrained import inspect
from tests.core.pretrained.comparison import compare
from tests.core.pretrained.tiny import CHECKPOINTS, GPT2, T5, VOCABULARY, make
from tests.core.reference.equality import assert_equal

each_checkpoint = pytest.mark.parametrize("name", CHECKPOINTS)


# Weights that our checkpoints need not have: without tied embeddings the first two are not used; the third is computed.
RECREATED = ("predictions.bias", "lm_head.bias", "embed_positions.weight")


def assert_same_outputs(theirs: nn.Module, ours: nn.Module) -> None:
    for name, expected, value in compare(theirs, ours):
        assert_equal(value, expected, 1e-5 if name.startswith("attention") else 1e-4, name)


@each_checkpoint
def test_there_and_back(name, tmp_path):
    theirs = CHECKPOINTS[name]()
    theirs.save_pretrained(tmp_path / "theirs")
    ours, tokenizer = core.load_pretrained(tmp_path / "theirs")
    assert tokenizer is None and not ours.training
    assert_same_outputs(theirs, ours)

    core.save_pretrained(ours, tmp_path / "ours")
    back, info = type(theirs).from_pretrained(
        tmp_path / "ours", attn_implementation="eager", output_loading_info=True
    )
    assert not info["unexpected_keys"] and not info["mismatched_keys"]
    assert all(
        key.endswith(RECREATED) or (name == "bert, no pooler" and "pooler" in key) for key in info["missing_keys"]
    )
    assert_same_outputs(back, ours)
    assert_same_outputs(theirs, core.load_pretrained(tmp_path / "ours")[0])
    assert hf.AutoConfig.from_pretrained(tmp_path / "ours").model_type == theirs.config.model_type
    assert json.loads((tmp_path / "ours/config.json").read_text())["architectures"][0] in _saved_as(
        type(theirs).__name__
    )


def _saved_as(name: str) -> set[str]:
    """Base models with tied embeddings may be saved with the head that these are."""
    return {name, {"GPT2Model": "GPT2LMHeadModel", "T5Model": "T5ForConditionalGeneration"}.get(name, name)}


@each_checkpoint
def test_counts(name, tmp_path):
    theirs = CHECKPOINTS[name]()
    theirs.save_pretrained(tmp_path)
    checkpoint = inspect(tmp_path)
    ours, _ = core.load_pretrained(tmp_path)
    assert checkpoint.n_parameters == sum(weight.numel() for weight in ours.parameters())
    assert checkpoint.memory_bytes == 4 * checkpoint.n_parameters
    unused = sum(
        weight.numel()
        for key, weight in theirs.named_parameters()
        if key.endswith("embed_positions.weight")
        or (name.endswith("untied") and key.endswith((".predictions.bias", "lm_head.bias")))
    )
    assert checkpoint.n_parameters == sum(weight.numel() for weight in theirs.parameters()) - unused
    assert checkpoint.config == ours.config and checkpoint.model_type == theirs.config.model_type
    assert checkpoint.architecture == type(theirs).__name__


@pytest.mark.parametrize("name", ["BertForPreTraining", "DistilBertModel", "GPT2LMHeadModel", "t5 v1.1"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(name, dtype, tmp_path):
    CHECKPOINTS[name]().to(dtype).save_pretrained(tmp_path)
    theirs = type(CHECKPOINTS[name]()).from_pretrained(tmp_path, dtype=torch.float32, attn_implementation="eager")
    ours, _ = core.load_pretrained(tmp_path)
    assert inspect(tmp_path).dtypes == ({torch.float16: "F16", torch.bfloat16: "BF16"}[dtype],)
    assert all(weight.dtype == torch.float32 for weight in ours.parameters())
    assert_same_outputs(theirs, ours)


@pytest.mark.parametrize("name", ["BertForMaskedLM", "RobertaForMaskedLM", "GPT2LMHeadModel", "t5 v1.0"])
def test_shards(name, tmp_path):
    theirs = CHECKPOINTS[name]()
    theirs.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2 and (tmp_path / "model.safetensors.index.json").exists()
    ours, _ = core.load_pretrained(tmp_path)
    assert_same_outputs(theirs, ours)


@pytest.mark.parametrize("name", ["BertForMaskedLM", "GPT2LMHeadModel", "t5 v1.0"])
def test_tied_tables_stay_one(name, tmp_path):
    CHECKPOINTS[name]().save_pretrained(tmp_path)
    ours, _ = core.load_pretrained(tmp_path)
    stack = getattr(ours, "encoder", ours)
    assert ours.head.proj.weight is stack.token_embedding.weight
    if name.startswith("t5"):
        assert ours.decoder.token_embedding.weight is stack.token_embedding.weight


def test_a_loaded_model_can_be_trained(tmp_path):
    """Its weights are mapped privately: changing them leaves the file as it was."""
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


def test_notes_name_the_parts_that_are_missing(tmp_path):
    CHECKPOINTS["BertModel"]().save_pretrained(tmp_path / "base")
    assert "no head" in str(inspect(tmp_path / "base").notes[0])
    CHECKPOINTS["GPT2Model"]().save_pretrained(tmp_path / "gpt")
    assert "table serves" in str(inspect(tmp_path / "gpt").notes[0])
    CHECKPOINTS["BertForMaskedLM"]().save_pretrained(tmp_path / "mlm")
    assert inspect(tmp_path / "mlm").notes == ()


def test_labels_are_read(tmp_path):
    model = CHECKPOINTS["BertForSequenceClassification"]()
    model.config.id2label = dict(enumerate(["joy", "怒", "fear", "love", "none"]))
    model.save_pretrained(tmp_path)
    assert inspect(tmp_path).labels == ("joy", "怒", "fear", "love", "none")


GENERATORS = {  # in their generate, both stacks must be of one depth
    "t5": (hf.T5ForConditionalGeneration, hf.T5Config, {**T5, "num_decoder_layers": 2, "decoder_start_token_id": 3}),
    "gpt2": (hf.GPT2LMHeadModel, hf.GPT2Config, {**GPT2, "n_positions": 40, "bos_token_id": 9, "pad_token_id": None}),
}
STRATEGIES = [  # ours, theirs
    ({}, {}),
    ({"strategy": "beam", "beams": 4}, {"num_beams": 4}),
    ({"strategy": "beam", "beams": 3, "n_best": 3}, {"num_beams": 3, "num_return_sequences": 3}),
]


def generate_with_theirs(theirs: nn.Module, ids: torch.Tensor, **options) -> torch.Tensor:
    rows = theirs.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=14, do_sample=False, **options)
    return rows[:, 1 if theirs.config.is_encoder_decoder else ids.shape[1] :]


@pytest.mark.parametrize("n_ends", [1, 3])
@pytest.mark.parametrize("name", GENERATORS)
def test_texts_begin_and_end_as_the_checkpoint_says(name, n_ends, tmp_path):
    """Without ids as arguments those of the checkpoint are used, and written when the model is saved here."""
    kind, config, sizes = GENERATORS[name]
    torch.manual_seed(n_ends)
    theirs, ids = make(kind, config, {**sizes, "eos_token_id": None}).eval(), torch.randint(3, VOCABULARY, (4, 6))
    free = generate_with_theirs(theirs, ids)
    ends = free[0].unique()[:n_ends].tolist()
    theirs.config.eos_token_id = theirs.generation_config.eos_token_id = ends if n_ends > 1 else ends[0]
    theirs.save_pretrained(tmp_path / "theirs")
    ours, _ = core.load_pretrained(tmp_path / "theirs")
    core.save_pretrained(ours, tmp_path / "ours")
    again, _ = core.load_pretrained(tmp_path / "ours")
    assert again.special_tokens == ours.special_tokens
    for model in (kind.from_pretrained(tmp_path / name).eval() for name in ("theirs", "ours")):
        for our_options, their_options in STRATEGIES:
            expected = generate_with_theirs(model, ids, **their_options)
            assert until(core.generate(ours, ids, max_new=14, **our_options), ends) == until(expected, ends)
    assert until(core.generate(ours, ids, max_new=14), ends) != free.tolist()  # some do end


def until(rows: torch.Tensor, ends: list[int]) -> list[list[int]]:
    """The rows up to the first end token, without padding."""
    lengths = [next((i for i, token in enumerate(row) if token in ends), len(row)) for row in rows.tolist()]
    return [row[: length + 1] for row, length in zip(rows.tolist(), lengths, strict=True)]


def test_special_tokens_outside_of_the_vocabulary_are_ignored(tmp_path):
    kind, config, sizes = GENERATORS["gpt2"]
    make(kind, config, {**sizes, "eos_token_id": 50_256, "bos_token_id": 50_256}).save_pretrained(tmp_path)
    ours, _ = core.load_pretrained(tmp_path)
    assert (ours.special_tokens.bos, ours.special_tokens.eos, ours.special_tokens.pad) == (0, None, 0)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [7, "x", -1, 9], "pad_token_id": true}')
    ours, _ = core.load_pretrained(tmp_path)
    assert ours.special_tokens.eos == (7, 9) and ours.special_tokens.pad == 7
    assert core.generate(ours, torch.ones(1, 3, dtype=torch.long), eos=None, max_new=5).shape == (1, 5)
