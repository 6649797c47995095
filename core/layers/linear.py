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

LARGE = 1 << 22  # multiplications, from which on oneDNN makes up for what it costs to start


class Linear(nn.Linear):
    """nn.Linear in all but speed."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (…, in), weight (out, in), bias (out,) → (…, out)"""
    if x.numel() * len(weight) >= LARGE and onednn_is_quicker() and onednn_fits(x, weight, bias):
        return OneDnn.apply(x if dense(x) else x.contiguous(), weight, bias)
    return F.linear(x, weight, bias)


class OneDnn(torch.autograd.Function):
    """∂x = ∂y W      ∂W = ∂yᵀ x      ∂b = Σ ∂y, which are products too, and may be differentiated again"""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        x_wanted, weight_wanted, _ = ctx.needs_input_grad
        ctx.save_for_backward(x if weight_wanted else None, weight if x_wanted else None)
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        (x, weight), (x_wanted, weight_wanted, bias_wanted) = ctx.saved_tensors, ctx.needs_input_grad
        grad = grad.contiguous()
        grad_rows = grad.reshape(-1, grad.shape[-1])  # (row, out)
        return (
            linear(grad, weight.T) if x_wanted else None,
            linear(grad_rows.T, x.reshape(-1, x.shape[-1]).T) if weight_wanted else None,
            grad_rows.sum(0) if bias_wanted else None,
        )


@cache
def onednn_is_quicker() -> bool:
    """On AMD's processors with AVX-512."""
    processor = torch.cpu.get_capabilities()
    wide = processor.get("avx512_f", False) and "AMD" in processor.get("cpu_name", "")
    return wide and torch.backends.mkldnn.is_available()


def onednn_fits(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Plain numbers, weights without gaps in memory, while nobody follows torch's operations.

    What does not go together at all is left to torch, which says so best.
    """
    followed = (
        torch.is_autocast_enabled("cpu")
        or forward_ad._current_level >= 0
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_function_stack()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._get_tracing_state()
    )
    given = [x, weight] if bias is None else [x, weight, bias]
    plain = all(tensor.dtype == torch.float32 and tensor.device.type == "cpu" for tensor in given)
    together = x.shape[-1:] == weight.shape[1:] and (bias is None or bias.shape == weight.shape[:1])
    tight = dense(weight) and (bias is None or bias.is_contiguous())
    return plain and together and tight and not followed and torch.backends.mkldnn.enabled


def dense(x: Tensor) -> bool:
    """By rows or by columns: anything else oneDNN takes very slowly."""
    return x.is_contiguous() or (x.ndim == 2 and x.T.is_contiguous())
