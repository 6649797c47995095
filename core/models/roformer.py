"""RoFormer: BERT whose queries and keys turn with their position (Su et al. 2021)."""

from __future__ import annotations

from core.models.bert import Bert


class Roformer(Bert):
    pass
