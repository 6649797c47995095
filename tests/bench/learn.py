"""How fast the recipes solve their tasks, over five seeds: `python -m tests.bench.learn [--only family/task …]`.

Every row is kept as soon as it is measured, under a key of its recipe, and measured again only when the recipe changes:
stop at any time, go on later. Each time docs/learning.md is written anew from all the rows that are known.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from core.allocator import keep_freed_memory
from core.recipes import RECIPES, Recipe, recipe
from core.run import Run, key_of
from core.training import Diverged
from tests.bench.learn_table import in_print, page

EVERY, CHEAP, SURE = 5, 64, 512  # look every so many steps, at few problems; then make sure with many
PROMISING = 0.9  # of the goal, in training, from which on it is worth looking
SEEDS = 5
KEPT, PAGE = Path(".learning"), Path("docs/learning.md")


@dataclass(frozen=True)
class Learnt:
    """One run: when it first solved its task, and how well it did in the end."""

    step: int | None
    seconds: float  # CPU time of training alone, until solved or to the end
    final: float  # held-out accuracy at the end
    solved: bool  # at the end too


def learn(chosen: Recipe, seed: int) -> Learnt:
    run = Run(chosen, seed)
    hopeful = chosen.why is None
    solved_at, solved_after, spent, start = None, None, 0.0, time.process_time()
    try:
        for step in run.train():
            promising = hopeful and step.index % EVERY == 0 and step.accuracy >= PROMISING * chosen.goal
            if promising and solved_at is None:
                spent += time.process_time() - start
                if all(run.evaluate(n).accuracy >= chosen.goal for n in (CHEAP, SURE)):
                    solved_at, solved_after = step.index, spent
                start = time.process_time()
    except Diverged:
        pass
    spent += time.process_time() - start
    final = run.evaluate(SURE).accuracy
    return Learnt(solved_at, spent if solved_after is None else solved_after, final, final >= chosen.goal)


def all_names(only: list[str]) -> list[str]:
    """`family/task[/variant]` of the recipes that begin with one of those asked for; all, if none is."""
    names = []
    for (family, task), variants in RECIPES.items():
        for variant in variants:
            full = f"{family}/{task}/{variant}"
            if not only or any(f"{full}/".startswith(f"{wanted}/") for wanted in only):
                names.append(full.removesuffix("/default"))
    return names


def kept_at(chosen: Recipe) -> Path:
    keys = [key_of(chosen, seed) for seed in range(SEEDS)]
    return KEPT / f"{hashlib.sha256(json.dumps([chosen.goal, *keys]).encode()).hexdigest()[:24]}.json"


def known(chosen: Recipe) -> list[Learnt] | None:
    path = kept_at(chosen)
    return [Learnt(**run) for run in json.loads(path.read_text("utf-8"))] if path.exists() else None


def measure(chosen: Recipe) -> list[Learnt]:
    runs = [learn(chosen, seed) for seed in range(SEEDS)]
    KEPT.mkdir(exist_ok=True)
    kept_at(chosen).write_text(json.dumps([asdict(run) for run in runs]), "utf-8")
    return runs


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
        runs = None if options.again else known(chosen)
        print(in_print(name, runs or measure(chosen)), flush=True)
    everything = {name: recipe(*name.split("/")) for name in all_names([])}
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page({name: (chosen, known(chosen)) for name, chosen in everything.items()}), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
