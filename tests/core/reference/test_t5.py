"""T5 v1.0 (relu, tied) and v1.1 (gated, untied) against Hugging Face's."""

from __future__ import annotations

import pytest
import torch
import transformers
from torch import nn

import core
from core.pretrained.families.t5 import t5_map
from tests.core.reference.equality import (
    assert_equal_attention,
    assert_equal_logits_and_gradients,
    copy_weights,
    padded_batch,
    randomise,
    run_both_paths,
)

VOCABULARY = 40
VERSIONS = {
    "v1.0": ({"feed_forward_proj": "relu"}, {"activation": "relu"}),
    "v1.1": (
        {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
        {"activation": "geglu-tanh", "tie_embeddings": False},
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "depths, n_heads, d_model, d_head, d_ff, buckets, source, target",
    [
        ((1, 1), 1, 8, 8, 16, (8, 16), 9, 6),
        ((2, 2), 4, 32, 8, 64, (32, 128), 20, 17),
        ((3, 2), 3, 24, 10, 40, (8, 12), 30, 25),  # heads not d_model / n_heads wide; far buckets in use
        ((1, 3), 2, 16, 4, 24, (16, 20), 7, 28),
    ],
)
def test_logits_attention_and_gradients(version, depths, n_heads, d_model, d_head, d_ff, buckets, source, target):
    their_options, our_options = VERSIONS[version]
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        num_layers=depths[0],
        num_decoder_layers=depths[1],
        num_heads=n_heads,
        d_model=d_model,
        d_kv=d_head,
        d_ff=d_ff,
        relative_attention_num_buckets=buckets[0],
        relative_attention_max_distance=buckets[1],
        dropout_rate=0.0,
        attn_implementation="eager",
        **their_options,
    )
    theirs = transformers.T5ForConditionalGeneration(config)
    if version == "v1.1":  # the library ties until a checkpoint says otherwise
        theirs.lm_head.weight = nn.Parameter(torch.zeros_like(theirs.lm_head.weight))
    randomise(theirs)
    ours = core.build(
        "t5",
        vocab_size=VOCABULARY,
        n_layers=depths[0],
        n_decoder_layers=depths[1],
        n_heads=n_heads,
        d_model=d_model,
        d_head=d_head,
        d_ff=d_ff,
        n_buckets=buckets[0],
        max_distance=buckets[1],
        **our_options,
    )
    copy_weights(theirs, ours, t5_map(ours.config))
    assert torch.equal(ours.head.proj.weight, ours.encoder.token_embedding.weight) == (version == "v1.0")
    src, src_lengths, src_valid = padded_batch(4, source, VOCABULARY, seed=1)
    tgt, tgt_lengths, tgt_valid = padded_batch(4, target, VOCABULARY, seed=2)
    src_lengths, src_valid = src_lengths.flip(0), src_valid.flip(0)  # a short source for a long target

    expected = theirs(
        src,
        attention_mask=src_valid.long(),
        decoder_input_ids=tgt,
        decoder_attention_mask=tgt_valid.long(),
        output_attentions=True,
    )
    *outputs, tape = run_both_paths(ours, src, tgt, src_lengths, tgt_lengths)
    for layers, point, valid, depth in [
        (expected.encoder_attentions, "encoder.blocks.{}.attn.weights", src_valid, depths[0]),
        (expected.decoder_attentions, "decoder.blocks.{}.attn.weights", tgt_valid, depths[1]),
        (expected.cross_attentions, "decoder.blocks.{}.cross.weights", tgt_valid, depths[1]),
    ]:
        assert_equal_attention(tape, layers, point, valid, depth)
    assert_equal_logits_and_gradients(ours, theirs, t5_map(ours.config), outputs, expected.logits, tgt_valid)
