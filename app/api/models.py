"""Endpoints of models that are not trained: the families with their options, and the anatomy of a configuration."""

from __future__ import annotations

import math
from typing import Any

import core
from app.api.endpoint import Name
from app.figures.diagram_layout import walk_parts
from app.service.build.model_plan import checked_config, family_help, non_default_options, python_of
from core import Option
from core.config.families import CONFIGS
from core.tasks import TASKS


def models() -> list[dict[str, Any]]:
    """List the model families, each with its options and the tasks it can learn.

    Returns:
        One entry a family: name, help, tasks, and options with their kind, default, help, and range or choices
    """
    tasks = {name: task.make().families for name, task in TASKS.items()}
    return [
        {
            "name": family,
            "help": str(family_help(family)),
            "tasks": [name for name, families in tasks.items() if family in families],
            "options": [_option_facts(option) for option in CONFIGS[family].options()],
        }
        for family in core.models()
    ]


def _option_facts(option: Option) -> dict[str, Any]:
    """JSON has no infinity: a bound that is none is None."""
    low, high = (bound if math.isfinite(bound) else None for bound in (option.low, option.high))
    return {
        "name": option.name,
        "kind": option.kind.__name__,
        "default": option.default,
        "help": str(option.help),
        "low": low,
        "high": high,
        "choices": list(option.choices) or None,
        "optional": option.optional,
    }


def build(family: Name, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Describe the model of a family with some options changed: parameters, parts with shapes, and Python that builds it.

    No weights are allocated.

    Parameters:
        family: Name of a family ("gpt") or a preset ("bert-base")
        options: Options that are not the defaults, such as {"n_layers": 2}
    Returns:
        family, options, parameters, python, and parts: every module and tensor, those that repeat once with their number of times
    """
    config = checked_config(family, options or {})
    plan = core.anatomy(config).to_dict()
    return {
        "family": config.family,
        "options": non_default_options(config),
        "parameters": plan["parameters"],
        "parts": [
            {
                "name": part["path"],  # clients take whatever has a "path" for a file
                "kind": part["kind"],  # "module", "point" (a tensor that can be captured) or "input"
                "module": part["module"] or None,
                "shape": part["shape"],
                "axes": part["axes"],
                "parameters": part["count"],
                "times": part["times"],
            }
            for part in walk_parts(plan["root"])
        ],
        "python": python_of(config),
    }
