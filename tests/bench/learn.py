"""How fast the recipes solve their tasks, over five seeds: `python -m tests.bench.learn [--only family/task …]`.

Every row is saved in docs/learning.json as soon as it is measured, with a key of its recipe, and measured again only
when the recipe changes, so that it can be interrupted. Then docs/learning.md is written from all rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch

from core.allocator import keep_freed_memory
from core.analysis.training_events import compute_head_history
from core.runs.recipes import RECIPES, Recipe, recipe
from core.runs.run import Run, key_of
from core.training import Diverged
from tests.bench.learn_table import Row, format_row, page, summary

EVALUATION_STEPS, FEW_PROBLEMS, PROBLEMS = (
    5,
    64,
    512,
)  # evaluate every so many steps, on few problems; confirm on many
PROMISING = 0.9  # share of the goal, in training accuracy, from which on it is evaluated
SEEDS = 5
ALIGNMENT_PROBLEMS = 64  # problems on which heads are compared with the ideal alignment
LENGTHS = {"parity": (20, 40, 100)}  # evaluated at these lengths too: the longest in training, and far beyond
RESULTS, PAGE = Path("docs/learning.json"), Path("docs/learning.md")


@dataclass(frozen=True)
class LearningResult:
    """One run: when it first solved its task, and its accuracy at the end."""

    step: int | None
    seconds: float  # CPU time of training alone, until solved or to the end
    final: float  # held-out accuracy at the end
    solved: bool  # at the end too
    by_length: dict[int, float] = field(default_factory=dict)  # accuracy at the end
    agreement: float | None = None  # of the best cross-attention head with the task's own alignment, at the end


def learn(recipe: Recipe, seed: int) -> LearningResult:
    """Train one run, evaluating it now and then."""
    run = Run(recipe, seed)
    meant_to_learn = recipe.why is None
    solved_at, solved_after, spent, start = None, None, 0.0, time.process_time()
    try:
        for step in run.train():
            promising = (
                meant_to_learn and step.index % EVALUATION_STEPS == 0 and step.accuracy >= PROMISING * recipe.goal
            )
            if promising and solved_at is None:
                spent += time.process_time() - start
                if all(run.evaluate(n).accuracy >= recipe.goal for n in (FEW_PROBLEMS, PROBLEMS)):
                    solved_at, solved_after = step.index, spent
                start = time.process_time()
    except Diverged:
        pass
    spent += time.process_time() - start
    final = run.evaluate(PROBLEMS).accuracy
    by_length = {n: last_token_accuracy(run, n) for n in LENGTHS.get(recipe.task.name, ())}
    seconds = spent if solved_after is None else solved_after
    return LearningResult(solved_at, seconds, final, final >= recipe.goal, by_length, best_agreement(run))


def best_agreement(run: Run) -> float | None:
    """The best cross-attention head's weight on the ideal source tokens; None without cross-attention or ideal alignment."""
    if run.trainer.form != "pairs":
        return None
    history = compute_head_history(run, ALIGNMENT_PROBLEMS, run.snapshots.entries[-1:])
    agreements = [roles["agreement"][-1].max() for roles in history.values() if "agreement" in roles]
    return float(max(agreements)) if agreements else None


@torch.no_grad()
def last_token_accuracy(run: Run, length: int) -> float:
    """Share of correct answers at one length; where there is an answer after every token, of the last."""
    batch = run.task.lay_out(run.task.evaluation(PROBLEMS, length=length), run.trainer.form)
    answers = run.model.head.predict(run.model.eval()(*batch.inputs).logits, batch.lengths)
    last = [x if x.dim() == 1 else x[:, -1] for x in (answers, batch.target)]
    return float((last[0] == last[1]).float().mean())


def all_names(only: list[str]) -> list[str]:
    """`family/task[/variant]` of all recipes, or of those under one of the names `only`."""
    names = []
    for (family, task), variants in RECIPES.items():
        for variant in variants:
            full = f"{family}/{task}/{variant}"
            if not only or any(f"{full}/".startswith(f"{prefix}/") for prefix in only):
                names.append(full.removesuffix("/default"))
    return names


def key(chosen: Recipe) -> str:
    keys = [key_of(chosen, seed) for seed in range(SEEDS)]
    return hashlib.sha256(json.dumps([chosen.goal, *keys]).encode()).hexdigest()[:24]


def rows() -> dict[str, dict]:
    """name → the key of the recipe that was measured, and its row in the page"""
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}


def known_row(name: str, chosen: Recipe) -> Row | None:
    row = rows().get(name)
    return row["row"] if row and row["key"] == key(chosen) else None


def all_rows() -> dict[str, tuple[Recipe, Row | None]]:
    recipes = {name: recipe(*name.split("/")) for name in all_names([])}
    return {name: (chosen, known_row(name, chosen)) for name, chosen in recipes.items()}


def measure(name: str, chosen: Recipe) -> Row:
    row = summary([learn(chosen, seed) for seed in range(SEEDS)])
    save_rows({**rows(), name: {"key": key(chosen), "row": row}})
    return row


def save_rows(rows: dict[str, dict]) -> None:
    """One row per line, sorted; written to a temporary file and renamed."""
    lines = ",\n".join(f'"{name}": {json.dumps(row, ensure_ascii=False)}' for name, row in sorted(rows.items()))
    part = RESULTS.with_suffix(".part")
    part.write_text(f"{{\n{lines}\n}}\n", "utf-8")
    os.replace(part, RESULTS)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="family/task[/variant]", help="all recipes if none")
    parser.add_argument("--again", action="store_true", help="also measure what is known")
    options = parser.parse_args(arguments)
    names = all_names(options.only)
    if not names:
        parser.error(f"no such recipe: {', '.join(options.only)}")
    keep_freed_memory()
    torch.set_num_threads(1)
    for name in names:
        chosen = recipe(*name.split("/"))
        row = None if options.again else known_row(name, chosen)
        print(format_row(name, row or measure(name, chosen)), flush=True)
    PAGE.write_text(page(all_rows()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
