"""The trained runs that come with the app, each with its snapshots.

`python -m app.service.runs.shipped [name …]` trains them again; the same recipe and seed give the same weights. A
shipped run has snapshots from all of its training (packed by `shipped_weights`), but no optimiser state: to train one
further, it is trained again from its recipe.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

import core
from app.paths import STATIC
from app.service.runs.loaded_run import LoadedRun
from app.service.runs.shipped_weights import pack, unpack
from app.service.runs.thinning import thin_steps
from core.analysis.training_events import TrainingEvent, find_training_events
from core.runs.run import Run, recipe_from_dict
from core.training.loop import Step
from core.training.optimisers import load_parameters
from core.translatable import Text, text_hook

FOLDER = STATIC / "runs"
EVALUATION_PROBLEMS = 512  # held-out


@dataclass(frozen=True)
class ShippedRun:
    """Recipe and seed of a shipped run, how many of its snapshots are stored, and the input it opens with."""

    name: str
    family: str
    task: str
    variant: str = "default"
    seed: int = 0
    snapshots: int = 12
    first_input: str = ""
    extra_lengths: tuple[int, ...] = ()  # also evaluated at these lengths
    focus: dict[str, Any] = field(default_factory=dict)  # what the page selects first


PARITY_OPTIONS = {"snapshots": 20, "first_input": "3 2 3 3 2 2 3 2 3 3 3 2", "extra_lengths": (40, 100)}
SHIPPED_RUNS = [
    ShippedRun("induction-gpt", "gpt", "induction", snapshots=16, first_input="t g w b n h c s t g w b n h c s"),
    ShippedRun("parity-lstm", "lstm", "parity", **PARITY_OPTIONS),
    ShippedRun("parity-gru", "gru", "parity", **PARITY_OPTIONS),
    ShippedRun("parity-rnn", "rnn", "parity", **PARITY_OPTIONS),
    ShippedRun("parity-rnn-fails", "rnn", "parity", "source"),
    ShippedRun("copy-transformer", "transformer", "copy", first_input="d k b f m a"),
    ShippedRun("reverse-transformer", "transformer", "reverse"),
    ShippedRun("reverse-t5", "t5", "reverse"),
    ShippedRun("dates-bahdanau", "seq2seq", "dates", first_input="April 20, 1920"),
    ShippedRun("dates-luong", "seq2seq", "dates", "luong-general", first_input="April 20, 1920"),
    ShippedRun(
        "translation-transformer", "transformer", "translation", first_input="will this child steal the flower?"
    ),
    ShippedRun("masked-bert", "bert", "masked words", first_input="the [MASK] gave Mary an umbrella on Thursday."),
    ShippedRun(
        "entities-crf", "lstm", "entities", "few-crf", first_input="Disney Group hired Paris on 28 September 2020."
    ),
    ShippedRun("nested-bert", "bert", "nested names", first_input="the head of the bank of Paris met Anna Ford."),
    ShippedRun("characters-gru", "gru", "characters", first_input="the "),
]


def by_name(name: str) -> ShippedRun:
    return next(spec for spec in SHIPPED_RUNS if spec.name == name)


def names() -> list[str]:
    """The shipped runs whose files exist, in the order in which they are listed."""
    return [spec.name for spec in SHIPPED_RUNS if (FOLDER / f"{spec.name}.safetensors").exists()]


def facts_of(name: str) -> dict[str, Any]:
    """The metadata in the header of its file: everything but the weights."""
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
    events = [TrainingEvent(**event) for event in facts["moments"]]
    return LoadedRun(name, run, events, facts)


def train_and_save(spec: ShippedRun) -> None:
    run = Run(core.recipe(spec.family, spec.task, spec.variant), spec.seed)
    for _ in run.train():
        pass
    events = find_training_events(run)
    steps = thin_steps([s.step for s in run.snapshots], spec.snapshots, {event.step for event in events})
    run.snapshots.entries = [s for s in run.snapshots if s.step in steps]
    accuracy = run.evaluate(EVALUATION_PROBLEMS).accuracy
    facts = {
        "recipe": run.recipe.to_dict(),
        "seed": spec.seed,
        "key": run.key,
        "steps": [[round(v, 6) if isinstance(v, float) else v for v in asdict(s).values()] for s in run.steps],
        "snapshots": steps,
        "moments": [asdict(event) for event in events],
        "accuracy": accuracy,
        "accuracy_by_length": {
            str(length): run.evaluate(EVALUATION_PROBLEMS, length=length).accuracy for length in spec.extra_lengths
        },
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{spec.name}.safetensors"
    save_file(pack(run.snapshots.entries), path, metadata={"run": json.dumps(facts, default=Text.to_dict)})
    print(f"{spec.name}: {accuracy:.2%} on held-out, {len(steps)} snapshots, {path.stat().st_size / 1e6:.2f} MB")


def main() -> None:
    torch.set_num_threads(1)
    for name in sys.argv[1:] or [spec.name for spec in SHIPPED_RUNS]:
        train_and_save(by_name(name))


if __name__ == "__main__":
    main()
