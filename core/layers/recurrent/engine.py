"""How a recurrence is run over time: two engines over one set of weights.

*fused* hands the whole sequence to a kernel: torch's, or our own (`kernels.py`) where that trains faster.
*stepwise* takes one time step after the other, through the equations in `recurrent.py`; it runs when somebody looks
inside, or always with `engine="stepwise"`. Both give the same numbers.

Padding stands at the end of a row. It never updates a state, and outputs there are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from core.capture.tape import Steps, wanted
from core.layers.linear import linear
from core.layers.masks import valid_mask
from core.layers.recurrent.packing import Rows

State = tuple[Tensor, ...]  # (hidden,) or, for the LSTM, (hidden, cell); each (batch, unit)
MANY_STEPS = 12  # from which on our own kernels make up for what they cost to start


class RecurrentLayer(nn.RNNBase):
    """One layer in one direction. Subclasses add torch's kernel and the equations of one step."""

    points: ClassVar[tuple[str, ...]]
    n_states: ClassVar[int] = 1
    own_kernel: Callable[[Tensor, Tensor, list[int]], Tensor] | None = None

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | None,
        state: State | None,
        *,
        backward: bool,
        engine: str,
        need_state: bool,
    ) -> tuple[Tensor, State]:
        """x (batch, time, d_in) → outputs (batch, time, unit), last valid state"""
        if not x.is_meta and torch.is_autocast_enabled(x.device.type):  # rounding errors would add up in time
            with torch.autocast(x.device.type, enabled=False):
                x = x.to(self.weight_ih_l0.dtype)
                return self(x, lengths, state, backward=backward, engine=engine, need_state=need_state)
        state = state or tuple(x.new_zeros(len(x), self.hidden_size) for _ in range(self.n_states))
        if engine == "stepwise" or wanted(self, *self.points):
            return self.stepwise(x, lengths, state, backward)
        if self.own_kernel and x.shape[1] >= MANY_STEPS and kernels_fit(x):
            return self.by_rows(x, lengths, state, backward)
        if lengths is not None and need_state and self.n_states > 1:
            return self.packed(x, lengths, state, backward)
        return self.fused(x, lengths, state, backward)

    def by_rows(self, x: Tensor, lengths: Tensor | None, state: State, backward: bool) -> tuple[Tensor, State]:
        """Our own kernel, over the valid steps alone."""
        rows = Rows(*x.shape[:2], lengths, backward)
        projected = linear(rows.gather(x), self.weight_ih_l0, self.bias_ih_l0)  # (row, gates · unit)
        hidden = self.own_kernel(projected, rows.sort(state[0]), rows.sizes)
        return rows.spread(hidden), (rows.ends(hidden),)

    def fused(self, x: Tensor, lengths: Tensor | None, state: State, backward: bool) -> tuple[Tensor, State]:
        """Run over padding too, then blank it: on a CPU faster than packing."""
        x = turn(x, lengths) if backward else x
        outputs, last = self.kernel(x.transpose(0, 1), state)  # time first, as the kernel works
        if lengths is not None:
            last = (outputs[lengths - 1, torch.arange(len(x), device=x.device)],)
            outputs = outputs.masked_fill(~valid_mask(lengths, x.shape[1]).T[..., None], 0.0)
        outputs = outputs.transpose(0, 1)
        return (turn(outputs, lengths) if backward else outputs), last

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
        in_time = x.transpose(0, 1).contiguous()
        projected = linear(in_time, self.weight_ih_l0, self.bias_ih_l0).unbind()  # time × (batch, gates · unit)
        running = [None] * time if lengths is None else running_steps(lengths, time)
        outputs: list[Tensor] = [None] * time
        see = Steps(self, time)
        for t in reversed(range(time)) if backward else range(time):
            see.time, see.running = t, running[t]
            state = self.step(projected[t], state, see)
            outputs[t] = state[0]
        see.close()
        stacked = torch.stack(outputs, dim=1)
        if lengths is not None:
            stacked = stacked.masked_fill(~valid_mask(lengths, time)[..., None], 0.0)
        return stacked, state

    def step(self, x: Tensor, state: State, see: Steps) -> State:
        """One time step; x (batch, gates · unit) is W_x x_t + b_x already."""
        raise NotImplementedError


def kernels_fit(x: Tensor) -> bool:
    """Our own are for gradients on the CPU, but neither for those of torch.func nor for those taken forwards."""
    usual = forward_ad._current_level < 0 and not torch._C._are_functorch_transforms_active()
    return torch.is_grad_enabled() and x.device.type == "cpu" and usual


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
