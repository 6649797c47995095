"""Tiny random checkpoints as transformers saves them, one per family, variant and head."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import transformers as hf
from torch import nn

from tests.core.reference.equality import randomise

VOCABULARY, TIME, PAD_ROWS = 40, 12, 2

BERT = {
    "vocab_size": VOCABULARY, "num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32,
    "intermediate_size": 56, "max_position_embeddings": TIME + 3, "attn_implementation": "eager",
}  # fmt: skip
ROBERTA = {**BERT, "max_position_embeddings": TIME + 3 + PAD_ROWS, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
DISTILBERT = {
    "vocab_size": VOCABULARY, "n_layers": 3, "n_heads": 4, "dim": 32, "hidden_dim": 56,
    "max_position_embeddings": TIME + 3, "attn_implementation": "eager",
}  # fmt: skip
GPT2 = {
    "vocab_size": VOCABULARY, "n_layer": 3, "n_head": 4, "n_embd": 32, "n_positions": TIME + 3,
    "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0, "attn_implementation": "eager",
}  # fmt: skip
T5 = {
    "vocab_size": VOCABULARY, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4, "d_model": 32, "d_kv": 6,
    "d_ff": 56, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "n_positions": 64,
    "attn_implementation": "eager",
}  # fmt: skip


def make(kind: type, config: type, sizes: dict, **options) -> nn.Module:
    return randomise(kind(config(**{**sizes, **options})))


def untied_t5(**options) -> nn.Module:
    model = hf.T5ForConditionalGeneration(hf.T5Config(**{**T5, "tie_word_embeddings": False, **options}))
    model.lm_head.weight = nn.Parameter(torch.zeros_like(model.lm_head.weight))  # which transformers ties at first
    return randomise(model)


def _with_heads(title: str, config: type, sizes: dict, heads: list[str]) -> dict[str, Callable[[], nn.Module]]:
    return {
        title + head: partial(make, getattr(hf, title + head), config, sizes, num_labels=2 if "Quest" in head else 5)
        for head in heads
    }


ENCODER = ["Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"]
DECODER = ["Model", "LMHeadModel", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"]
CHECKPOINTS: dict[str, Callable[[], nn.Module]] = {
    **_with_heads("Bert", hf.BertConfig, BERT, [*ENCODER, "ForPreTraining"]),
    "bert, untied": partial(make, hf.BertForMaskedLM, hf.BertConfig, BERT, tie_word_embeddings=False),
    "bert, gelu_new": partial(make, hf.BertForMaskedLM, hf.BertConfig, BERT, hidden_act="gelu_new", layer_norm_eps=1e-3),
    "bert, no pooler": lambda: randomise(hf.BertModel(hf.BertConfig(**BERT), add_pooling_layer=False)),
    "bert, one segment": partial(make, hf.BertModel, hf.BertConfig, BERT, type_vocab_size=1),
    **_with_heads("Roberta", hf.RobertaConfig, ROBERTA, ENCODER),
    "roberta, untied": partial(make, hf.RobertaForMaskedLM, hf.RobertaConfig, ROBERTA, tie_word_embeddings=False),
    "roberta, pad 3": partial(make, hf.RobertaModel, hf.RobertaConfig, ROBERTA, pad_token_id=3, hidden_act="relu"),
    **_with_heads("DistilBert", hf.DistilBertConfig, DISTILBERT, ENCODER),
    "distilbert, untied": partial(make, hf.DistilBertForMaskedLM, hf.DistilBertConfig, DISTILBERT, tie_word_embeddings=False, activation="relu"),
    **_with_heads("RoFormer", hf.RoFormerConfig, BERT, ENCODER),
    "roformer, untied": partial(make, hf.RoFormerForMaskedLM, hf.RoFormerConfig, BERT, tie_word_embeddings=False),
    **_with_heads("GPT2", hf.GPT2Config, GPT2, DECODER),
    "gpt2, untied": partial(make, hf.GPT2LMHeadModel, hf.GPT2Config, GPT2, tie_word_embeddings=False, n_inner=40),
    "gpt2, base, untied": partial(make, hf.GPT2Model, hf.GPT2Config, GPT2, tie_word_embeddings=False, activation_function="relu"),
    "t5 v1.0": partial(make, hf.T5ForConditionalGeneration, hf.T5Config, T5),
    "t5, base": partial(make, hf.T5Model, hf.T5Config, T5),
    "t5 v1.1": partial(untied_t5, feed_forward_proj="gated-gelu"),
    "t5, gated, tied, not scaled": partial(make, hf.T5ForConditionalGeneration, hf.T5Config, T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "t5, untied but scaled": partial(untied_t5, feed_forward_proj="gated-silu", tie_word_embeddings=True),
}  # fmt: skip
