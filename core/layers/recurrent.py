"""Recurrent layers, two engines over one set of weights.

*fused* hands the whole padded sequence to torch's kernel. *stepwise* writes the equations out, one time step at a
time; it runs when somebody looks inside, or always with `engine="stepwise"`. Both give the same numbers.

Padding stands at the end of a row. It never updates a state, and outputs there are 0.
"""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from core.layers.masks import last_valid, valid_mask
from core.tape import Steps, wanted

State = tuple[Tensor, ...]  # (hidden,) or, for the LSTM, (hidden, cell); each (batch, unit)


class RecurrentLayer(nn.RNNBase):
    """One layer in one direction. Subclasses add torch's kernel and the equations of one step."""

    points: ClassVar[tuple[str, ...]]
    n_states: ClassVar[int] = 1

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | None,
        state: State | None,
        backward: bool,
        engine: str,
        need_state: bool,
    ) -> tuple[Tensor, State]:
        """x (batch, time, d_in) → outputs (batch, time, unit), last valid state"""
        if not x.is_meta and torch.is_autocast_enabled(x.device.type):  # rounding errors would add up in time
            with torch.autocast(x.device.type, enabled=False):
                return self(x.to(self.weight_ih_l0.dtype), lengths, state, backward, engine, need_state)
        state = state or tuple(x.new_zeros(len(x), self.hidden_size) for _ in range(self.n_states))
        if engine == "stepwise" or wanted(self, *self.points):
            return self.stepwise(x, lengths, state, backward)
        if lengths is not None and need_state and self.n_states > 1:
            return self.packed(x, lengths, state, backward)
        return self.fused(x, lengths, state, backward)

    def fused(self, x: Tensor, lengths: Tensor | None, state: State, backward: bool) -> tuple[Tensor, State]:
        """Run over padding too, then blank it: on a CPU faster than packing."""
        outputs, last = self.kernel(turn(x, lengths) if backward else x, state)
        if lengths is None:
            return (turn(outputs, None) if backward else outputs), last
        hidden = last_valid(outputs, lengths)
        outputs = outputs * valid_mask(lengths, x.shape[1])[..., None]
        return (turn(outputs, lengths) if backward else outputs), (hidden,)

    def packed(self, x: Tensor, lengths: Tensor, state: State, backward: bool) -> tuple[Tensor, State]:
        """Slower, but knows each sequence's last cell, which the padded kernel does not tell."""
        x = turn(x, lengths) if backward else x
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.kernel(packed, state)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
        return (turn(outputs, lengths) if backward else outputs), last

    def kernel(self, x: Tensor | PackedSequence, state: State) -> tuple[Tensor | PackedSequence, State]:
        """torch's own: nn.RNN or nn.GRU, next in the line of inheritance."""
        outputs, last = super().forward(x, state[0][None])
        return outputs, (last[0],)

    def stepwise(self, x: Tensor, lengths: Tensor | None, state: State, backward: bool) -> tuple[Tensor, State]:
        """The equations, one time step after the other."""
        time = x.shape[1]
        projected = F.linear(x, self.weight_ih_l0, self.bias_ih_l0).unbind(1)  # time × (batch, gates · unit)
        running = [None] * time if lengths is None else running_steps(lengths, time)
        outputs: list[Tensor] = [None] * time
        see = Steps(self, time)
        for t in reversed(range(time)) if backward else range(time):
            see.time, see.running = t, running[t]
            state = self.step(projected[t], state, see)
            outputs[t] = state[0]
        see.close()
        stacked = torch.stack(outputs, dim=1)
        return (stacked if lengths is None else stacked * valid_mask(lengths, time)[..., None]), state

    def step(self, x: Tensor, state: State, see: Steps) -> State:
        """One time step; x (batch, gates · unit) is W_x x_t + b_x already."""
        raise NotImplementedError


class RnnLayer(RecurrentLayer, nn.RNN):
    """h' = tanh(W_x x + b_x + W_h h + b_h), or relu (Elman 1990)"""

    points = ("hidden",)

    def step(self, x: Tensor, state: State, see: Steps) -> State:
        (h,) = state
        sum_ = x + F.linear(h, self.weight_hh_l0, self.bias_hh_l0)
        return (see("hidden", sum_.tanh() if self.nonlinearity == "tanh" else sum_.relu(), h),)


class GruLayer(RecurrentLayer, nn.GRU):
    """Reset r, update z, candidate n: h' = (1 − z) ⊙ n + z ⊙ h (Cho et al. 2014)"""

    points = ("reset", "update", "candidate", "hidden")

    def step(self, x: Tensor, state: State, see: Steps) -> State:
        (h,) = state
        x_r, x_z, x_n = x.chunk(3, dim=-1)
        h_r, h_z, h_n = F.linear(h, self.weight_hh_l0, self.bias_hh_l0).chunk(3, dim=-1)
        r = see("reset", (x_r + h_r).sigmoid())
        z = see("update", (x_z + h_z).sigmoid())
        n = see("candidate", (x_n + r * h_n).tanh())
        return (see("hidden", (1 - z) * n + z * h, h),)


class LstmLayer(RecurrentLayer, nn.LSTM):
    """Input i, forget f, output o, candidate g: c' = f ⊙ c + i ⊙ g, h' = o ⊙ tanh(c')

    (Hochreiter & Schmidhuber 1997; Gers et al. 2000)
    """

    points = ("input", "forget", "candidate", "output", "cell", "hidden")
    n_states = 2

    def kernel(self, x: Tensor | PackedSequence, state: State) -> tuple[Tensor | PackedSequence, State]:
        h, c = state
        outputs, (h, c) = nn.LSTM.forward(self, x, (h[None], c[None]))
        return outputs, (h[0], c[0])

    def step(self, x: Tensor, state: State, see: Steps) -> State:
        h, c = state
        i, f, g, o = (x + F.linear(h, self.weight_hh_l0, self.bias_hh_l0)).chunk(4, dim=-1)
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
        self.fwd = CELLS[cell](d_in, d_hidden, batch_first=True, **cell_options)
        self.bwd = CELLS[cell](d_in, d_hidden, batch_first=True, **cell_options) if bidirectional else None

    def forward(
        self, x: Tensor, lengths: Tensor | None, state: State | None, engine: str, need_state: bool
    ) -> tuple[Tensor, State]:
        outputs, last = self.fwd(x, lengths, state, False, engine, need_state)
        if self.bwd is None:
            return outputs, last
        backwards, first = self.bwd(x, lengths, None, True, engine, need_state)
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
            x = self.dropout(x.contiguous()) if i else x  # noise follows the memory: the same for both engines
            x, last = layer(x, lengths, states and states[i], self.engine, need_state)
            lasts.append(last)
        return x, lasts


def turn(x: Tensor, lengths: Tensor | None) -> Tensor:
    """(batch, time, unit), each sequence reversed within its own length; padding stays where it is."""
    if lengths is None:
        return x.flip(1)
    time = torch.arange(x.shape[1], device=x.device)
    mirrored = torch.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)
    return x.gather(1, mirrored[..., None].expand_as(x))


def running_steps(lengths: Tensor, time: int) -> list[Tensor | None]:
    """Per step, which sequences still run, (batch, 1); None while all of them do."""
    shortest = int(lengths.min())
    valid = valid_mask(lengths, time)
    return [None if t < shortest else valid[:, t, None] for t in range(time)]
