"""What the model being built costs against the length of its input: predicted for any size, measured for small ones."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import Any

from torch import nn

from core import InputError
from core.analysis import costs
from core.analysis.layer_costs import compare_layers
from core.config.families import Config

LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1_024)
LARGEST, MOST_FLOPS, LONGEST = 3_000_000, 4_000_000_000, 512  # of what is measured: parameters, operations, tokens
MOST_STEPS = 768  # of recurrent layers: 3 to 4 ms each, most of it spent on counting
PARTS = ("projections", "attention", "feed-forward", "recurrence", "head", "all")


def predicted(config: Config) -> dict[str, Any]:
    """Curves over the lengths the model takes, and which of them can be measured here."""
    lengths = [n for n in LENGTHS if n <= config.max_len] or [config.max_len]
    parts = [costs.flops(config, n) for n in lengths]
    a, b, c = costs.activation_formula(config)
    return {
        "lengths": lengths,
        "flops": {part: [found[part] for found in parts] for part in PARTS if part in parts[0]},
        "activations": [costs.activation_bytes(config, n) for n in lengths],
        "formula": {"a": a, "b": b, "c": c},
        "state": [costs.state_bytes(config, n) for n in lengths],
        "measurable": [n for n, found in zip(lengths, parts, strict=True) if _fits(config, n, sum(found.values()))],
    }


def _fits(config: Config, n: int, flops: int) -> bool:
    small = costs.parameter_count(config) <= LARGEST and flops <= MOST_FLOPS
    return small and n <= LONGEST and costs.recurrent_updates(config, n) <= MOST_STEPS


@lru_cache(maxsize=4)
def _model(config: Config) -> nn.Module:
    return costs.build_seeded(config)


def measured(config: Config, n: int) -> dict[str, Any]:
    if n > config.max_len or not _fits(config, n, sum(costs.flops(config, n).values())):
        raise InputError(
            "At {n} tokens this model is too large or too slow to be run here; its cost is predicted only.",
            n=n,
        )
    return asdict(costs.measure(_model(config), n))


def layers() -> list[dict[str, Any]]:
    """The three kinds of layer, stated and measured."""
    return [asdict(one) for one in compare_layers()]
