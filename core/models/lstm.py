"""Long short-term memory."""

from __future__ import annotations

from torch import nn

from core.config import LstmConfig
from core.layers.recurrent import LstmLayer
from core.models.recurrent import RecurrentModel


class Lstm(RecurrentModel):
    def __init__(self, config: LstmConfig):
        super().__init__(config)
        for layer in self.modules():
            if isinstance(layer, LstmLayer):
                shift_forget_bias(layer, config.forget_bias)


def shift_forget_bias(layer: nn.LSTM, by: float) -> None:
    """torch keeps the gates in the order input, forget, candidate, output."""
    unit = layer.hidden_size
    layer.bias_ih_l0.data[unit : 2 * unit] += by
