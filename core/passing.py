"""Look at tensors as they pass and keep none: what is too large for a tape can still be seen, one layer at a time.

512 tokens through 12 layers of 12 heads are 151 MB of attention weights on a tape; here never more than one layer's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from core.tape import Tape, _observers, _watching

Visit = Callable[[str, Tensor], None]


class Passerby(Tape):
    """A tape that keeps nothing: each tensor is shown under its name while the model runs."""

    def __init__(self, model: nn.Module, patterns: Sequence[str], visit: Visit):
        super().__init__(model, patterns, gradients=False)
        self.visit = visit

    def see(self, module: nn.Module, point: str, value: Tensor | list[Tensor]) -> Tensor | list[Tensor]:
        name, patterns = self.find(module, point)
        if patterns:
            self.visit(name, torch.stack(value, dim=-2) if isinstance(value, list) else value)
        return value


@contextmanager
def passing(model: nn.Module, visit: Visit, *patterns: str) -> Iterator[None]:
    """`visit(name, tensor)` for every point that matches, in the order in which they are computed.

    The tensors are the model's own: to be read at once, never written into.
    """
    with _watching(*_observers.get(), Passerby(model, patterns, visit)):
        yield
