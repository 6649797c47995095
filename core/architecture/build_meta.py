"""A model to be looked at, not run with numbers: on the meta device, where filling a weight would only take time."""

from __future__ import annotations

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from core.config.families import Config
from core.models import build

FILLING = {
    *(nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_, nn.init.constant_),
    *(Tensor.normal_, Tensor.uniform_, Tensor.zero_, Tensor.fill_),
}


class _Unfilled(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in FILLING:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def build_meta(config: Config) -> nn.Module:
    with _Unfilled():
        return build(config, device="meta").eval()
