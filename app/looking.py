"""From a text to plain arrays: the model runs once with its attention captured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

import core
from app.shipped import Shipped
from core import measures

CLEAR = 0.4  # the share of a head's weight from which a role is called clear


@dataclass(frozen=True)
class Look:
    tokens: list[str]
    weights: np.ndarray  # (layer, head, query, key)
    roles: dict[str, np.ndarray]  # name → (layer, head)

    def role(self, layer: int, head: int) -> tuple[str, float]:
        """What the head mostly does on this input, which may be nothing in particular."""
        name, share = max(((n, float(s[layer, head])) for n, s in self.roles.items()), key=lambda pair: pair[1])
        return (name if share >= CLEAR else "none"), share


@torch.no_grad()
def look(shipped: Shipped, text: str) -> Look:
    ids = torch.tensor(shipped.task.read(text))
    with core.capture(shipped.model, "*.attn.weights") as tape:
        shipped.model(ids[None])
    weights = torch.cat(list(tape.values()))  # (layer, head, query, key)
    roles = {
        "previous": measures.previous_token(weights),
        "own": measures.own_token(weights),
        "first": measures.first_token(weights),
        "induction": measures.induction(weights, ids),
    }
    return Look(shipped.task.show(ids.tolist()), weights.numpy(), {name: s.numpy() for name, s in roles.items()})
