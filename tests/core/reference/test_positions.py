"""Position schemes against Bloom, T5, RoFormer and the formula by hand."""

from __future__ import annotations

import math

import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.roformer.modeling_roformer import (
    RoFormerSelfAttention,
    RoFormerSinusoidalPositionalEmbedding,
)
from transformers.models.t5.modeling_t5 import T5Attention

from core.layers.positions import Alibi, Rotary, Sinusoidal, T5Bias, alibi_slopes, t5_bucket
from tests.core.reference.equality import assert_equal


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 6, 7, 8, 12, 16, 20, 25, 32, 40])
def test_alibi_is_bloom_up_to_a_constant_per_row(n_heads):
    time = 50
    positions = torch.arange(time)
    ours = Alibi(n_heads).bias(positions, positions)  # (head, query, key)
    theirs = build_alibi_tensor(torch.ones(1, time), n_heads, torch.float32)  # (head, 1, key)
    assert_equal(torch.tensor(alibi_slopes(n_heads)), theirs[:, 0, 1], 1e-6, "slopes")

    causal = torch.ones(time, time, dtype=torch.bool).tril()
    gap = (ours - theirs).masked_fill(~causal, float("nan"))
    row = gap[:, :, :1]  # every query sees the first key
    assert ((gap - row).abs() <= 1e-5)[:, causal].all(), "not a constant per row"

    scores = torch.randn(n_heads, time, time)
    ours = (scores + ours).masked_fill(~causal, float("-inf")).softmax(-1)
    theirs = (scores + theirs).masked_fill(~causal, float("-inf")).softmax(-1)
    assert_equal(ours, theirs, 1e-5, "softmax")


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize(
    "n_buckets, max_distance", [(32, 128), (8, 16), (16, 20), (12, 128), (64, 256), (4, 5), (100, 300)]
)
def test_t5_buckets(two_sided, n_buckets, max_distance):
    offsets = torch.arange(-300, 301)
    theirs = T5Attention._relative_position_bucket(offsets, two_sided, n_buckets, max_distance)
    assert torch.equal(t5_bucket(offsets, n_buckets, max_distance, two_sided), theirs)


@pytest.mark.parametrize("two_sided", [True, False])
def test_t5_bias_looks_the_bucket_up(two_sided):
    position = T5Bias(3, 8, 12, two_sided)
    queries, keys = torch.arange(5, 25), torch.arange(30)
    bias = position.bias(queries, keys)  # (head, query, key)
    for q, query in enumerate(queries.tolist()):
        buckets = T5Attention._relative_position_bucket(keys - query, two_sided, 8, 12)
        assert torch.equal(bias[:, q], position.table.weight[buckets].T)


@pytest.mark.parametrize("time, d_head", [(1, 2), (7, 4), (30, 16), (600, 64)])
def test_rotary_is_roformers(time, d_head):
    table = RoFormerSinusoidalPositionalEmbedding(time, d_head).create_weight()[None, None]  # (1, 1, time, d_head)
    q, k = torch.randn(2, 2, 3, time, d_head)  # each (batch, head, time, d_head)
    their_q, their_k = RoFormerSelfAttention.apply_rotary_position_embeddings(table, q, k)
    position, positions = Rotary(time, d_head), torch.arange(time)
    assert_equal(position.rotate(q, positions), their_q, 1e-5, "queries")
    assert_equal(position.rotate(k, positions), their_k, 1e-5, "keys")


def test_rotary_at_given_positions():
    x, position = torch.randn(2, 3, 20, 8), Rotary(20, 8)
    whole = position.rotate(x, torch.arange(20))
    selected = torch.tensor([19, 0, 7])
    assert torch.equal(position.rotate(x[:, :, selected], selected), whole[:, :, selected])


@pytest.mark.parametrize("max_len, d_model", [(1, 2), (10, 6), (600, 16)])
def test_sinusoidal_by_hand(max_len, d_model):
    table = Sinusoidal(max_len, d_model)(torch.arange(max_len))  # (position, d_model)
    by_hand = torch.zeros(max_len, d_model)
    for p in range(max_len):
        for i in range(d_model // 2):
            angle = p / 10_000 ** (2 * i / d_model)
            by_hand[p, 2 * i], by_hand[p, 2 * i + 1] = math.sin(angle), math.cos(angle)
    assert_equal(table, by_hand, 1e-6, "waves")
