"""Recipes: model, task and training options that are known to work together, and some known not to, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.config import Config
from core.models import configure
from core.options import ConfigError, Text
from core.tasks import Task, task
from core.training.options import Training


@dataclass(frozen=True)
class Recipe:
    """What decides a run, together with its seed."""

    model: Config
    task: Task
    training: Training
    why: Text | None = None  # for those meant to fail: what goes wrong

    @property
    def family(self) -> str:
        return self.model.family

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": {"family": self.family, **self.model.to_dict()},
            "task": {"name": self.task.name, **self.task.to_dict()},
            "training": self.training.to_dict(),
        }


def make_recipe(
    family: str,
    name: str,
    *,
    model: dict[str, Any] | None = None,
    knobs: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    why: Text | None = None,
) -> Recipe:
    """A recipe from options; what the task needs of the model (vocabulary, labels, head) is filled in."""
    problem = task(name, **(knobs or {}))
    own = dict(model or {})
    needed = problem.model_options(family, own.pop("head", None))
    return Recipe(configure(family, **{**needed, **own}), problem, Training.make(**(training or {})), why)


def recipe_from_dict(facts: dict[str, Any]) -> Recipe:
    """The inverse of `Recipe.to_dict`; every option is checked again."""
    model, problem = dict(facts["model"]), dict(facts["task"])
    return Recipe(
        configure(model.pop("family"), **model),
        task(problem.pop("name"), **problem),
        Training.make(**facts["training"]),
    )


_PARITY = {"model": {"d_embed": 8, "d_hidden": 32}, "training": {"lr": 1e-2, "steps": 300, "curriculum": True}}
_SMALL = {"d_model": 64, "n_heads": 4, "n_layers": 1, "norm_placement": "pre", "position": "rope"}
_SOURCE = Text(
    "2,000 fixed problems and 200 symbols: it learns them by heart and stays at chance on all others.",
    "2000 个固定样本、200 种符号：模型死记硬背，在其他样本上停留在随机水平。",
)
_PARITY_SOURCE = {
    "model": {"d_embed": 64, "d_hidden": 128},
    "knobs": {"n_symbols": 198},
    "training": {"lr": 1e-3, "batch_size": 32, "samples": 2_000, "steps": 189, "weight_decay": 0.01},
    "why": _SOURCE,
}
_FORGETS = {
    "model": {"d_embed": 8, "d_hidden": 32, "forget_bias": -5.0},
    "training": {"lr": 1e-3, "steps": 300},
    "why": Text(
        "forget gates start shut: nothing survives a step, so no gradient reaches the past.",
        "遗忘门初始关闭：任何信息都留不过一步，梯度无法到达过去。",
    ),
}

RECIPES: dict[tuple[str, str], dict[str, dict[str, Any]]] = {
    ("rnn", "parity"): {"default": _PARITY, "source": _PARITY_SOURCE},
    ("gru", "parity"): {"default": _PARITY, "source": _PARITY_SOURCE},
    ("lstm", "parity"): {"default": _PARITY, "source": _PARITY_SOURCE, "forgets": _FORGETS},
    ("transformer", "copy"): {"default": {"model": _SMALL, "training": {"lr": 3e-3, "steps": 200}}},
    ("gpt", "induction"): {
        "default": {
            "model": {**_SMALL, "n_layers": 2, "d_ff": 64, "tie_embeddings": False},
            "training": {"lr": 3e-3, "steps": 400, "schedule": "linear"},
        },
        "one-layer": {
            "model": {**_SMALL, "n_layers": 1, "d_ff": 64, "tie_embeddings": False},
            "training": {"lr": 3e-3, "steps": 400, "schedule": "linear"},
            "why": Text(
                "one layer cannot do it: a head must first mark each token with the one before.",
                "一层做不到：必须先有一个头把每个符号标上它前面的符号。",
            ),
        },
    },
}


def recipe(family: str, name: str, variant: str = "default") -> Recipe:
    """The recipe for a family on a task; `variant` names others, also ones meant to fail."""
    known = RECIPES.get((family, name))
    if known is None:
        pairs = ", ".join(f"{f}/{t}" for f, t in RECIPES)
        raise ConfigError(
            "recipe",
            f"{family}/{name}",
            Text("there is no recipe for this pair.", "没有这一组合的配方。"),
            Text(f"Choose one of: {pairs}.", f"请选择其一：{pairs}。"),
        )
    if variant not in known:
        listed = ", ".join(known)
        raise ConfigError(
            "variant",
            variant,
            Text(f"{family}/{name} has no such variant.", f"{family}/{name} 没有这个变体。"),
            Text(f"Choose one of: {listed}.", f"请选择其一：{listed}。"),
        )
    return make_recipe(family, name, **known[variant])
