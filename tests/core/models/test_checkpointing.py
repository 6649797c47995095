"""Capturing or editing part of a checkpointed model gives the gradients of the pass that really ran."""

from __future__ import annotations

import pytest
import torch

import core
from core.capture.edits import scale, zero_heads

IDS = torch.arange(12).reshape(2, 6)
OBSERVERS = {
    "a block's edit": lambda model: core.edit(model.blocks[0], {"ff.post": scale(3.0)}),
    "a block's head": lambda model: core.edit(model.blocks[0], {"attn.context": zero_heads(1)}),
    "a layer's edit": lambda model: core.edit(model.blocks[0].attn, {"weights": scale(0.5)}),
    "a block's tape": lambda model: core.capture(model.blocks[0], "*.weights"),
    "the model's edit": lambda model: core.edit(model, {"blocks.1.ff.post": scale(3.0)}),
}


@pytest.mark.parametrize("observer", OBSERVERS)
def test_gradients_are_those_without_checkpointing(observer):
    gradients = []
    for checkpointing in (False, True):
        torch.manual_seed(0)
        model = core.build("gpt", n_layers=2, d_model=16, n_heads=2, vocab_size=30, checkpointing=checkpointing)
        with OBSERVERS[observer](model):
            loss = model(IDS).logits.sin().sum()
        loss.backward()
        gradients.append([weight.grad for weight in model.parameters()])
    for plain, checkpointed in zip(*gradients, strict=True):
        torch.testing.assert_close(checkpointed, plain)
