"""Numbers read off a model or its tape."""

from __future__ import annotations

from torch import nn


def count_parameters(model: nn.Module, depth: int = 1) -> dict[str, int]:
    """True parameter counts by module path, down to `depth` levels; shared weights count where they are first."""
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        *modules, leaf = name.split(".")
        path = ".".join(modules[:depth]) or leaf
        counts[path] = counts.get(path, 0) + parameter.numel()
    return counts
