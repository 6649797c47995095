"""The trained runs that come with the app, each with its snapshots: `python -m app.service.runs.shipped` trains them again.

Same recipe and seed, same weights. A shipped run can be looked at through all of its training (`shipped_weights` tells how
its snapshots are kept); it carries no optimiser state, so to go on training one it is trained again from its recipe.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

import core
from app.service.runs.shipped_weights import pack, unpack
from core.analysis.measures import count_parameters
from core.analysis.training_events import TrainingEvent, find_training_events
from core.messages import Text, text_hook
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run, recipe_from_dict
from core.training.loop import Step
from core.training.optimisers import load_parameters

FOLDER = Path(__file__).resolve().parents[3] / "static/runs"
EVALUATED_ON = 512


@dataclass(frozen=True)
class Shipped:
    """Which run, how many of its snapshots are kept, and the input it opens with."""

    name: str
    family: str
    task: str
    variant: str = "default"
    seed: int = 0
    snapshots: int = 12
    first_input: str = ""
    longer: tuple[int, ...] = ()  # also evaluated at these lengths
    focus: dict[str, Any] = field(default_factory=dict)  # what is looked at first


PARITY = {"snapshots": 20, "first_input": "3 2 3 3 2 2 3 2 3 3 3 2", "longer": (40, 100)}
SHIPPED = [
    Shipped("induction-gpt", "gpt", "induction", snapshots=16, first_input="t g w b n h c s t g w b n h c s"),
    Shipped("parity-lstm", "lstm", "parity", **PARITY),
    Shipped("parity-gru", "gru", "parity", **PARITY),
    Shipped("parity-rnn", "rnn", "parity", **PARITY),
    Shipped("parity-rnn-fails", "rnn", "parity", "source"),
    Shipped("copy-transformer", "transformer", "copy", first_input="d k b f m a"),
    Shipped("reverse-transformer", "transformer", "reverse"),
    Shipped("reverse-t5", "t5", "reverse"),
    Shipped("dates-bahdanau", "seq2seq", "dates", first_input="April 20, 1920"),
    Shipped("dates-luong", "seq2seq", "dates", "luong-general", first_input="April 20, 1920"),
    Shipped("translation-transformer", "transformer", "translation", first_input="will this child steal the flower?"),
    Shipped("masked-bert", "bert", "masked words", first_input="the [MASK] gave Mary an umbrella on Thursday."),
    Shipped(
        "entities-crf", "lstm", "entities", "few-crf", first_input="Disney Group hired Paris on 28 September 2020."
    ),
    Shipped("nested-bert", "bert", "nested names", first_input="the head of the bank of Paris met Anna Ford."),
    Shipped("characters-gru", "gru", "characters", first_input="the "),
]


@dataclass(frozen=True)
class LoadedRun:
    """A run that can be looked at: a shipped one, one trained here, or a checkpoint, with what is known of it."""

    name: str
    run: Run | PretrainedRun
    moments: list[TrainingEvent]
    facts: dict[str, Any]

    @property
    def parameters(self) -> int:
        return sum(count_parameters(self.run.model).values())


def by_name(name: str) -> Shipped:
    return next(one for one in SHIPPED if one.name == name)


def names() -> list[str]:
    """Those that are there, in the order in which they are offered."""
    return [one.name for one in SHIPPED if (FOLDER / f"{one.name}.safetensors").exists()]


def facts_of(name: str) -> dict[str, Any]:
    """Everything but the weights."""
    with safe_open(FOLDER / f"{name}.safetensors", "pt") as file:
        return json.loads(file.metadata()["run"], object_hook=text_hook)


def load(name: str) -> LoadedRun:
    facts = facts_of(name)
    with safe_open(FOLDER / f"{name}.safetensors", "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    run = Run(recipe_from_dict(facts["recipe"]), facts["seed"])
    run.steps = [Step(*values) for values in facts["steps"]]
    run.snapshots.entries = unpack(tensors, facts["snapshots"], run.snapshots[0])
    load_parameters(run.model, run.snapshots[-1].weights)
    run.model.eval()
    moments = [TrainingEvent(**m) for m in facts["moments"]]
    return LoadedRun(name, run, moments, facts)


def make(one: Shipped) -> None:
    run = Run(core.recipe(one.family, one.task, one.variant), one.seed)
    for _ in run.train():
        pass
    moments = find_training_events(run)
    keep = thinned([s.step for s in run.snapshots], one.snapshots, {m.step for m in moments})
    run.snapshots.entries = [s for s in run.snapshots if s.step in keep]
    accuracy = run.evaluate(EVALUATED_ON).accuracy
    facts = {
        "recipe": run.recipe.to_dict(),
        "seed": one.seed,
        "key": run.key,
        "steps": [[round(v, 6) if isinstance(v, float) else v for v in asdict(s).values()] for s in run.steps],
        "snapshots": keep,
        "moments": [asdict(m) for m in moments],
        "accuracy": accuracy,
        "accuracy_by_length": {str(n): run.evaluate(EVALUATED_ON, length=n).accuracy for n in one.longer},
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{one.name}.safetensors"
    save_file(pack(run.snapshots.entries), path, metadata={"run": json.dumps(facts, default=Text.to_dict)})
    print(f"{one.name}: {accuracy:.2%} on held-out, {len(keep)} snapshots, {path.stat().st_size / 1e6:.2f} MB")


def thinned(steps: list[int], most: int, wanted: Iterable[int]) -> list[int]:
    """At most so many steps, evenly by rank: the first, the last and the wanted ones for sure."""
    sure = {steps[0], steps[-1], *(set(wanted) & set(steps))}
    others = [step for step in steps if step not in sure]
    room = max(0, most - len(sure))
    if room < len(others):
        others = [others[round(i * (len(others) - 1) / max(1, room - 1))] for i in range(room)]
    return sorted(sure | set(others))


def main() -> None:
    torch.set_num_threads(1)
    chosen = sys.argv[1:] or [one.name for one in SHIPPED]
    for name in chosen:
        make(by_name(name))


if __name__ == "__main__":
    main()
