"""How fast the recipes solve their tasks, over seeds: `python -m tests.bench.learn [family/task[/variant] …]`."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass

import torch

from core.allocator import keep_freed_memory
from core.options import ConfigError
from core.recipes import RECIPES, Recipe, recipe
from core.run import Run
from core.training import Diverged

SOLVED = 0.99  # of held-out answers
EVERY, CHEAP, SURE = 5, 64, 512  # look every so many steps, at few problems; then make sure with many
PROMISING = 0.9  # training accuracy from which on it is worth looking
FIRST_MEASURED = {  # steps until solved, median or range (and seeds solved, where counted), of the first experiments
    "rnn/parity": "105 (5/5)",
    "gru/parity": "35 (5/5)",
    "lstm/parity": "35 (5/5)",
    "transformer/copy": "30–40 (5/5)",
    "transformer/copy/learned": "50–70 (5/5)",
    "transformer/copy/sinusoidal": "290–430 (5/5)",
    "gpt/copy": "40–50 (5/5)",
    "seq2seq/copy": "380–580 (3/3)",
    "seq2seq/copy/no-attention": "480–720 (2/3)",
    "transformer/reverse": "40–50",
    "seq2seq/reverse": "260",
    "gpt/induction": "180–190 (5/5)",
}


@dataclass(frozen=True)
class Learnt:
    """One run: when it first solved its task, and how well it did in the end."""

    step: int | None
    seconds: float  # CPU time of training alone, until solved or to the end
    final: float  # held-out accuracy at the end

    @property
    def solved(self) -> bool:
        return self.final >= SOLVED


def learn(chosen: Recipe, seed: int) -> Learnt:
    run = Run(chosen, seed)
    solved_at, solved_after, spent, start = None, None, 0.0, time.process_time()
    try:
        for step in run.train():
            if solved_at is None and step.index % EVERY == 0 and step.accuracy >= PROMISING:
                spent += time.process_time() - start
                if all(run.evaluate(n).accuracy >= SOLVED for n in (CHEAP, SURE)):
                    solved_at, solved_after = step.index, spent
                start = time.process_time()
    except Diverged:
        pass
    spent += time.process_time() - start
    return Learnt(solved_at, spent if solved_after is None else solved_after, run.evaluate(SURE).accuracy)


def row(name: str, runs: list[Learnt]) -> str:
    steps = sorted(run.step for run in runs if run.step is not None)
    middle = f"{statistics.median(steps):.0f} ({steps[0]}–{steps[-1]})" if steps else "–"
    seconds = statistics.median(run.seconds for run in runs)
    worst = min(run.final for run in runs)
    first = FIRST_MEASURED.get(name, "")
    share = f"{sum(run.solved for run in runs)}/{len(runs)}"
    return f"{name:<36} {share:>6}  {middle:<20} {seconds:>7.1f}  {worst:>7.1%}  {first}"


def chosen_names(wanted: list[str]) -> list[str]:
    """`family/task[/variant]` of all recipes that start with one of those wanted; all but the meant failures if none."""
    names = []
    for (family, task), variants in RECIPES.items():
        for variant, parts in variants.items():
            name = f"{family}/{task}" + ("" if variant == "default" else f"/{variant}")
            asked = any(name == w or name.startswith(f"{w}/") for w in wanted)
            if asked or not (wanted or parts.get("why")):
                names.append(name)
    return names


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="family/task or family/task/variant; all that should learn if none")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args(arguments)
    names = chosen_names(options.names)
    if not names:
        parser.error(f"no such recipe: {', '.join(options.names)}")
    keep_freed_memory()
    torch.set_num_threads(1)
    print(f"{'recipe':<36} {'solved':>6}  {'steps to solved':<20} {'seconds':>7}  {'worst':>7}  first measured")
    for name in names:
        try:
            chosen = recipe(*name.split("/"))
        except ConfigError as error:
            print(f"{name:<36} {error}")
            continue
        print(row(name, [learn(chosen, seed) for seed in range(options.seeds)]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
