"""RNN and GRU over all time steps, gradients included: for the CPU, where torch leaves a dozen nodes of autograd behind
at every step. Here a layer is one node. Its loops do only what must wait for the step before; the rest, above all the
gradients of the weights, is done for all steps at once. The numbers are torch's up to rounding.

Sequences come as rows without padding, see `rows.py`: `sizes[t]` of them run at step t, and they are the first ones of
those at t − 1. ∂ stands for the gradient of the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

import torch
from torch import Tensor
from torch._C._functorch import is_batchedtensor, is_legacy_batchedtensor
from torch.autograd.function import FunctionCtx

from core.layers.linear import linear

Gradients = tuple[Tensor | None, ...]


class NoSecondDerivative(torch.autograd.Function):
    """Gradients that come from `sources`, which are not to be differentiated again."""

    @staticmethod
    def forward(ctx: FunctionCtx, gradients: Gradients, *sources: Tensor) -> Gradients:
        return gradients

    @staticmethod
    def backward(ctx: FunctionCtx, *_: Tensor) -> Gradients:
        raise RuntimeError(
            "The fast kernels of RNN and GRU have no second derivative: build the model with engine='stepwise'."
        )


def first_derivative(backward: Callable[[FunctionCtx, Tensor], Gradients]) -> Callable[..., Gradients]:
    """As torch's `once_differentiable`, but it says what to do instead, and notices a constant ∂ too."""

    @wraps(backward)
    def once(ctx: FunctionCtx, grad: Tensor) -> Gradients:
        if is_batchedtensor(grad) or is_legacy_batchedtensor(grad):
            raise RuntimeError(
                "The fast kernels of RNN and GRU take one gradient at a time: build the model with engine='stepwise'."
            )
        with torch.no_grad():
            found = backward(ctx, grad)
        return NoSecondDerivative.apply(found, grad, *ctx.saved_tensors) if torch.is_grad_enabled() else found

    return once


class RnnKernel(torch.autograd.Function):
    """h_t = f(a_t) with a_t = x_t + W h_{t−1} + b and f = tanh or relu

    ∂a_t = ∂h_t ⊙ f′(a_t)      ∂h_{t−1} gets Wᵀ ∂a_t
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, h: Tensor, w: Tensor, b: Tensor, sizes: list[int], relu: bool) -> Tensor:
        """x (row, unit), first state h (batch, unit) → all states (row, unit)"""
        ctx.sizes, ctx.relu, first = sizes, relu, h
        hidden = x + b
        turned, activate = w.T.contiguous(), torch.relu_ if relu else torch.tanh_
        for now in hidden.split(sizes):
            h = activate(now.addmm_(h[: len(now)], turned))
        ctx.save_for_backward(hidden, first, w)
        return hidden

    @staticmethod
    @first_derivative
    def backward(ctx: FunctionCtx, grad: Tensor) -> Gradients:
        hidden, first, w = ctx.saved_tensors
        slopes = (hidden > 0).to(w.dtype) if ctx.relu else 1 - hidden * hidden
        grad_a, grad_first = grad.clone(memory_format=torch.contiguous_format), torch.zeros_like(first)
        steps = steps_of(ctx.sizes, grad_a, slopes), before(grad_a, grad_first, ctx.sizes)
        for (now, slope), earlier in reversed(list(zip(*steps, strict=True))):
            earlier.addmm_(now.mul_(slope), w)  # what was ∂h_t is now ∂a_t
        h = torch.cat(before(hidden, first, ctx.sizes))
        return grad_a, grad_first, *weight_gradients(ctx, grad_a, h), None, None


class GruKernel(torch.autograd.Function):
    """r, z = σ(x_t + W h_{t−1} + b), m = W_n h_{t−1} + b_n, n = tanh(x_n + r ⊙ m), h_t = n + z ⊙ (h_{t−1} − n)

    ∂n = ∂h_t ⊙ (1 − z)(1 − n²)    ∂m = ∂n ⊙ r    ∂r = ∂n ⊙ m r(1 − r)    ∂z = ∂h_t ⊙ (h_{t−1} − n) z(1 − z),
    each before its σ or tanh; all are ∂h_t times something known.    ∂h_{t−1} gets ∂h_t ⊙ z + Wᵀ(∂r, ∂z, ∂m)
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, h: Tensor, w: Tensor, b: Tensor, sizes: list[int]) -> Tensor:
        """x (row, 3 · unit), first state h (batch, unit) → all states (row, unit)"""
        ctx.sizes, first, unit = sizes, h, h.shape[1]
        gates = x + b  # becomes r, z, m
        gates[:, 2 * unit :] = b[2 * unit :]
        new, hidden = (x.new_empty(len(x), unit) for _ in range(2))
        columns = [gates, gates[:, : 2 * unit], *gates.chunk(3, dim=1), x[:, 2 * unit :], new, hidden]
        turned = w.T.contiguous()
        for total, rz, r, z, m, x_n, n, now in steps_of(sizes, *columns):
            h = h[: len(now)]
            total.addmm_(h, turned)
            rz.sigmoid_()
            torch.addcmul(x_n, r, m, out=n).tanh_()
            h = torch.lerp(n, h, z, out=now)
        ctx.save_for_backward(gates, new, hidden, first, w)
        return hidden

    @staticmethod
    @first_derivative
    def backward(ctx: FunctionCtx, grad: Tensor) -> Gradients:
        gates, n, hidden, first, w = ctx.saved_tensors
        r, z, m = gates.chunk(3, dim=1)
        h = torch.cat(before(hidden, first, ctx.sizes))
        by_n = (1 - z) * (1 - n * n)
        by_m = by_n * r
        slopes = torch.stack([by_m * m * (1 - r), (h - n) * z * (1 - z), by_m], dim=1)  # (row, 3, unit)
        grad_gates = torch.empty_like(slopes)
        grad_h, grad_first = grad.clone(memory_format=torch.contiguous_format), torch.zeros_like(first)
        steps = steps_of(ctx.sizes, grad_h, slopes, z, grad_gates), before(grad_h, grad_first, ctx.sizes)
        for (now, slope, z_t, now_gates), earlier in reversed(list(zip(*steps, strict=True))):
            torch.mul(now[:, None], slope, out=now_gates)
            earlier.addcmul_(now, z_t).addmm_(now_gates.flatten(1), w)
        grad_x = grad_gates.clone()
        torch.mul(grad_h, by_n, out=grad_x[:, 2])
        return grad_x.flatten(1), grad_first, *weight_gradients(ctx, grad_gates.flatten(1), h), None


def steps_of(sizes: list[int], *columns: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The columns' rows, one time step after the other."""
    return zip(*(column.split(sizes) for column in columns), strict=True)


def before(hidden: Tensor, first: Tensor, sizes: list[int]) -> list[Tensor]:
    """For each step, the states (or what belongs to them) of the step before, in the rows that still run."""
    return [first, *(step[:size] for step, size in zip(hidden.split(sizes), sizes[1:], strict=False))]


def weight_gradients(ctx: FunctionCtx, grad: Tensor, h: Tensor) -> Gradients:
    """Of W and b in W h + b, from all rows at once."""
    _, _, w_wanted, b_wanted, *_ = ctx.needs_input_grad
    return linear(grad.T, h.T) if w_wanted else None, grad.sum(0) if b_wanted else None
