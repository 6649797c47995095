"""RoFormer against Hugging Face's."""

from __future__ import annotations

import pytest
import torch
import transformers

import core
from core.pretrained.families.bert import roformer_map
from tests.core.reference.equality import (
    assert_equal_attention,
    assert_equal_logits_and_gradients,
    copy_weights,
    padded_batch,
    randomise,
    run_both_paths,
)

VOCABULARY, BATCH, TIME = 40, 5, 14


@pytest.mark.parametrize(
    "n_layers, n_heads, d_model, d_ff", [(1, 1, 8, 32), (2, 4, 32, 64), (4, 3, 24, 40), (2, 2, 64, 128)]
)
def test_logits_attention_and_gradients(n_layers, n_heads, d_model, d_ff):
    config = transformers.RoFormerConfig(
        vocab_size=VOCABULARY,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        hidden_size=d_model,
        intermediate_size=d_ff,
        max_position_embeddings=TIME + 2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",
    )
    theirs = randomise(transformers.RoFormerForMaskedLM(config))
    sizes = {"n_layers": n_layers, "n_heads": n_heads, "d_model": d_model, "d_ff": d_ff, "max_len": TIME + 2}
    ours = core.build("roformer", vocab_size=VOCABULARY, pooler="none", **sizes)
    copy_weights(theirs, ours, roformer_map(ours.config))
    ids, lengths, valid = padded_batch(BATCH, TIME, VOCABULARY)
    segments = (torch.arange(TIME) >= lengths[:, None] // 2).long()

    expected = theirs(ids, attention_mask=valid.long(), token_type_ids=segments, output_attentions=True)
    *outputs, tape = run_both_paths(ours, ids, lengths, segments)
    assert_equal_attention(tape, expected.attentions, "blocks.{}.attn.weights", valid, n_layers)
    assert_equal_logits_and_gradients(ours, theirs, roformer_map(ours.config), outputs, expected.logits, valid)
