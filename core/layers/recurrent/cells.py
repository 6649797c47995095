"""The recurrent cells, each as the equations of one time step, and the layers built from them.

h and c are the state before the step, h' and c' after it, each (batch, unit); σ is the sigmoid, ⊙ the product by
elements. In every `step`, x is W_x x_t + b_x, (batch, gates · unit), computed for all steps at once; W_h is
`weight_hh_l0`, (gates · unit, unit), b_h its bias, as torch names them. `see(point, value, before)` shows a value to
whoever looks; in a sequence that has ended, a state stays what it was (`before`). `unrolling.py` runs the steps; an
`own_kernel` (`kernels.py`) runs all of them at once.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from core.capture.tape import Steps
from core.layers.recurrent.engine import RecurrentLayer, State
from core.layers.recurrent.kernels import GruKernel, RnnKernel


class RnnLayer(RecurrentLayer, nn.RNN):
    """h' = tanh(W_x x + b_x + W_h h + b_h), or relu (Elman 1990)"""

    points = ("hidden",)

    def step(self, x: Tensor, state: State, see: Steps) -> State:
        (h,) = state
        total = x + F.linear(h, self.weight_hh_l0, self.bias_hh_l0)  # (batch, unit)
        return (see("hidden", total.tanh() if self.nonlinearity == "tanh" else total.relu(), h),)

    def own_kernel(self, x: Tensor, h: Tensor, sizes: list[int]) -> Tensor:
        return RnnKernel.apply(x, h, self.weight_hh_l0, self.bias_hh_l0, sizes, self.nonlinearity == "relu")


class GruLayer(RecurrentLayer, nn.GRU):
    """Reset r, update z, candidate n (Cho et al. 2014):

        r, z = σ(x + W_h h + b_h), each with its own rows      n = tanh(x_n + r ⊙ (W_n h + b_n))
        h' = (1 − z) ⊙ n + z ⊙ h

    In the paper r acts on h, before W_n; here after it, as in torch, so that one product serves all three.
    """

    points = ("reset", "update", "candidate", "hidden")

    def step(self, x: Tensor, state: State, see: Steps) -> State:
        (h,) = state
        x_r, x_z, x_n = x.chunk(3, dim=-1)  # (batch, unit) each
        h_r, h_z, h_n = F.linear(h, self.weight_hh_l0, self.bias_hh_l0).chunk(3, dim=-1)
        r = see("reset", (x_r + h_r).sigmoid())
        z = see("update", (x_z + h_z).sigmoid())
        n = see("candidate", (x_n + r * h_n).tanh())
        return (see("hidden", (1 - z) * n + z * h, h),)

    def own_kernel(self, x: Tensor, h: Tensor, sizes: list[int]) -> Tensor:
        return GruKernel.apply(x, h, self.weight_hh_l0, self.bias_hh_l0, sizes)


class LstmLayer(RecurrentLayer, nn.LSTM):
    """Input i, forget f, output o, candidate g (Hochreiter & Schmidhuber 1997; Gers et al. 2000):

    i, f, o = σ(x + W_h h + b_h), g = tanh(of the same), each with its own rows
    c' = f ⊙ c + i ⊙ g      h' = o ⊙ tanh(c')
    """

    points = ("input", "forget", "candidate", "output", "cell", "hidden")
    n_states = 2

    def kernel(self, x: Tensor | PackedSequence, state: State) -> tuple[Tensor | PackedSequence, State]:
        h, c = state
        outputs, (h, c) = nn.LSTM.forward(self, x, (h[None], c[None]))
        return outputs, (h[0], c[0])

    def step(self, x: Tensor, state: State, see: Steps) -> State:
        h, c = state
        total = x + F.linear(h, self.weight_hh_l0, self.bias_hh_l0)  # (batch, 4 · unit)
        i, f, g, o = total.chunk(4, dim=-1)  # (batch, unit) each
        i = see("input", i.sigmoid())
        f = see("forget", f.sigmoid())
        g = see("candidate", g.tanh())
        o = see("output", o.sigmoid())
        c = see("cell", f * c + i * g, c)
        return see("hidden", o * c.tanh(), h), c


CELLS: dict[str, type[RecurrentLayer]] = {"rnn": RnnLayer, "gru": GruLayer, "lstm": LstmLayer}


class Directions(nn.Module):
    """One layer, read forwards and, if bidirectional, backwards too; outputs and states are concatenated."""

    def __init__(self, cell: str, d_in: int, d_hidden: int, bidirectional: bool, **cell_options: str):
        super().__init__()
        self.fwd = CELLS[cell](d_in, d_hidden, **cell_options)
        self.bwd = CELLS[cell](d_in, d_hidden, **cell_options) if bidirectional else None

    def forward(
        self, x: Tensor, lengths: Tensor | None, state: State | None, engine: str, need_state: bool
    ) -> tuple[Tensor, State]:
        """x (batch, time, d_in) → outputs (batch, time, directions · unit), last states (read backwards: at t = 0)"""
        outputs, last = self.fwd(x, lengths, state, backward=False, engine=engine, need_state=need_state)
        if self.bwd is None:
            return outputs, last
        backwards, first = self.bwd(x, lengths, None, backward=True, engine=engine, need_state=need_state)
        both = zip(last, first, strict=False)  # one engine may tell the last cell, the other not
        joined = tuple(torch.cat(pair, dim=-1) for pair in both)
        return torch.cat([outputs, backwards], dim=-1), joined


class Recurrent(nn.Module):
    """Layers on top of each other. x (batch, time, d_in) → outputs (batch, time, directions · unit), states."""

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
            Directions(cell, self.d_out if i else d_in, d_hidden, bidirectional, **cell_options)
            for i in range(n_layers)
        )

    def run(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        states: list[State] | None = None,
        need_state: bool = False,
    ) -> tuple[Tensor, list[State]]:
        """The last states of an LSTM hold its cells only with `need_state`: on padded batches they cost extra."""
        lasts = []
        for i, layer in enumerate(self.layers):
            x = self.dropout(x.contiguous()) if i else x  # noise is drawn in memory's order: alike for both engines
            x, last = layer(x, lengths, states and states[i], self.engine, need_state)
            lasts.append(last)
        return x, lasts
