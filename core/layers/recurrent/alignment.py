"""Attention of a recurrent decoder over its encoder's outputs: the decoder's state is the query.

    weights = softmax(score(query, keys))      context = Σ weights · keys

One head; scores and weights are (batch, 1, query, key), as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from core.layers.attention import masked_softmax
from core.layers.linear import Linear

Tap = Callable[[str, Tensor], Tensor]  # point, value → value


class Alignment(nn.Module):
    """Dot (Luong et al. 2015): query · key. Subclasses change `prepare`, done once per source, and `score`."""

    def __init__(self, d_hidden: int):  # unused here: the dot product has no weights
        super().__init__()

    def prepare(self, keys: Tensor) -> Tensor:
        return keys

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        """query (batch, query, unit), prepared keys (batch, key, unit) → (batch, query, key)"""
        return query @ prepared.transpose(-2, -1)

    def forward(self, query: Tensor, keys: Tensor, prepared: Tensor, mask: Tensor | None, tap: Tap) -> Tensor:
        """mask (batch, 1, 1, key) → (batch, query, unit): for each query, the weighted mean of the keys"""
        scores = tap("scores", self.score(query, prepared)[:, None])
        weights = tap("weights", masked_softmax(scores, mask))
        return tap("context", weights @ keys[:, None])[:, 0]


class GeneralAlignment(Alignment):
    """query · W · key (Luong et al. 2015)"""

    def __init__(self, d_hidden: int):
        super().__init__(d_hidden)
        self.key_proj = Linear(d_hidden, d_hidden, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        return self.key_proj(keys)


class AdditiveAlignment(GeneralAlignment):
    """v · tanh(W_q query + W_k key) (Bahdanau et al. 2015); Luong's concat, W [query; key], is the same sum."""

    def __init__(self, d_hidden: int):
        super().__init__(d_hidden)
        self.query_proj = Linear(d_hidden, d_hidden, bias=False)
        self.v = Linear(d_hidden, 1, bias=False)

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        mixed = torch.tanh(self.query_proj(query)[:, :, None] + prepared[:, None])  # (batch, query, key, unit)
        return self.v(mixed).squeeze(-1)


ALIGNMENTS: dict[str, type[Alignment]] = {
    "bahdanau": AdditiveAlignment,
    "luong-dot": Alignment,
    "luong-general": GeneralAlignment,
    "luong-concat": AdditiveAlignment,
}
