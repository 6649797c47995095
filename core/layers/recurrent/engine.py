"""How a recurrence is run over time: two engines over one set of weights.

*fused* passes the whole sequence to a kernel: torch's, or our own (`kernels.py`) where that trains faster.
*stepwise* computes one position (time step) after the other, by the equations in `cells.py`; it runs when the layer is
tapped, or always with `engine="stepwise"`. Both give the same numbers.

Padding is at the end of a row. It never updates a state, and outputs there are 0.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from core.capture.taps import RecurrentTap, is_tapped
from core.layers.linear import linear
from core.layers.masks import valid_mask
from core.layers.recurrent.packing import PackedBatch

State = tuple[Tensor, ...]  # (hidden,) or, for the LSTM, (hidden, cell); each (batch, unit)
Inputs = TypeVar("Inputs", Tensor, PackedSequence)
MIN_KERNEL_LENGTH = 12  # on shorter sequences the overhead of our own kernels is larger than their gain


class RecurrentLayer(nn.RNNBase):
    """One layer in one direction. Subclasses add torch's kernel and the equations of one position."""

    points: ClassVar[tuple[str, ...]]
    n_states: ClassVar[int] = 1
    has_custom_kernel: ClassVar[bool] = False
    weight_ih_l0: Tensor  # (gates · unit, d_in)
    weight_hh_l0: Tensor  # (gates · unit, unit)
    bias_ih_l0: Tensor  # (gates · unit,)
    bias_hh_l0: Tensor

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
        if engine == "stepwise" or is_tapped(self, *self.points):
            return self.run_stepwise(x, lengths, state, backward)
        if self.has_custom_kernel and x.shape[1] >= MIN_KERNEL_LENGTH and custom_kernels_apply(x):
            return self.run_custom_kernel(x, lengths, state, backward)
        if lengths is not None and need_state and self.n_states > 1:
            return self.run_packed(x, lengths, state, backward)
        return self.run_padded(x, lengths, state, backward)

    def run_custom_kernel(
        self, x: Tensor, lengths: Tensor | None, state: State, backward: bool
    ) -> tuple[Tensor, State]:
        """Our own kernel, over the valid positions alone."""
        batch, time, _ = x.shape
        packed = PackedBatch(batch, time, lengths, backward)
        projected = linear(packed.pack(x), self.weight_ih_l0, self.bias_ih_l0)  # (row, gates · unit)
        hidden = self.custom_kernel(projected, packed.sort(state[0]), packed.sizes)
        return packed.unpack(hidden), (packed.last(hidden),)

    def run_padded(self, x: Tensor, lengths: Tensor | None, state: State, backward: bool) -> tuple[Tensor, State]:
        """torch's kernel over padding too, with outputs there set to 0: on a CPU faster than packing."""
        x = reverse_sequences(x, lengths) if backward else x
        outputs, last = self.torch_kernel(x.transpose(0, 1), state)  # time first, as the kernel works
        if lengths is not None:
            last = (outputs[lengths - 1, torch.arange(len(x), device=x.device)],)
            outputs = outputs.masked_fill(~valid_mask(lengths, x.shape[1]).T[..., None], 0.0)
        outputs = outputs.transpose(0, 1)
        return (reverse_sequences(outputs, lengths) if backward else outputs), last

    def run_packed(self, x: Tensor, lengths: Tensor, state: State, backward: bool) -> tuple[Tensor, State]:
        """torch's kernel on a `PackedSequence`: slower, but returns each sequence's last cell state too."""
        x = reverse_sequences(x, lengths) if backward else x
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed_outputs, last = self.torch_kernel(packed, state)
        outputs, _ = pad_packed_sequence(packed_outputs, batch_first=True, total_length=x.shape[1])
        return (reverse_sequences(outputs, lengths) if backward else outputs), last

    def run_stepwise(self, x: Tensor, lengths: Tensor | None, state: State, backward: bool) -> tuple[Tensor, State]:
        """The equations, one position after the other."""
        time = x.shape[1]
        time_first = x.transpose(0, 1).contiguous()
        projected = linear(time_first, self.weight_ih_l0, self.bias_ih_l0).unbind()  # time × (batch, gates · unit)
        active = active_masks(lengths, time)
        outputs: list[Tensor] = []
        tap = RecurrentTap(self, time)
        for t in reversed(range(time)) if backward else range(time):
            tap.time, tap.active = t, active[t]
            state = self.step(projected[t], state, tap)
            outputs.append(state[0])
        tap.close()
        stacked = torch.stack(outputs[::-1] if backward else outputs, dim=1)
        if lengths is not None:
            stacked = stacked.masked_fill(~valid_mask(lengths, time)[..., None], 0.0)
        return stacked, state

    def torch_kernel(self, x: Inputs, state: State) -> tuple[Inputs, State]:
        """nn.RNN or nn.GRU, the next class in the method resolution order."""
        outputs, last = super().forward(x, state[0][None])
        return outputs, (last[0],)

    def custom_kernel(self, x: Tensor, h: Tensor, sizes: list[int]) -> Tensor:
        """Projected inputs x (row, gates · unit), first state h (batch, unit) → hidden states (row, unit)"""
        raise NotImplementedError

    def step(self, x: Tensor, state: State, tap: RecurrentTap) -> State:
        """The state after one position; x (batch, gates · unit) is W_x x_t + b_x already."""
        raise NotImplementedError


def custom_kernels_apply(x: Tensor) -> bool:
    """Our own kernels are for gradients on the CPU, but not for those of torch.func or forward-mode autograd."""
    reverse_mode = forward_ad._current_level < 0 and not torch._C._are_functorch_transforms_active()
    return torch.is_grad_enabled() and x.device.type == "cpu" and reverse_mode


def reverse_sequences(x: Tensor, lengths: Tensor | None) -> Tensor:
    """(batch, time, unit), each sequence reversed within its own length; padding stays at the end"""
    if lengths is None:
        return x.flip(1)
    time = torch.arange(x.shape[1], device=x.device)
    mirrored = torch.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)
    return x.gather(1, mirrored[..., None].expand_as(x))


def active_masks(lengths: Tensor | None, time: int) -> list[Tensor | None]:
    """Per position, which sequences have not ended yet, (batch, 1); None while none has."""
    if lengths is None:
        return [None] * time
    shortest = int(lengths.min())
    valid = valid_mask(lengths, time)
    return [None if t < shortest else valid[:, t, None] for t in range(time)]
