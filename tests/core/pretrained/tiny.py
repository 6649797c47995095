"""Tiny random checkpoints as transformers saves them, one per family, variant and head."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import transformers as hf
from torch import Tensor, nn

import core
from tests.core.reference.equality import padded_batch, randomise

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
    model.lm_head.weight = nn.Parameter(
        torch.zeros_like(model.lm_head.weight)
    )  # tied until a checkpoint says otherwise
    return randomise(model)


def _each(title: str, config: type, sizes: dict, heads: list[str]) -> dict[str, Callable[[], nn.Module]]:
    return {
        title + head: partial(make, getattr(hf, title + head), config, sizes, num_labels=2 if "Quest" in head else 5)
        for head in heads
    }


ENCODER = ["Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"]
DECODER = ["Model", "LMHeadModel", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"]
CHECKPOINTS: dict[str, Callable[[], nn.Module]] = {
    **_each("Bert", hf.BertConfig, BERT, [*ENCODER, "ForPreTraining"]),
    "bert, untied": partial(make, hf.BertForMaskedLM, hf.BertConfig, BERT, tie_word_embeddings=False),
    "bert, gelu_new": partial(make, hf.BertForMaskedLM, hf.BertConfig, BERT, hidden_act="gelu_new", layer_norm_eps=1e-3),
    "bert, no pooler": lambda: randomise(hf.BertModel(hf.BertConfig(**BERT), add_pooling_layer=False)),
    "bert, one segment": partial(make, hf.BertModel, hf.BertConfig, BERT, type_vocab_size=1),
    **_each("Roberta", hf.RobertaConfig, ROBERTA, ENCODER),
    "roberta, untied": partial(make, hf.RobertaForMaskedLM, hf.RobertaConfig, ROBERTA, tie_word_embeddings=False),
    "roberta, pad 3": partial(make, hf.RobertaModel, hf.RobertaConfig, ROBERTA, pad_token_id=3, hidden_act="relu"),
    **_each("DistilBert", hf.DistilBertConfig, DISTILBERT, ENCODER),
    "distilbert, untied": partial(make, hf.DistilBertForMaskedLM, hf.DistilBertConfig, DISTILBERT, tie_word_embeddings=False, activation="relu"),
    **_each("RoFormer", hf.RoFormerConfig, BERT, ENCODER),
    "roformer, untied": partial(make, hf.RoFormerForMaskedLM, hf.RoFormerConfig, BERT, tie_word_embeddings=False),
    **_each("GPT2", hf.GPT2Config, GPT2, DECODER),
    "gpt2, untied": partial(make, hf.GPT2LMHeadModel, hf.GPT2Config, GPT2, tie_word_embeddings=False, n_inner=40),
    "gpt2, base, untied": partial(make, hf.GPT2Model, hf.GPT2Config, GPT2, tie_word_embeddings=False, activation_function="relu"),
    "t5 v1.0": partial(make, hf.T5ForConditionalGeneration, hf.T5Config, T5),
    "t5, base": partial(make, hf.T5Model, hf.T5Config, T5),
    "t5 v1.1": partial(untied_t5, feed_forward_proj="gated-gelu"),
    "t5, gated, tied, not scaled": partial(make, hf.T5ForConditionalGeneration, hf.T5Config, T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "t5, untied but scaled": partial(untied_t5, feed_forward_proj="gated-silu", tie_word_embeddings=True),
}  # fmt: skip


def compared(theirs: nn.Module, ours: nn.Module) -> list[tuple[str, Tensor, Tensor]]:
    """All that both sides can tell of the same padded input: (what, theirs, ours)."""
    with torch.no_grad():
        return (_of_pairs if theirs.config.model_type == "t5" else _of_sequences)(theirs.eval(), ours)


def _of_sequences(theirs: nn.Module, ours: nn.Module) -> list[tuple[str, Tensor, Tensor]]:
    ids, lengths, valid = padded_batch(5, TIME, VOCABULARY)
    pad = theirs.config.pad_token_id = theirs.config.pad_token_id or 0
    ids = torch.where(valid, torch.where(ids == pad, 5, ids), pad)  # RoBERTa counts the tokens that are not padding
    segments = {}
    if getattr(ours.config, "n_segments", 0) > 1:
        segments = {"segments": (torch.arange(TIME) >= lengths[:, None] // 2).long()}
    theirs_segments = {"token_type_ids": segments["segments"]} if segments else {}
    expected = theirs(
        ids, attention_mask=valid.long(), output_attentions=True, output_hidden_states=True, **theirs_segments
    )
    plain = ours(ids, lengths, **segments)
    with core.capture(ours) as tape:
        out = ours(ids, lengths, **segments)
    pairs = [("fused hidden", expected.hidden_states[-1][valid], plain.hidden[valid])]
    pairs += [
        (f"attention {i}", weights.transpose(1, 2)[valid], tape[f"blocks.{i}.attn.weights"].transpose(1, 2)[valid])
        for i, weights in enumerate(expected.attentions)
    ]
    pairs += [
        (f"hidden {i}", hidden[valid], tape[f"blocks.{i}.resid_in"][valid])
        for i, hidden in enumerate(expected.hidden_states[:-1])
    ]
    pairs += [("hidden", expected.hidden_states[-1][valid], out.hidden[valid])]
    pairs += list(_answers(expected, plain, valid)) + list(_answers(expected, out, valid))
    assert len([what for what, _, _ in pairs if what.startswith("attention")]) == ours.config.n_layers
    return pairs


def _answers(expected, out, valid: Tensor):
    if (pooled := getattr(expected, "pooler_output", None)) is not None and out.pooled is not None:
        yield "pooled", pooled, out.pooled
    if (tokens := getattr(expected, "prediction_logits", None)) is not None:
        yield "masked tokens", tokens[valid], out.logits[valid]
        yield "next sentence", expected.seq_relationship_logits, out.next_sentence
    if (logits := getattr(expected, "logits", None)) is not None:
        yield "logits", *((logits, out.logits) if logits.dim() == 2 else (logits[valid], out.logits[valid]))
    if (start := getattr(expected, "start_logits", None)) is not None:
        yield "start", start[valid], out.logits[:, 0][valid]
        yield "end", expected.end_logits[valid], out.logits[:, 1][valid]


def _of_pairs(theirs: nn.Module, ours: nn.Module) -> list[tuple[str, Tensor, Tensor]]:
    src, src_lengths, src_valid = padded_batch(4, 20, VOCABULARY, seed=1)
    tgt, tgt_lengths, tgt_valid = padded_batch(4, 17, VOCABULARY, seed=2)
    expected = theirs(
        src, attention_mask=src_valid.long(), decoder_input_ids=tgt, decoder_attention_mask=tgt_valid.long(),
        output_attentions=True, output_hidden_states=True,
    )  # fmt: skip
    plain = ours(src, tgt, src_lengths, tgt_lengths)
    with core.capture(ours) as tape:
        out = ours(src, tgt, src_lengths, tgt_lengths)
    pairs = [("hidden", expected.decoder_hidden_states[-1][tgt_valid], out.hidden[tgt_valid])]
    pairs += [("fused hidden", expected.decoder_hidden_states[-1][tgt_valid], plain.hidden[tgt_valid])]
    if hasattr(expected, "logits"):
        pairs += [("logits", expected.logits[tgt_valid], some.logits[tgt_valid]) for some in (plain, out)]
    for layers, point, valid in [
        (expected.encoder_attentions, "encoder.blocks.{}.attn.weights", src_valid),
        (expected.decoder_attentions, "decoder.blocks.{}.attn.weights", tgt_valid),
        (expected.cross_attentions, "decoder.blocks.{}.cross.weights", tgt_valid),
    ]:
        assert len(layers) in (2, 3)
        for i, weights in enumerate(layers):
            ours_here = tape[point.format(i)].transpose(1, 2)[valid]
            pairs.append((point.format(i), weights.transpose(1, 2)[valid], ours_here))
    return pairs
