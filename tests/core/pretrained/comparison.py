"""Two implementations of one model, run on the same padded input: pairs of tensors that must be equal."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

import core
from tests.core.pretrained.tiny import TIME, VOCABULARY
from tests.core.reference.equality import padded_batch

Comparison = tuple[str, Tensor, Tensor]  # name, theirs, ours


def compare(theirs: nn.Module, ours: nn.Module) -> list[Comparison]:
    """Outputs, hidden states and attention weights of both models for the same padded input."""
    with torch.no_grad():
        return (_compare_pairs if theirs.config.model_type == "t5" else _compare_sequences)(theirs.eval(), ours)


def _compare_sequences(theirs: nn.Module, ours: nn.Module) -> list[Comparison]:
    ids, lengths, valid = padded_batch(5, TIME, VOCABULARY)
    pad = theirs.config.pad_token_id = theirs.config.pad_token_id or 0
    ids = torch.where(valid, torch.where(ids == pad, 5, ids), pad)  # RoBERTa counts the tokens that are not padding
    segments = {}
    if getattr(ours.config, "n_segments", 0) > 1:
        segments = {"segments": (torch.arange(TIME) >= lengths[:, None] // 2).long()}
    their_segments = {"token_type_ids": segments["segments"]} if segments else {}
    expected = theirs(
        ids, attention_mask=valid.long(), output_attentions=True, output_hidden_states=True, **their_segments
    )
    plain = ours(ids, lengths, **segments)
    with core.capture(ours) as tape:
        out = ours(ids, lengths, **segments)
    pairs = [("fused hidden", expected.hidden_states[-1][valid], plain.hidden[valid])]
    pairs += layer_comparisons(expected, tape, valid)
    pairs += [("hidden", expected.hidden_states[-1][valid], out.hidden[valid])]
    pairs += [*_head_outputs(expected, plain, valid), *_head_outputs(expected, out, valid)]
    assert len(expected.attentions) == ours.config.n_layers
    return pairs


def layer_comparisons(expected, tape: core.Tape, valid: Tensor) -> list[Comparison]:
    """Attention weights and inputs of every layer, at the valid positions (batch, query)."""
    attention = [
        (f"attention {i}", weights.transpose(1, 2)[valid], tape[f"blocks.{i}.attn.weights"].transpose(1, 2)[valid])
        for i, weights in enumerate(expected.attentions)
    ]
    hidden = [
        (f"hidden {i}", hidden[valid], tape[f"blocks.{i}.resid_in"][valid])
        for i, hidden in enumerate(expected.hidden_states[:-1])
    ]
    return attention + hidden


def _head_outputs(expected, out, valid: Tensor) -> Iterator[Comparison]:
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


def _compare_pairs(theirs: nn.Module, ours: nn.Module) -> list[Comparison]:
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
        pairs += [("logits", expected.logits[tgt_valid], ours_out.logits[tgt_valid]) for ours_out in (plain, out)]
    for layers, point, valid in [
        (expected.encoder_attentions, "encoder.blocks.{}.attn.weights", src_valid),
        (expected.decoder_attentions, "decoder.blocks.{}.attn.weights", tgt_valid),
        (expected.cross_attentions, "decoder.blocks.{}.cross.weights", tgt_valid),
    ]:
        assert len(layers) in (2, 3)
        for i, weights in enumerate(layers):
            our_weights = tape[point.format(i)].transpose(1, 2)[valid]
            pairs.append((point.format(i), weights.transpose(1, 2)[valid], our_weights))
    return pairs
