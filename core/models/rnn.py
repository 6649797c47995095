"""The plain recurrent network."""

from __future__ import annotations

from core.config import RnnConfig
from core.models.recurrent import RecurrentModel


class Rnn(RecurrentModel):
    def __init__(self, config: RnnConfig):
        super().__init__(config, nonlinearity=config.activation)
