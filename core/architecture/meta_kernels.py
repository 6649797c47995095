"""Output shapes of frequent operations on the meta device, without torch's meta kernels.

Those are written in Python, and slower than small real operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

SHAPE_OF_FIRST = {
    *(functional.layer_norm, functional.rms_norm, functional.gelu, functional.relu),
    *(Tensor.softmax, Tensor.sigmoid, Tensor.tanh, torch.sigmoid, torch.tanh),
}
ELEMENTWISE = {Tensor.add, Tensor.sub, Tensor.mul}


def call_on_meta(func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The result of `func` on meta tensors; for frequent operations an empty tensor of the right shape."""
    if func is functional.linear:
        x, weight = args[:2]
        return x.new_empty(*x.shape[:-1], weight.shape[0])
    if func in SHAPE_OF_FIRST or (func in ELEMENTWISE and _same_shape(*args)):
        return args[0].new_empty(args[0].shape)
    return func(*args, **kwargs)


def _same_shape(first: Any, second: Any) -> bool:
    """True where the result needs neither broadcasting nor type promotion."""
    if not isinstance(first, Tensor) or not first.is_floating_point():
        return False
    return isinstance(second, float | int) or (second.shape == first.shape and second.dtype == first.dtype)


class FastMetaMode(TorchFunctionMode):
    """Inside this mode every operation goes through `call_on_meta`."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return call_on_meta(func, args, kwargs or {})
