"""Costs of the model on the Build tab by input length: predicted for any size, measured for small models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from torch import nn

from app.figures.build_costs import CostsView, memory, operations
from app.figures.live import Live
from core import InputError
from core.analysis import costs
from core.config.families import Config

LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1_024)
MAX_PARAMETERS, MAX_FLOPS, MAX_TOKENS = 3_000_000, 4_000_000_000, 512  # of what is measured
MAX_RECURRENT_POSITIONS = 768  # over all layers: 3 to 4 ms each, most of it for counting operations
PARTS = ("projections", "attention", "feed-forward", "recurrence", "head", "all")


def predict_costs(config: Config) -> dict[str, Any]:
    """Operations and memory at the lengths the model takes, and which of these lengths can be measured here."""
    lengths = [n for n in LENGTHS if n <= config.max_len] or [config.max_len]
    flops = [costs.flops(config, n) for n in lengths]
    a, b, c = costs.activation_formula(config)
    return {
        "lengths": lengths,
        "flops": {part: [by_part[part] for by_part in flops] for part in PARTS if part in flops[0]},
        "activations": [costs.activation_bytes(config, n) for n in lengths],
        "formula": {"a": a, "b": b, "c": c},
        "state": [costs.state_bytes(config, n) for n in lengths],
        "measurable": [
            n for n, by_part in zip(lengths, flops, strict=True) if _is_measurable(config, n, sum(by_part.values()))
        ],
    }


def _is_measurable(config: Config, n: int, flops: int) -> bool:
    small = costs.parameter_count(config) <= MAX_PARAMETERS and flops <= MAX_FLOPS
    return small and n <= MAX_TOKENS and costs.recurrent_updates(config, n) <= MAX_RECURRENT_POSITIONS


@lru_cache(maxsize=4)
def _untrained_model(config: Config) -> nn.Module:
    return costs.build_seeded(config)


def measure_costs(config: Config, n: int) -> dict[str, Any]:
    if n > config.max_len or not _is_measurable(config, n, sum(costs.flops(config, n).values())):
        raise InputError(
            "At {n} tokens this model is too large or too slow to be run here; its cost is predicted only.", n=n
        )
    return asdict(costs.measure(_untrained_model(config), n))


def cost_figures(predicted: dict[str, Any], measured: list[dict[str, Any]]) -> dict[str, Live]:
    names = ("lengths", "flops", "activations", "formula", "state")
    by_length: dict[int, Mapping[str, float]] = {
        one["n"]: one for one in measured if one["n"] in predicted["lengths"]
    }
    view = CostsView(**{name: predicted[name] for name in names}, measured=by_length)
    return {"operations": operations(view), "memory": memory(view)}
