"""Seeds: their check, and a block in which torch's random numbers depend on a seed alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from core.config.options import to_python_number
from core.errors import ConfigError
from core.translatable import Text

SEEDS = range(-(2**63), 2**63)  # the seeds that torch accepts
_generator_lock = threading.RLock()


def check_seed(seed: Any) -> int:
    """The seed as a Python int; `ConfigError` for anything else: 1, 1.0 and True would give a run three keys."""
    value = to_python_number(seed)
    if type(value) is not int or value not in SEEDS:
        raise ConfigError(
            "seed",
            seed,
            Text("a seed is a whole number of at most 63 bits."),
            Text("Use for example 0."),
        )
    return value


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Reseed torch's global CPU generator while the block runs; afterwards restore its state.

    All threads share that generator, so only one thread at a time may be in such a block: keep it short.
    """
    with _generator_lock, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
