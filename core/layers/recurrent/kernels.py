"""RNN and GRU over a whole sequence with hand-written gradients, faster in training on the CPU.

torch adds a dozen autograd nodes per position (time step) there; here a layer is one node. The loops do only what
depends on the position before; the rest, above all the gradients of the weights, is done for all positions at once.
The numbers are torch's up to rounding.

Sequences come as rows without padding (`packing.py`): `sizes[t]` sequences have a position t, and they are the first
ones of those at t − 1. ∂ stands for the gradient of the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_batchedtensor, is_legacy_batchedtensor

from core.layers.linear import linear

Gradients = tuple[Tensor | None, ...]


class NoSecondDerivative(torch.autograd.Function):
    """The identity on gradients computed from `sources`; raises when they are differentiated again."""

    @staticmethod
    def forward(ctx: Any, gradients: Gradients, *sources: Tensor) -> Gradients:
        return gradients

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Gradients:
        raise RuntimeError(
            "The fast kernels of RNN and GRU have no second derivative: build the model with engine='stepwise'."
        )


def first_derivative_only(backward: Callable[[Any, Tensor], Gradients]) -> Callable[..., Gradients]:
    """As torch's `once_differentiable`, with an error that names the remedy, and raised for a constant ∂ too."""

    @wraps(backward)
    def once(ctx: Any, grad: Tensor) -> Gradients:
        if is_batchedtensor(grad) or is_legacy_batchedtensor(grad):
            raise RuntimeError(
                "The fast kernels of RNN and GRU take one gradient at a time: build the model with engine='stepwise'."
            )
        with torch.no_grad():
            gradients = backward(ctx, grad)
        if not torch.is_grad_enabled():
            return gradients
        return NoSecondDerivative.apply(gradients, grad, *ctx.saved_tensors)

    return once


class RnnKernel(torch.autograd.Function):
    """h_t = f(a_t) with a_t = x_t + W h_{t−1} + b and f = tanh or relu

    ∂a_t = ∂h_t ⊙ f′(a_t)      ∂h_{t−1} gets Wᵀ ∂a_t
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, h: Tensor, w: Tensor, b: Tensor, sizes: list[int], relu: bool) -> Tensor:
        """x (row, unit), first state h (batch, unit) → all states (row, unit)"""
        ctx.sizes, ctx.relu, first = sizes, relu, h
        hidden = x + b
        w_transposed, activate = w.T.contiguous(), torch.relu_ if relu else torch.tanh_
        for now in hidden.split(sizes):
            h = activate(now.addmm_(h[: len(now)], w_transposed))
        ctx.save_for_backward(hidden, first, w)
        return hidden

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad: Tensor) -> Gradients:
        hidden, first, w = ctx.saved_tensors
        slopes = (hidden > 0).to(w.dtype) if ctx.relu else 1 - hidden * hidden
        grad_a, grad_first = grad.clone(memory_format=torch.contiguous_format), torch.zeros_like(first)
        positions = split_positions(ctx.sizes, grad_a, slopes), previous_rows(grad_a, grad_first, ctx.sizes)
        for (now, slope), previous in reversed(list(zip(*positions, strict=True))):
            previous.addmm_(now.mul_(slope), w)  # in place: ∂h_t becomes ∂a_t
        h = torch.cat(previous_rows(hidden, first, ctx.sizes))
        return grad_a, grad_first, *weight_gradients(ctx, grad_a, h), None, None


class GruKernel(torch.autograd.Function):
    """r, z = σ(x_t + W h_{t−1} + b), m = W_n h_{t−1} + b_n, n = tanh(x_n + r ⊙ m), h_t = n + z ⊙ (h_{t−1} − n)

    ∂n = ∂h_t ⊙ (1 − z)(1 − n²)    ∂m = ∂n ⊙ r    ∂r = ∂n ⊙ m r(1 − r)    ∂z = ∂h_t ⊙ (h_{t−1} − n) z(1 − z),
    each before its σ or tanh; all are ∂h_t times a known slope.    ∂h_{t−1} gets ∂h_t ⊙ z + Wᵀ(∂r, ∂z, ∂m)
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, h: Tensor, w: Tensor, b: Tensor, sizes: list[int]) -> Tensor:
        """x (row, 3 · unit), first state h (batch, unit) → all states (row, unit)"""
        ctx.sizes, first, unit = sizes, h, h.shape[1]
        gates = x + b  # overwritten by r, z, m
        gates[:, 2 * unit :] = b[2 * unit :]
        candidates, hidden = (x.new_empty(len(x), unit) for _ in range(2))
        columns = [gates, gates[:, : 2 * unit], *gates.chunk(3, dim=1), x[:, 2 * unit :], candidates, hidden]
        w_transposed = w.T.contiguous()
        for total, rz, r, z, m, x_n, n, now in split_positions(sizes, *columns):
            h = h[: len(now)]
            total.addmm_(h, w_transposed)
            rz.sigmoid_()
            torch.addcmul(x_n, r, m, out=n).tanh_()
            h = torch.lerp(n, h, z, out=now)
        ctx.save_for_backward(gates, candidates, hidden, first, w)
        return hidden

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad: Tensor) -> Gradients:
        gates, n, hidden, first, w = ctx.saved_tensors
        r, z, m = gates.chunk(3, dim=1)
        h = torch.cat(previous_rows(hidden, first, ctx.sizes))
        slope_n = (1 - z) * (1 - n * n)  # ∂n = ∂h_t ⊙ slope_n
        slope_m = slope_n * r
        # (row, 3, unit), of r, z and m
        slopes = torch.stack([slope_m * m * (1 - r), (h - n) * z * (1 - z), slope_m], dim=1)
        grad_gates = torch.empty_like(slopes)
        grad_h, grad_first = grad.clone(memory_format=torch.contiguous_format), torch.zeros_like(first)
        positions = (
            split_positions(ctx.sizes, grad_h, slopes, z, grad_gates),
            previous_rows(grad_h, grad_first, ctx.sizes),
        )
        for (now, slope, z_t, now_gates), previous in reversed(list(zip(*positions, strict=True))):
            torch.mul(now[:, None], slope, out=now_gates)
            previous.addcmul_(now, z_t).addmm_(now_gates.flatten(1), w)
        grad_x = grad_gates.clone()
        torch.mul(grad_h, slope_n, out=grad_x[:, 2])
        return grad_x.flatten(1), grad_first, *weight_gradients(ctx, grad_gates.flatten(1), h), None


def split_positions(sizes: list[int], *columns: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """For each position, its rows of every column."""
    return zip(*(column.split(sizes) for column in columns), strict=True)


def previous_rows(rows: Tensor, first: Tensor, sizes: list[int]) -> list[Tensor]:
    """For each position, the rows of the position before (initially `first`) of the sequences that have not ended."""
    return [first, *(position[:size] for position, size in zip(rows.split(sizes), sizes[1:], strict=False))]


def weight_gradients(ctx: Any, grad: Tensor, h: Tensor) -> Gradients:
    """∂W and ∂b of W h + b, from all rows at once; None where not needed"""
    _, _, needs_w, needs_b, *_ = ctx.needs_input_grad
    return linear(grad.T, h.T) if needs_w else None, grad.sum(0) if needs_b else None
