"""The plain recurrent network."""

from __future__ import annotations

from core.config.families import RnnConfig
from core.models.recurrent import RecurrentModel


class Rnn(RecurrentModel):
    """Elman 1990: h' = tanh(W_x x + W_h h + b). Without gates, gradients vanish over long distances."""

    def __init__(self, config: RnnConfig):
        super().__init__(config, nonlinearity=config.activation)
