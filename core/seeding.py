"""Weights that follow from a seed alone, whatever else the process is doing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_turn = threading.RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from torch's own generator as from a fresh one with this seed; afterwards it is as it was.

    That generator is the whole process's, so threads take turns here: draw in this block, compute after it.
    """
    with _turn, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
