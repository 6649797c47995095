"""Weights that follow from a seed alone, whatever else the process is doing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from core.config.options import plain
from core.errors import ConfigError
from core.messages import Text

SEEDS = range(-(2**63), 2**63)  # all that torch takes
_turn = threading.RLock()


def whole_seed(seed: Any) -> int:
    """A seed as it is told in a run's key, where 1, 1.0 and True would be three runs."""
    value = plain(seed)
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
    """Draw from torch's own generator as from a fresh one with this seed; afterwards it is as it was.

    That generator is the whole process's, so threads take turns here: draw in this block, compute after it.
    """
    with _turn, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
