"""Local attention: cost and memory against full attention, and their growth with the length."""

from __future__ import annotations

from collections.abc import Iterator

import torch

import core
from tests.bench.measure import Row, compare, saved_bytes

WINDOW = 64
SIZES = {"n_layers": 1, "d_model": 64, "n_heads": 4, "vocab_size": 50, "position": "rope", "max_len": 8192}


def rows() -> Iterator[Row]:
    ids = torch.randint(1, 50, (1, 4096))
    full = core.build("gpt", **SIZES).eval()
    local = core.build("gpt", **SIZES, attention="local", window=WINDOW).eval()
    with torch.no_grad():
        q, k, v = torch.randn(3, 1, 4, 4096, 16)
        kernels = [_kernel(model, q, k, v) for model in (local, full)]
        yield compare("local / full attention, n = 4096, window 64, forward", *kernels, 0.25)

    def train(model):
        return lambda: model(ids).logits.sum().backward()

    yield compare("the same, whole model, forward and backward", train(local), train(full), None, rounds=7)
    saved = [saved_bytes(lambda n=n: local(ids[:, :n]).logits) for n in (2048, 4096)]
    yield Row("memory kept for backward at n = 4096 / n = 2048 (2 = linear)", saved[1] / saved[0], 2.1)


def _kernel(model, q, k, v):
    """Attention alone, masks included, without the projections around it."""
    positions = torch.arange(q.shape[2])
    attention = model.blocks[0].attn

    def run() -> None:
        context = model.make_context(positions, None, None)
        attention.fused(q, k, v, context.self_scope)

    return run
