"""RoFormer: BERT with rotary positions."""

from __future__ import annotations

from core.models.bert import Bert


class Roformer(Bert):
    """Su et al. 2021. RoPE rotates queries and keys by their position; set by the default of `position`."""
