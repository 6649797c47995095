"""From a text to plain arrays: the model runs once with its attention captured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

import core
from app.i18n import say
from app.shipped import Shipped
from core import InputError, measures

CLEAR = 0.4  # the share of a head's weight from which a role is called clear
FEWEST_REPEATS = 0.25  # of the tokens must have occurred before, or induction cannot be judged
LONGEST = 64


@dataclass(frozen=True)
class Look:
    tokens: list[str]
    weights: np.ndarray  # (layer, head, query, key); NaN where the model may not look
    roles: dict[str, np.ndarray]  # name → (layer, head)
    repeats: int  # tokens that have occurred before, not right before

    def role(self, layer: int, head: int) -> tuple[str, float]:
        """What the head mostly does on this input, which may be nothing in particular."""
        name, share = max(((n, float(s[layer, head])) for n, s in self.roles.items()), key=lambda pair: pair[1])
        return (name if share >= CLEAR else "none"), share


@torch.no_grad()
def look(shipped: Shipped, text: str) -> Look:
    ids = torch.tensor(shipped.task.read(text))
    if not 2 <= len(ids) <= LONGEST:
        blanks = {"longest": LONGEST, "length": len(ids)}
        raise InputError(say("en", "wrong_length", **blanks), say("zh", "wrong_length", **blanks))
    with core.capture(shipped.model, "*.attn.weights", "*.attn.mask") as tape:
        shipped.model(ids[None])
    layers = range(shipped.model.config.n_layers)
    weights = torch.cat([tape[f"blocks.{layer}.attn.weights"] for layer in layers])  # (layer, head, query, key)
    allowed = tape["blocks.0.attn.mask"][0]
    repeats = int(measures.after_last_occurrence(ids).any(-1).sum())
    roles = {
        "previous": measures.previous_token(weights),
        "own": measures.own_token(weights),
        "first": measures.first_token(weights),
    }
    if repeats >= FEWEST_REPEATS * len(ids):
        roles["induction"] = measures.induction(weights, ids)
    return Look(
        shipped.task.show(ids.tolist()),
        weights.masked_fill(~allowed, float("nan")).numpy(),
        {name: share.numpy() for name, share in roles.items()},
        repeats,
    )
