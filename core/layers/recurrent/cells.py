"""The recurrent cells, each as the equations of one position (time step), and the layers built from them.

h and c are the state before the position, h' and c' after it, each (batch, unit); σ is the sigmoid, ⊙ the element-wise
product. In every `step`, x is W_x x_t + b_x, (batch, gates · unit), computed for all positions at once; W_h is
`weight_hh_l0`, (gates · unit, unit), b_h its bias, as torch names them. `tap(point, value, before)` makes a value
observable; in a sequence that has ended, a state keeps its value (`before`). `engine.py` calls `step` for each
position; a `custom_kernel` (`kernels.py`) computes all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.capture.taps import RecurrentTap
from core.layers.recurrent.engine import Inputs, RecurrentLayer, State
from core.layers.recurrent.kernels import GruKernel, RnnKernel


# The layers inherit torch's parameters and kernel, but `forward` is that of `RecurrentLayer`.
class RnnLayer(RecurrentLayer, nn.RNN):  # pyrefly: ignore[inconsistent-inheritance]
    """h' = tanh(W_x x + b_x + W_h h + b_h), or relu (Elman 1990)"""

    points = ("hidden",)
    has_custom_kernel = True

    def step(self, x: Tensor, state: State, tap: RecurrentTap) -> State:
        (h,) = state
        total = x + F.linear(h, self.weight_hh_l0, self.bias_hh_l0)  # (batch, unit)
        return (tap("hidden", total.tanh() if self.nonlinearity == "tanh" else total.relu(), h),)

    def custom_kernel(self, x: Tensor, h: Tensor, sizes: list[int]) -> Tensor:
        return RnnKernel.apply(x, h, self.weight_hh_l0, self.bias_hh_l0, sizes, self.nonlinearity == "relu")


class GruLayer(RecurrentLayer, nn.GRU):  # pyrefly: ignore[inconsistent-inheritance]
    """Reset r, update z, candidate n (Cho et al. 2014):

        r, z = σ(x + W_h h + b_h), each with its own rows      n = tanh(x_n + r ⊙ (W_n h + b_n))
        h' = (1 − z) ⊙ n + z ⊙ h

    In the paper r acts on h, before W_n; here after it, as in torch, so that one product serves all three.
    """

    points = ("reset", "update", "candidate", "hidden")
    has_custom_kernel = True

    def step(self, x: Tensor, state: State, tap: RecurrentTap) -> State:
        (h,) = state
        x_r, x_z, x_n = x.chunk(3, dim=-1)  # (batch, unit) each
        h_r, h_z, h_n = F.linear(h, self.weight_hh_l0, self.bias_hh_l0).chunk(3, dim=-1)
        r = tap("reset", (x_r + h_r).sigmoid())
        z = tap("update", (x_z + h_z).sigmoid())
        n = tap("candidate", (x_n + r * h_n).tanh())
        return (tap("hidden", (1 - z) * n + z * h, h),)

    def custom_kernel(self, x: Tensor, h: Tensor, sizes: list[int]) -> Tensor:
        return GruKernel.apply(x, h, self.weight_hh_l0, self.bias_hh_l0, sizes)


class LstmLayer(RecurrentLayer, nn.LSTM):  # pyrefly: ignore[inconsistent-inheritance]
    """Input i, forget f, output o, candidate g (Hochreiter & Schmidhuber 1997; Gers et al. 2000):

    i, f, o = σ(x + W_h h + b_h), g = tanh(of the same), each with its own rows
    c' = f ⊙ c + i ⊙ g      h' = o ⊙ tanh(c')
    """

    points = ("input", "forget", "candidate", "output", "cell", "hidden")
    n_states = 2

    def torch_kernel(self, x: Inputs, state: State) -> tuple[Inputs, State]:
        h, c = state
        outputs, (h, c) = nn.LSTM.forward(self, x, (h[None], c[None]))
        return cast("Inputs", outputs), (h[0], c[0])

    def step(self, x: Tensor, state: State, tap: RecurrentTap) -> State:
        h, c = state
        total = x + F.linear(h, self.weight_hh_l0, self.bias_hh_l0)  # (batch, 4 · unit)
        i, f, g, o = total.chunk(4, dim=-1)  # (batch, unit) each
        i = tap("input", i.sigmoid())
        f = tap("forget", f.sigmoid())
        g = tap("candidate", g.tanh())
        o = tap("output", o.sigmoid())
        c = tap("cell", f * c + i * g, c)
        return tap("hidden", o * c.tanh(), h), c


CELLS: dict[str, Callable[..., RecurrentLayer]] = {"rnn": RnnLayer, "gru": GruLayer, "lstm": LstmLayer}


class BidirectionalLayer(nn.Module):
    """A forward layer and, if `bidirectional`, a backward one; their outputs and states are concatenated."""

    def __init__(self, cell: str, d_in: int, d_hidden: int, bidirectional: bool, **cell_options: str):
        super().__init__()
        self.fwd = CELLS[cell](d_in, d_hidden, **cell_options)
        self.bwd = CELLS[cell](d_in, d_hidden, **cell_options) if bidirectional else None

    def forward(
        self, x: Tensor, lengths: Tensor | None, state: State | None, engine: str, need_state: bool
    ) -> tuple[Tensor, State]:
        """x (batch, time, d_in) → outputs (batch, time, directions · unit), last states (backward layer: at t = 0)"""
        outputs, last = self.fwd(x, lengths, state, backward=False, engine=engine, need_state=need_state)
        if self.bwd is None:
            return outputs, last
        bwd_outputs, first = self.bwd(x, lengths, None, backward=True, engine=engine, need_state=need_state)
        pairs = zip(last, first, strict=False)  # an engine may return (hidden,) where the other has (hidden, cell)
        states = tuple(torch.cat(pair, dim=-1) for pair in pairs)
        return torch.cat([outputs, bwd_outputs], dim=-1), states


class RecurrentStack(nn.Module):
    """Recurrent layers on top of each other, with dropout between them."""

    def __init__(
        self,
        cell: str,
        d_in: int,
        d_hidden: int,
        n_layers: int,
        *,
        bidirectional: bool = False,
        dropout: float = 0.0,
        engine: str = "fused",
        **cell_options: str,
    ):
        super().__init__()
        self.engine = engine
        self.d_out = d_hidden * (2 if bidirectional else 1)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            BidirectionalLayer(cell, self.d_out if i else d_in, d_hidden, bidirectional, **cell_options)
            for i in range(n_layers)
        )

    def run(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        states: list[State] | None = None,
        need_state: bool = False,
    ) -> tuple[Tensor, list[State]]:
        """x (batch, time, d_in) → outputs (batch, time, directions · unit), last states per layer

        The states of an LSTM include its cell only with `need_state`: on padded batches it costs extra.
        """
        last_states = []
        for i, layer in enumerate(self.layers):
            x = self.dropout(x.contiguous()) if i else x  # noise follows memory order: the same for both engines
            x, last = layer(x, lengths, states and states[i], self.engine, need_state)
            last_states.append(last)
        return x, last_states
