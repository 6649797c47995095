"""The encoder–decoder against torch.nn.Transformer."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import core
from core.pretrained.key_map import KeyMap, rules
from tests.core.reference.equality import assert_equal, assert_equal_gradients, copy_weights, padded_batch, randomise

WITHIN = 1e-5
VOCABULARY = 30


def _attention(theirs: str, ours: str) -> tuple:
    return rules(
        (f"{theirs}.in_proj_*", f"{ours}.q_proj.* {ours}.k_proj.* {ours}.v_proj.*"),
        (f"{theirs}.out_proj.*", f"{ours}.out_proj.*"),
    )


TORCH_TRANSFORMER = KeyMap(
    rules(
        ("source_embedding.weight", "encoder.token_embedding.weight"),
        ("target_embedding.weight", "decoder.token_embedding.weight"),
        ("head.*", "head.proj.*"),
        ("transformer.encoder.layers.{i}.norm1.*", "encoder.blocks.{i}.attn_norm.*"),
        ("transformer.encoder.layers.{i}.linear1.*", "encoder.blocks.{i}.ff.in_proj.*"),
        ("transformer.encoder.layers.{i}.linear2.*", "encoder.blocks.{i}.ff.out_proj.*"),
        ("transformer.encoder.layers.{i}.norm2.*", "encoder.blocks.{i}.ff_norm.*"),
        ("transformer.encoder.norm.*", "encoder.final_norm.*"),
        ("transformer.decoder.layers.{i}.norm1.*", "decoder.blocks.{i}.attn_norm.*"),
        ("transformer.decoder.layers.{i}.norm2.*", "decoder.blocks.{i}.cross_norm.*"),
        ("transformer.decoder.layers.{i}.linear1.*", "decoder.blocks.{i}.ff.in_proj.*"),
        ("transformer.decoder.layers.{i}.linear2.*", "decoder.blocks.{i}.ff.out_proj.*"),
        ("transformer.decoder.layers.{i}.norm3.*", "decoder.blocks.{i}.ff_norm.*"),
        ("transformer.decoder.norm.*", "decoder.final_norm.*"),
    )
    + _attention("transformer.encoder.layers.{i}.self_attn", "encoder.blocks.{i}.attn")
    + _attention("transformer.decoder.layers.{i}.self_attn", "decoder.blocks.{i}.attn")
    + _attention("transformer.decoder.layers.{i}.multihead_attn", "decoder.blocks.{i}.cross")
)


class TorchTransformer(nn.Module):
    """torch's layers between embeddings and a head. After post-norm layers there is no further norm."""

    def __init__(self, d_model: int, n_heads: int, depths: tuple[int, int], d_ff: int, pre: bool, activation: str):
        super().__init__()
        options = {"dropout": 0.0, "activation": activation, "batch_first": True, "norm_first": pre}
        encoder = decoder = None
        if not pre:
            encoder_layer = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, **options)
            decoder_layer = nn.TransformerDecoderLayer(d_model, n_heads, d_ff, **options)
            encoder = nn.TransformerEncoder(encoder_layer, depths[0], norm=None, enable_nested_tensor=False)
            decoder = nn.TransformerDecoder(decoder_layer, depths[1], norm=None)
        self.transformer = nn.Transformer(
            d_model, n_heads, *depths, d_ff, **options, custom_encoder=encoder, custom_decoder=decoder
        )
        self.source_embedding = nn.Embedding(VOCABULARY, d_model)
        self.target_embedding = nn.Embedding(VOCABULARY, d_model)
        self.head = nn.Linear(d_model, VOCABULARY)

    def forward(self, src: Tensor, tgt: Tensor, src_valid: Tensor, tgt_valid: Tensor) -> tuple[Tensor, Tensor]:
        d_model = self.head.in_features
        memory_in = self.source_embedding(src) * math.sqrt(d_model) + waves(src.shape[1], d_model)
        target_in = self.target_embedding(tgt) * math.sqrt(d_model) + waves(tgt.shape[1], d_model)
        hidden = self.transformer(
            memory_in,
            target_in,
            tgt_mask=torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1),  # True = hidden, in torch
            src_key_padding_mask=~src_valid,
            tgt_key_padding_mask=~tgt_valid,
            memory_key_padding_mask=~src_valid,
        )
        return hidden, self.head(hidden)


def waves(time: int, d_model: int) -> Tensor:
    """(time, d_model), written out entry by entry"""
    rows = [
        [(math.cos if j % 2 else math.sin)(p / 10_000 ** ((j - j % 2) / d_model)) for j in range(d_model)]
        for p in range(time)
    ]
    return torch.tensor(rows)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm_placement", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize(
    "n_heads, d_model, d_ff, depths",
    [(1, 8, 16, (1, 1)), (4, 32, 48, (2, 2)), (3, 24, 96, (3, 1)), (2, 16, 8, (1, 3))],
)
def test_outputs_and_gradients(norm_placement, activation, n_heads, d_model, d_ff, depths):
    theirs = TorchTransformer(d_model, n_heads, depths, d_ff, norm_placement == "pre", activation)
    ours = core.build(
        "transformer",
        vocab_size=VOCABULARY,
        d_model=d_model,
        n_heads=n_heads,
        d_ff=d_ff,
        n_layers=depths[0],
        n_decoder_layers=depths[1],
        norm_placement=norm_placement,
        activation=activation,
    )
    copy_weights(randomise(theirs), ours, TORCH_TRANSFORMER)
    theirs.train()  # dropout is 0; in eval torch takes a shortcut of its own
    src, src_lengths, src_valid = padded_batch(4, 11, VOCABULARY, seed=1)
    tgt, tgt_lengths, tgt_valid = padded_batch(4, 7, VOCABULARY, seed=2)
    src_lengths, src_valid = src_lengths.flip(0), src_valid.flip(0)  # a short source for a long target

    out = ours(src, tgt, src_lengths, tgt_lengths)
    hidden, logits = theirs(src, tgt, src_valid, tgt_valid)
    assert_equal(out.hidden[tgt_valid], hidden[tgt_valid], WITHIN, "hidden")
    assert_equal(out.logits[tgt_valid], logits[tgt_valid], WITHIN, "logits")

    target = torch.randint(0, VOCABULARY, (int(tgt_valid.sum()),))
    for answer in (out.logits, logits):
        F.cross_entropy(answer[tgt_valid], target).backward()
    assert_equal_gradients(ours, theirs, TORCH_TRANSFORMER, WITHIN)
