"""RoFormer: BERT with rotary positions."""

from __future__ import annotations

from core.models.bert import Bert


class Roformer(Bert):
    """Su et al. 2021. Queries and keys turn with their position; all of it is in the default of `position`."""
