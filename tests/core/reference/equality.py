"""Shared by all comparisons with reference models: random weights, padded batches, and assertions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import core
from core.models import Output
from core.pretrained.key_map import KeyMap, to_ours


def randomise(model: nn.Module, std: float = 0.2, seed: int = 0) -> nn.Module:
    """Weights large enough for a mistake to show: matrices N(0, std), vectors moved by N(0, 0.1)."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                noise = torch.randn(weight.shape, generator=random)
                weight.copy_(std * noise if weight.dim() > 1 else weight + 0.1 * noise)
    return model.eval()


def copy_weights(theirs: nn.Module, ours: nn.Module, key_map: KeyMap) -> None:
    ours.load_state_dict(to_ours(theirs.state_dict(), key_map, ours))
    ours.eval()


def padded_batch(batch: int, time: int, vocab_size: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """ids (batch, time) with noise for padding, lengths (batch,) from 1 to time, valid (batch, time)"""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, vocab_size, (batch, time), generator=random)
    lengths = torch.randint(1, time + 1, (batch,), generator=random)
    lengths[0], lengths[-1] = time, 1
    return ids, lengths, torch.arange(time) < lengths[:, None]


def difference(ours: Tensor, theirs: Tensor) -> float:
    return float((ours - theirs).detach().abs().max())


def assert_equal(ours: Tensor, theirs: Tensor, within: float, what: str = "") -> None:
    assert ours.shape == theirs.shape, f"{what}: {tuple(ours.shape)} is not {tuple(theirs.shape)}"
    assert difference(ours, theirs) <= within, f"{what} differs by {difference(ours, theirs):.2g}"  # false for NaN


def assert_equal_attention(
    tape: core.Tape, attentions: Sequence[Tensor], point: str, valid: Tensor, n_layers: int
) -> None:
    """Weights (batch, head, query, key) of every layer, at the valid queries (batch, query); `point` has a {}."""
    assert len(attentions) == n_layers
    for i, theirs in enumerate(attentions):
        ours = tape[point.format(i)]
        assert_equal(ours.transpose(1, 2)[valid], theirs.transpose(1, 2)[valid], 1e-5, point.format(i))


def assert_equal_gradients(ours: nn.Module, theirs: nn.Module, key_map: KeyMap, within: float) -> None:
    """Their gradients go through the same map as their weights."""
    named = theirs.named_parameters(remove_duplicate=False)
    expected = to_ours({name: weight.grad for name, weight in named if weight.grad is not None}, key_map, ours)
    compared = [name for name, weight in ours.named_parameters() if weight.grad is not None]
    assert max(float(expected[name].abs().max()) for name in compared) > 0.01, "gradients too small to tell"
    for name, weight in ours.named_parameters():
        if weight.grad is not None:
            assert_equal(weight.grad, expected[name], within, f"gradient of {name}")


def run_both_paths(ours: nn.Module, *inputs: Tensor) -> tuple[Output, Output, core.Tape]:
    """The fused path, with gradients; the explicit path, and the attention weights captured from it."""
    fused = ours(*inputs)
    with torch.no_grad(), core.capture(ours, "*.weights") as tape:
        explicit = ours(*inputs)
    return fused, explicit, tape


def assert_equal_logits_and_gradients(
    ours: nn.Module, theirs: nn.Module, key_map: KeyMap, outputs: Sequence[Output], logits: Tensor, valid: Tensor
) -> None:
    """Logits of both paths against theirs at valid positions, and gradients of a cross-entropy with random targets."""
    for out in outputs:
        assert_equal(out.logits[valid], logits[valid], 1e-4, "logits")
    tokens = torch.randint(0, logits.shape[-1], (int(valid.sum()),))
    for each in (outputs[0].logits, logits):
        F.cross_entropy(each[valid], tokens).backward()
    assert_equal_gradients(ours, theirs, key_map, 1e-4)
