"""torch's fused kernel against the attention formula written out, for every way of looking."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import core
from core.layers.attention import Attention, AttentionScope
from core.layers.local_attention import LocalAttention, LocalAttentionScope
from core.layers.positions import Alibi, RelativePosition, Rotary, T5Bias
from tests.core.reference.equality import assert_equal, padded_batch, randomise

WITHIN = 1e-5
D_MODEL, BATCH = 24, 4


def make_position(kind: str, n_heads: int, d_head: int, causal: bool) -> RelativePosition:
    if kind == "alibi":
        return Alibi(n_heads)
    if kind == "t5":
        return randomise(T5Bias(n_heads, 8, 12, two_sided=not causal), std=1.0)
    return Rotary(200, d_head) if kind == "rope" else RelativePosition()


def both_ways(layer: Attention, scope: AttentionScope, x: Tensor, memory: Tensor | None = None) -> None:
    """Outputs and gradients, of weights and inputs, of the fused and of the explicit path; neither with NaN."""
    results = []
    holder = nn.ModuleDict({"attn": layer, "position": scope.position})
    for explicit in (False, True):
        holder.zero_grad()
        inputs = [t.clone().requires_grad_() for t in (x, memory) if t is not None]
        if explicit:
            with core.capture(layer, "weights") as tape:
                out = layer(inputs[0], scope, *inputs[1:])
            weights = tape["weights"]
        else:
            out = layer(inputs[0], scope, *inputs[1:])
        out.square().mean().backward()
        grads = {name: weight.grad.clone() for name, weight in holder.named_parameters()}
        results.append({"output": out, **grads, **{f"input {n}": t.grad for n, t in enumerate(inputs)}})
    for name, value in results[0].items():
        assert_equal(value, results[1][name], WITHIN, name)
    keep = scope.mask()
    if keep is not None:
        assert not weights.masked_fill(keep, 0.0).any(), "weight on what may not be seen"
        sums = weights.sum(-1)  # (batch, head, query)
        assert_equal(sums, keep.any(-1).expand_as(sums).float(), WITHIN, "sum of weights")


each_position = pytest.mark.parametrize("position", ["none", "rope", "alibi", "t5"])
each_sharing = pytest.mark.parametrize("n_heads, n_kv_heads, d_head", [(4, 4, 6), (4, 2, 6), (6, 1, 10)])
each_mask = pytest.mark.parametrize("causal", [False, True], ids=["two-sided", "causal"])
each_padding = pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])


@each_position
@each_sharing
@each_mask
@each_padding
def test_self_attention(position, n_heads, n_kv_heads, d_head, causal, padded):
    time = 17
    layer = randomise(Attention(D_MODEL, n_heads, n_kv_heads=n_kv_heads, d_head=d_head))
    lengths = padded_batch(BATCH, time, 10)[1] if padded else None
    places = torch.arange(time)
    scope = AttentionScope(make_position(position, n_heads, d_head, causal), places, places, lengths, causal)
    both_ways(layer, scope, torch.randn(BATCH, time, D_MODEL))


@each_position
@each_sharing
@each_padding
def test_cross_attention(position, n_heads, n_kv_heads, d_head, padded):
    layer = randomise(Attention(D_MODEL, n_heads, n_kv_heads=n_kv_heads, d_head=d_head, scaled=False))
    lengths = padded_batch(BATCH, 11, 10)[1] if padded else None
    scope = AttentionScope(
        make_position(position, n_heads, d_head, False), torch.arange(7), torch.arange(11), lengths
    )
    both_ways(layer, scope, torch.randn(BATCH, 7, D_MODEL), torch.randn(BATCH, 11, D_MODEL))


@pytest.mark.parametrize("n_heads, n_kv_heads", [(4, 2), (6, 2), (6, 3), (4, 1), (4, 4)])
def test_grouped_heads_are_torchs(n_heads, n_kv_heads):
    """Which query heads share a key head, according to torch."""
    layer = randomise(Attention(D_MODEL, n_heads, n_kv_heads=n_kv_heads, d_head=6))
    x, places = torch.randn(BATCH, 9, D_MODEL), torch.arange(9)
    scope = AttentionScope(RelativePosition(), places, places)
    q, k, v = (proj(x).unflatten(-1, (-1, 6)).transpose(1, 2) for proj in (layer.q_proj, layer.k_proj, layer.v_proj))
    context = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)  # (batch, head, query, d_head)
    expected = layer.out_proj(context.transpose(1, 2).flatten(-2))
    assert_equal(layer(x, scope), expected, WITHIN, "output")


@each_position
@each_mask
@each_padding
@pytest.mark.parametrize(
    "time, window", [(1, 1), (12, 1), (12, 3), (13, 4), (12, 11), (12, 12), (12, 13), (9, 40), (30, 7)]
)
def test_local_attention(position, causal, padded, time, window):
    """Lengths go down to 1, so that beyond the window some rows see nothing but padding."""
    layer = randomise(LocalAttention(D_MODEL, 4, n_kv_heads=2, d_head=6))
    lengths = padded_batch(BATCH, time, 10)[1] if padded else None
    places = torch.arange(time)
    scope = LocalAttentionScope(make_position(position, 4, 6, causal), places, places, lengths, causal, window=window)
    if padded and time > 2 * window + 1:
        assert not scope.mask().any(-1).all(), "every row sees something"
    both_ways(layer, scope, torch.randn(BATCH, time, D_MODEL))


@each_mask
@pytest.mark.parametrize("window", [2, 5, 20, None])
def test_weights_key_by_key(causal, window):
    """The explicit weights against loops; a query that may see nothing mixes nothing."""
    time, lengths = 11, torch.tensor([11, 4, 1])
    places, position = torch.arange(time), Alibi(2)
    kind = Attention if window is None else LocalAttention
    layer = randomise(kind(8, 2))
    if window is None:
        scope = AttentionScope(position, places, places, lengths, causal)
    else:
        scope = LocalAttentionScope(position, places, places, lengths, causal, window=window)
    with torch.no_grad(), core.capture(layer) as tape:
        layer(torch.randn(3, time, 8), scope)
    by_hand = torch.zeros(3, 2, time, time)
    slopes = position.slopes.tolist()
    for row in range(3):
        for head in range(2):
            for q in range(time):
                sees = [k for k in range(int(lengths[row])) if not (causal and k > q)]
                sees = [k for k in sees if window is None or abs(q - k) <= window]
                exps = {}
                for k in sees:
                    dot = float(tape["q"][row, head, q] @ tape["k"][row, head, k]) / math.sqrt(4)
                    exps[k] = math.exp(dot - slopes[head] * abs(q - k))
                for k in sees:
                    by_hand[row, head, q, k] = exps[k] / sum(exps.values())
    assert_equal(tape["weights"], by_hand, WITHIN, "weights")
    assert_equal(tape["context"], by_hand @ tape["v"], WITHIN, "context")


@pytest.mark.parametrize("position", ["learned", "rope", "alibi", "t5"])
@pytest.mark.parametrize("attention, window", [("full", 1), ("local", 1), ("local", 3), ("local", 12), ("local", 64)])
@pytest.mark.parametrize("family", ["bert", "gpt"])
@each_padding
def test_whole_models(family, position, attention, window, padded):
    model = core.build(
        family, n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, attention=attention, window=window,
        position=position, n_buckets=8, max_distance=12,
    )  # fmt: skip
    randomise(model)
    ids, lengths, valid = padded_batch(BATCH, 12, 100)
    lengths = lengths if padded else None
    fused = model(ids, lengths).logits
    fused[valid].square().mean().backward()
    grads = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    model.zero_grad()
    with core.capture(model, "*.weights"):
        explicit = model(ids, lengths).logits
    explicit[valid].square().mean().backward()
    assert not fused.isnan().any() and not explicit.isnan().any()
    assert_equal(fused[valid], explicit[valid], WITHIN, "logits")
    assert max(float(grad.abs().max()) for grad in grads.values()) > 0.01
    for name, weight in model.named_parameters():
        if name in grads:
            assert_equal(weight.grad, grads[name], WITHIN, f"gradient of {name}")
