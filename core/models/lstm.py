"""Long short-term memory."""

from __future__ import annotations

from core.config.families import LstmConfig
from core.layers.recurrent.cells import LstmLayer
from core.models.recurrent import RecurrentModel


class Lstm(RecurrentModel):
    """Hochreiter & Schmidhuber 1997: c' = f ⊙ c + i ⊙ g, a gated cell state that can keep its value for long.

    `forget_bias` is added to the forget gate's initial bias.
    """

    def __init__(self, config: LstmConfig):
        super().__init__(config)
        for layer in self.modules():
            if isinstance(layer, LstmLayer):
                shift_forget_bias(layer, config.forget_bias)


def shift_forget_bias(layer: LstmLayer, shift: float) -> None:
    """A forget gate that is open at first (shift > 0) lets gradients reach far back (Jozefowicz et al. 2015)."""
    unit = layer.hidden_size
    layer.bias_ih_l0.data[unit : 2 * unit] += shift  # torch's order: input, forget, candidate, output
