"""The affine map that every layer is made of, y = x Wᵀ + b, by the quickest product the processor has.

torch multiplies float32 matrices with Intel's MKL, which leaves the widest registers of AMD's processors unused.
oneDNN, another part of torch, uses them: a large product takes about half the time there, and gives the same numbers
but for rounding. Small products and all other processors keep torch's own way.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx

LARGE = 1 << 22  # multiplications, from which on it does not matter that oneDNN and a node of our own take a while


class Linear(nn.Linear):
    """nn.Linear in all but speed."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (…, in), weight (out, in), bias (out,) → (…, out)"""
    if x.numel() * len(weight) >= LARGE and onednn_is_quicker() and onednn_fits(x, weight):
        return OneDnn.apply(x if dense(x) else x.contiguous(), weight, bias)
    return F.linear(x, weight, bias)


class OneDnn(torch.autograd.Function):
    """∂x = ∂y W      ∂W = ∂yᵀ x      ∂b = Σ ∂y, which are products too, and may be differentiated again"""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        (x, weight), (x_wanted, weight_wanted, bias_wanted) = ctx.saved_tensors, ctx.needs_input_grad
        grad = grad.contiguous()
        rows, grad_rows = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
        return (
            linear(grad, weight.T) if x_wanted else None,
            linear(grad_rows.T, rows.T) if weight_wanted else None,
            grad_rows.sum(0) if bias_wanted else None,
        )


@cache
def onednn_is_quicker() -> bool:
    processor = torch.cpu.get_capabilities()
    wide = processor.get("avx512_f", False) and "AMD" in processor.get("cpu_name", "")
    return wide and torch.backends.mkldnn.is_available()


def onednn_fits(x: Tensor, weight: Tensor) -> bool:
    """Plain numbers, weights without gaps in memory, while nobody follows torch's operations."""
    followed = (
        torch.is_autocast_enabled("cpu")
        or forward_ad._current_level >= 0
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_function_stack()
        or torch._C._len_torch_dispatch_stack()
    )
    plain = x.dtype == weight.dtype == torch.float32 and x.device.type == weight.device.type == "cpu"
    return plain and dense(weight) and not followed and torch.backends.mkldnn.enabled


def dense(x: Tensor) -> bool:
    """By rows or by columns: anything else oneDNN takes very slowly."""
    return x.is_contiguous() or (x.ndim == 2 and x.T.is_contiguous())
