"""The maps themselves: there and back, older spellings, and errors that name the weight."""

from __future__ import annotations

import re

import pytest
import torch
import transformers
from torch import nn

import core
from core.pretrained.families import family_by_config
from core.pretrained.key_map import KeyMap, KeyMapError, to_ours, to_theirs
from tests.core.reference.equality import copy_weights, randomise

BERT_SIZES = {
    "vocab_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "hidden_size": 8,
    "intermediate_size": 32,
    "max_position_embeddings": 10,
}
OUR_SIZES = {"vocab_size": 20, "n_layers": 2, "n_heads": 2, "d_model": 8, "max_len": 10}
GPT2_SIZES = {"vocab_size": 20, "n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 10}
T5_SIZES = {"vocab_size": 20, "num_layers": 2, "num_heads": 2, "d_model": 8, "d_kv": 4, "d_ff": 32}


def bert(their_class: type = transformers.BertForPreTraining, **options) -> nn.Module:
    return randomise(their_class(transformers.BertConfig(**BERT_SIZES, **options)))


def roformer() -> nn.Module:
    return randomise(transformers.RoFormerForMaskedLM(transformers.RoFormerConfig(**BERT_SIZES)))


def gpt2(**options) -> nn.Module:
    config = transformers.GPT2Config(**GPT2_SIZES, bos_token_id=0, eos_token_id=0, **options)
    return randomise(transformers.GPT2LMHeadModel(config))


def t5(**options) -> nn.Module:
    return randomise(transformers.T5ForConditionalGeneration(transformers.T5Config(**T5_SIZES, **options)))


def ours(family: str, **options) -> nn.Module:
    return core.build(family, **OUR_SIZES, **options)


PAIRS = {
    "bert": (bert, lambda: ours("bert")),
    "bert-classifier": (
        lambda: bert(transformers.BertForSequenceClassification),
        lambda: ours("bert", head="classifier"),
    ),
    "bert-tagger": (
        lambda: bert(transformers.BertForTokenClassification),
        lambda: ours("bert", head="tagger", pooler="none"),
    ),
    "bert-qa": (
        lambda: bert(transformers.BertForQuestionAnswering),
        lambda: ours("bert", head="qa", pooler="none"),
    ),
    "roformer": (roformer, lambda: ours("roformer", pooler="none")),
    "gpt2": (gpt2, lambda: ours("gpt")),
    "gpt2-untied": (lambda: gpt2(tie_word_embeddings=False), lambda: ours("gpt", tie_embeddings=False)),
    "t5": (t5, lambda: ours("t5")),
    "t5-gated": (lambda: t5(feed_forward_proj="gated-gelu"), lambda: ours("t5", activation="geglu-tanh")),
}


def map_of(model: nn.Module) -> KeyMap:
    return family_by_config(model.config).key_map(model.config, None)


def placed(weights: dict, model: nn.Module) -> dict:
    return to_ours(weights, map_of(model), model)


@pytest.mark.parametrize("name", PAIRS)
def test_there_and_back(name):
    make_theirs, make_ours = PAIRS[name]
    theirs, model, fresh = make_theirs(), make_ours(), make_theirs()
    key_map = map_of(model)
    copy_weights(theirs, model, key_map)
    back = to_theirs(model, key_map)
    for weight in fresh.parameters():
        if weight.requires_grad:
            nn.init.zeros_(weight)
    assert not fresh.load_state_dict(back, strict=False).unexpected_keys
    for key, value in theirs.state_dict().items():
        assert torch.equal(fresh.state_dict()[key], value), key


@pytest.mark.parametrize("name", ["bert", "roformer", "gpt2", "t5", "t5-gated"])
def test_every_weight_is_needed(name):
    make_theirs, make_ours = PAIRS[name]
    model = make_ours()
    copy_weights(make_theirs(), model, map_of(model))
    weights = to_theirs(model, map_of(model))
    for missing in weights:
        with pytest.raises(KeyMapError, match=rf"Nothing fills .*{re.escape(missing)}.* is missing"):
            placed({key: value for key, value in weights.items() if key != missing}, make_ours())


def test_unmapped():
    weights = {**bert().state_dict(), "bert.encoder.adapter.weight": torch.zeros(2)}
    with pytest.raises(KeyMapError, match=r"bert\.encoder\.adapter\.weight is in no line"):
        placed(weights, ours("bert"))


def test_layer_we_do_not_have():
    with pytest.raises(KeyMapError, match=r"layer\.1\.\S+ belongs to blocks\.1\.\S+, which this model does not have"):
        placed(bert().state_dict(), core.build("bert", **{**OUR_SIZES, "n_layers": 1}))


def test_misshapen():
    model = core.build("gpt", **{**OUR_SIZES, "max_len": 11})
    with pytest.raises(
        KeyMapError, match=r"wpe\.weight gives position_embedding\.weight .*\(10, 8\); it has \(11, 8\)"
    ):
        placed(gpt2().state_dict(), model)


def test_fused_weight_of_odd_size():
    weights = gpt2().state_dict()
    weights["transformer.h.1.attn.c_attn.weight"] = torch.zeros(8, 25)
    with pytest.raises(KeyMapError, match=r"h\.1\.attn\.c_attn\.weight \(25, 8\) cannot be split into 3"):
        placed(weights, ours("gpt"))


def test_tied_in_ours_but_not_in_theirs():
    with pytest.raises(KeyMapError, match=r"lm_head\.weight and transformer\.wte\.weight should be the same"):
        placed(gpt2(tie_word_embeddings=False).state_dict(), ours("gpt"))


def test_output_table_may_be_left_out_only_if_tied():
    weights = gpt2().state_dict()
    del weights["lm_head.weight"]
    assert torch.equal(placed(weights, ours("gpt"))["head.proj.weight"], weights["transformer.wte.weight"])
    with pytest.raises(KeyMapError, match=r"Nothing fills head\.proj\.weight"):
        placed(weights, ours("gpt", tie_embeddings=False))


def test_ours_without_a_place_in_theirs():
    model = ours("roformer", position="learned", pooler="none")
    with pytest.raises(KeyMapError, match=r"position_embedding\.weight has no place"):
        to_theirs(model, map_of(model))


def test_older_spellings():
    """GPT-2 without a prefix and with its masks; BERT with gamma, beta and position ids; T5 with an unused bias."""
    new = gpt2().state_dict()
    old = {key.removeprefix("transformer."): value for key, value in new.items() if key != "lm_head.weight"}
    old["h.0.attn.bias"], old["h.0.attn.masked_bias"] = torch.ones(1, 1, 10, 10), torch.tensor(-1e4)
    _assert_same(old, new, ours("gpt"))

    new = bert().state_dict()
    spelling = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    old = {"bert.embeddings.position_ids": torch.arange(10)[None]}
    for key, value in new.items():
        for now, then in spelling.items():
            key = key.replace(now, then)
        if key != "cls.predictions.decoder.bias":
            old[key] = value
    _assert_same(old, new, ours("bert"))

    new = t5().state_dict()
    unused = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    _assert_same({**new, unused: torch.zeros(32, 2)}, new, ours("t5"))


def _assert_same(old: dict, new: dict, model: nn.Module) -> None:
    from_old, from_new = placed(old, model), placed(new, model)
    assert from_old.keys() == from_new.keys()
    assert all(torch.equal(from_old[key], from_new[key]) for key in from_new)
