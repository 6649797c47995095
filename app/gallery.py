"""What can be looked at: runs by name, the shipped ones first, opened once and kept while they are used."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from app import shipped
from app.controls import both
from app.i18n import WORDS
from app.shipped import Opened
from core import InputError
from core.decoding import writes
from core.options import Text

KEPT = 16


@dataclass(frozen=True)
class Offer:
    """A run under a name, with what is said about it and where looking begins."""

    name: str
    title: Text
    lead: Text
    first_input: str = ""
    focus: dict[str, Any] = field(default_factory=dict)
    opened: Opened | None = None  # a run that is already here; None: a shipped one, opened when it is asked for


_others: dict[str, Offer] = {}


def offer(one: Offer) -> None:
    """Put a run beside the shipped ones."""
    _others[one.name] = one


def offers() -> dict[str, Offer]:
    return {name: _shipped_offer(name) for name in shipped.names()} | _others


def _shipped_offer(name: str) -> Offer:
    one = shipped.by_name(name)
    title, lead = (Text(*(WORDS[lang][f"run.{name}.{part}"] for lang in ("en", "zh"))) for part in ("title", "lead"))
    return Offer(name, title, lead, one.first_input, one.focus)


@lru_cache(maxsize=KEPT)
def _opened(name: str) -> Opened:
    return shipped.load(name)


def open_run(name: str) -> Opened:
    """A run by the name it is offered under."""
    found = offers().get(name)
    if found is None:
        raise InputError(f"There is no run called {name[:40]!r}.", f"没有名为 {name[:40]!r} 的运行。")
    return found.opened or _opened(name)


def listing() -> list[dict[str, Any]]:
    """All runs on offer; the shipped ones are not opened for it."""
    listed = []
    for one in offers().values():
        facts = one.opened.facts if one.opened else shipped.facts_of(one.name)
        listed.append(
            {
                "name": one.name,
                "family": facts["recipe"]["model"]["family"],
                "task": facts["recipe"]["task"]["name"],
                "seed": facts["seed"],
                "accuracy": facts["accuracy"],
                "title": both(one.title),
            }
        )
    return listed


def story(name: str) -> dict[str, Any]:
    """A run's training: its curves, its moments, what it is made of."""
    opened = open_run(name)
    run, one = opened.run, offers()[name]
    config = run.model.config
    shown = ("n_layers", "n_heads", "d_hidden", "position")
    return {
        "name": name,
        "family": run.recipe.family,
        "task": run.task.name,
        "about": both(run.task.help),
        "shape": {key: getattr(config, key) for key in shown if hasattr(config, key)},
        "parameters": opened.parameters,
        "accuracy": opened.facts["accuracy"],
        "accuracy_by_length": opened.facts["accuracy_by_length"],
        "chance": run.task.chance,
        "ceiling": getattr(run.task, "ceiling", None),  # what whoever knows everything about the task would reach
        "seed": run.seed,
        "writes": writes(run.model),
        "lead": both(one.lead),
        "first_input": one.first_input,
        "focus": one.focus,
        "alphabet": [token for token in run.task.tokens if token in run.task.ids],
        "steps": [step.index for step in run.steps],
        "loss": [step.loss for step in run.steps],
        "accuracies": [step.accuracy for step in run.steps],
        "snapshots": [snapshot.step for snapshot in run.snapshots],
        "moments": [{"step": m.step, "text": both(m.text), "head": m.head} for m in opened.moments],
    }
