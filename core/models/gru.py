"""The gated recurrent unit."""

from __future__ import annotations

from core.models.recurrent import RecurrentModel


class Gru(RecurrentModel):
    pass
