"""Models on the meta device: every module and shape, no memory and no numbers."""

from __future__ import annotations

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from core.config.families import Config
from core.models import build

INITIALISERS = {
    *(nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_, nn.init.constant_),
    *(Tensor.normal_, Tensor.uniform_, Tensor.zero_, Tensor.fill_),
}


class _SkipInitialisation(TorchFunctionMode):
    """Drawing initial weights takes time even on the meta device, where they have no values."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in INITIALISERS:
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


def build_meta(config: Config) -> nn.Module:
    """The model of a configuration on the meta device, in eval mode."""
    with _SkipInitialisation():
        return build(config, device="meta").eval()
