"""The gated recurrent unit."""

from __future__ import annotations

from core.models.recurrent import RecurrentModel


class Gru(RecurrentModel):
    """Cho et al. 2014: h' = (1 − z) ⊙ n + z ⊙ h. Two gates and no separate cell state."""
