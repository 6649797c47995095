"""Long short-term memory."""

from __future__ import annotations

from torch import nn

from core.config.families import LstmConfig
from core.layers.recurrent.cells import LstmLayer
from core.models.recurrent import RecurrentModel


class Lstm(RecurrentModel):
    """Hochreiter & Schmidhuber 1997: c' = f ⊙ c + i ⊙ g, a cell that gates protect, so that it can remember for long.

    `forget_bias` is added to the forget gate's initial bias.
    """

    def __init__(self, config: LstmConfig):
        super().__init__(config)
        for layer in self.modules():
            if isinstance(layer, LstmLayer):
                shift_forget_bias(layer, config.forget_bias)


def shift_forget_bias(layer: nn.LSTM, by: float) -> None:
    """A forget gate that begins open (by > 0) lets early gradients reach far back (Jozefowicz et al. 2015)."""
    unit = layer.hidden_size
    layer.bias_ih_l0.data[unit : 2 * unit] += by  # torch's order: input, forget, candidate, output
