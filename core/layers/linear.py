"""The affine map y = x Wᵀ + b, computed by oneDNN where that is faster than torch's default, MKL.

torch multiplies float32 matrices with Intel's MKL, which leaves the AVX-512 registers of AMD's processors unused.
oneDNN, also part of torch, uses them: a large product takes about half the time there, and gives the same numbers up to
rounding. Small products and all other processors go through `F.linear`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad

MIN_MULTIPLICATIONS = 1 << 22  # for smaller products oneDNN's overhead is larger than its gain


class Linear(nn.Linear):
    """`nn.Linear`, computed by `linear`."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (…, in), weight (out, in), bias (out,) → (…, out)"""
    if x.numel() * len(weight) >= MIN_MULTIPLICATIONS and onednn_is_faster() and onednn_applies(x, weight, bias):
        return OneDnnLinear.apply(x if is_dense(x) else x.contiguous(), weight, bias)
    return F.linear(x, weight, bias)


class OneDnnLinear(torch.autograd.Function):
    """∂x = ∂y W      ∂W = ∂yᵀ x      ∂b = Σ ∂y; computed by `linear` again, hence differentiable twice"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        needs_x, needs_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(x if needs_weight else None, weight if needs_x else None)
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        (x, weight), (needs_x, needs_weight, needs_bias) = ctx.saved_tensors, ctx.needs_input_grad
        grad = grad_outputs[0].contiguous()
        grad_rows = grad.reshape(-1, grad.shape[-1])  # (row, out)
        return (
            linear(grad, weight.T) if needs_x else None,
            linear(grad_rows.T, x.reshape(-1, x.shape[-1]).T) if needs_weight else None,
            grad_rows.sum(0) if needs_bias else None,
        )


@cache
def onednn_is_faster() -> bool:
    """Whether this is an AMD processor with AVX-512."""
    processor = torch.cpu.get_capabilities()
    amd_avx512 = processor.get("avx512_f", False) and "AMD" in processor.get("cpu_name", "")
    return amd_avx512 and torch.backends.mkldnn.is_available()


def onednn_applies(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether oneDNN takes these: float32 on the CPU, dense weights, and no mode of torch that traces operations.

    Shapes that do not fit each other are left to torch, for its error message.
    """
    traced = (
        torch.is_autocast_enabled("cpu")
        or forward_ad._current_level >= 0
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_function_stack()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._get_tracing_state()
    )
    tensors = [x, weight] if bias is None else [x, weight, bias]
    float32_on_cpu = all(tensor.dtype == torch.float32 and tensor.device.type == "cpu" for tensor in tensors)
    shapes_fit = x.shape[-1:] == weight.shape[1:] and (bias is None or bias.shape == weight.shape[:1])
    dense = is_dense(weight) and (bias is None or bias.is_contiguous())
    return float32_on_cpu and shapes_fit and dense and not traced and bool(torch.backends.mkldnn.enabled)


def is_dense(x: Tensor) -> bool:
    """Whether it is stored by rows or by columns without gaps; oneDNN is very slow on anything else."""
    return x.is_contiguous() or (x.ndim == 2 and x.T.is_contiguous())
