"""GPT against Hugging Face's GPT-2."""

from __future__ import annotations

import pytest
import torch
import transformers

import core
from core.pretrained.families.gpt2 import gpt2_map
from tests.core.reference.equality import (
    assert_equal,
    assert_equal_attention,
    assert_equal_logits_and_gradients,
    copy_weights,
    padded_batch,
    randomise,
    run_both_paths,
)

VOCABULARY, BATCH, TIME = 40, 5, 13


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize(
    "n_layers, n_heads, d_model, d_ff", [(1, 1, 8, None), (2, 4, 32, None), (4, 3, 24, 40), (2, 2, 64, 128)]
)
def test_logits_attention_and_gradients(n_layers, n_heads, d_model, d_ff, tied):
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_layer=n_layers,
        n_head=n_heads,
        n_embd=d_model,
        n_inner=d_ff,
        n_positions=TIME + 2,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
        tie_word_embeddings=tied,
        attn_implementation="eager",
    )
    theirs = randomise(transformers.GPT2LMHeadModel(config))
    sizes = {"n_layers": n_layers, "n_heads": n_heads, "d_model": d_model, "d_ff": d_ff, "max_len": TIME + 2}
    ours = core.build("gpt", vocab_size=VOCABULARY, tie_embeddings=tied, **sizes)
    copy_weights(theirs, ours, gpt2_map(ours.config))
    assert torch.equal(ours.head.proj.weight, ours.token_embedding.weight) == tied
    ids, lengths, valid = padded_batch(BATCH, TIME, VOCABULARY)

    expected = theirs(ids, attention_mask=valid.long(), output_attentions=True)
    *outputs, tape = run_both_paths(ours, ids, lengths)
    assert_equal_attention(tape, expected.attentions, "blocks.{}.attn.weights", valid, n_layers)
    assert_equal_logits_and_gradients(ours, theirs, gpt2_map(ours.config), outputs, expected.logits, valid)


def test_without_padding():
    """Then torch's kernel gets a causal flag instead of a mask."""
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_layer=2, n_head=4, n_embd=32, n_positions=TIME, bos_token_id=0, eos_token_id=0
    )
    theirs = randomise(transformers.GPT2LMHeadModel(config))
    ours = core.build("gpt", vocab_size=VOCABULARY, n_layers=2, n_heads=4, d_model=32, max_len=TIME)
    copy_weights(theirs, ours, gpt2_map(ours.config))
    ids, _, _ = padded_batch(BATCH, TIME, VOCABULARY)
    assert_equal(ours(ids).logits, theirs(ids).logits, 1e-4, "logits")
