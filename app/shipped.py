"""The trained model that comes with the app. `python -m app.shipped` trains it again: same seed, same weights."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

import core
from core.tasks import Task, task
from core.training import train
from core.training.loop import score

FOLDER = Path(__file__).resolve().parents[1] / "static/models"
MODEL = {"n_layers": 2, "n_heads": 4, "d_model": 64, "d_ff": 64, "position": "rope", "tie_embeddings": False}
TASK = {"n_symbols": 32, "min_len": 8, "max_len": 16}
TRAINING = {"steps": 400, "lr": 3e-3, "schedule": "linear"}
SEED = 0


@dataclass(frozen=True)
class Shipped:
    model: nn.Module
    task: Task
    accuracy: float  # on held-out sequences


def load() -> Shipped:
    facts = json.loads((FOLDER / "induction-gpt.json").read_text("utf-8"))
    problem = task("induction", **facts["task"])
    model = core.build("gpt", vocab_size=problem.vocab_size, **facts["model"])
    model.load_state_dict(load_file(FOLDER / "induction-gpt.safetensors"))
    return Shipped(model.eval(), problem, facts["accuracy"])


@torch.no_grad()
def held_out_accuracy(model: nn.Module, problem: Task) -> float:
    batch = problem.lay_out(problem.evaluation(512), problem.form(model))
    right, asked = score(model.eval(), model(*batch.inputs).logits, batch)
    return right / asked


def make() -> None:
    torch.manual_seed(SEED)
    problem = task("induction", **TASK)
    model = core.build("gpt", vocab_size=problem.vocab_size, **MODEL)
    for step in train(model, problem, seed=SEED, **TRAINING):
        if step.index % 50 == 0:
            print(f"step {step.index}: loss {step.loss:.3f}, accuracy {step.accuracy:.1%}")
    accuracy = held_out_accuracy(model, problem)
    FOLDER.mkdir(parents=True, exist_ok=True)
    save_file(model.state_dict(), FOLDER / "induction-gpt.safetensors")
    facts = {"model": MODEL, "task": TASK, "training": TRAINING, "seed": SEED, "accuracy": round(accuracy, 4)}
    (FOLDER / "induction-gpt.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    print(f"held-out accuracy {accuracy:.2%}")


if __name__ == "__main__":
    make()
