from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import core
from core.runs.recipes import make_recipe


def small(steps: int = 60, **training: Any) -> core.Recipe:
    model = {"d_embed": 8, "d_hidden": 16, "dropout": 0.1}
    options = {"steps": steps, "curriculum": True, "batch_size": 16, **training}
    return make_recipe("lstm", "parity", model=model, training=options)


def exploding() -> core.Recipe:
    model = {"n_layers": 2, "n_heads": 2, "d_model": 16, "norm_placement": "post"}
    return make_recipe("gpt", "induction", model=model, training={"lr": 30.0, "clip": 0.0, "batch_size": 8})


def train_here(recipe: core.Recipe, seed: int) -> core.Run:
    """The same run, undisturbed and in this process."""
    run = core.Run(recipe, seed)
    for _ in run.train():
        pass
    return run


def same_weights(first: core.Run, second: core.Run) -> bool:
    pairs = zip(first.model.parameters(), second.model.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def until(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    """Is the process running? A zombie, whose exit status was not collected, is not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
