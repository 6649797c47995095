"""Many runs as one table: every recipe with every combination of options and every seed.

The result of a run is stored beside it as `<key>.json`, so that the same table is not trained again.
"""

from __future__ import annotations

import difflib
import json
import math
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from core.config.options import to_python_number
from core.errors import ConfigError
from core.jobs.failures import HAS_WORKERS, STOPPED, divergence
from core.jobs.job import Job
from core.jobs.jobs import Jobs
from core.models import configure
from core.runs.atomic_files import write_atomically
from core.runs.fork import ForkRecipe
from core.runs.recipes import Recipe, as_recipe
from core.runs.run import Run, key_of
from core.runs.store import Store, StoreError
from core.seeding import check_seed
from core.tasks import TASKS
from core.training.loop import Diverged, single_thread
from core.training.options import Training
from core.translatable import Text

RESULTS = ("steps", "loss", "accuracy", "parameters", "cpu_seconds", "problem")  # columns
AHEAD = 4  # runs per worker that are under way at a time


def sweep(
    recipes: Recipe | str | Iterable[Recipe | str] | Mapping[str, Recipe | str],
    options: Mapping[str, Any] | None = None,
    seeds: int | Iterable[int] = 1,
    *,
    jobs: Jobs | None = None,
    store: Store | None = None,
    ray: str | None = None,
) -> pd.DataFrame:
    """`sweep("lstm/parity", {"d_hidden": [16, 32], "lr": [1e-2, 1e-3]}, seeds=3)`: one row per run.

    recipes  one or several, by name ("family/task" or "family/task/variant") or as they are; a dict names them
    options  of the model, the task or the training, each with its values or its only one; "task.max_len" where more
             than one of them has it
    seeds    which, or how many
    jobs     trains them in its workers; without, they are trained here, one after the other
    store    where results are kept when there are no jobs, which have a store of their own
    ray      trains them on this Ray cluster, "auto" or "host:port" of its head, when there are no jobs

    Every combination is checked before the first is trained. `loss` is the last step's, `accuracy` is on held-out
    problems; `problem` says why a run has fewer steps than it should; `cpu_seconds` is unknown for a run that was
    trained before, but not by a sweep. It is also the only column that depends on where the runs were trained: all
    others are the same to the last digit, here, by workers or on Ray (on processors of one kind), also if some die.
    """
    if jobs and ray is not None:
        raise ConfigError("ray", ray, *HAS_WORKERS)
    store = jobs.store if jobs else store
    grid = _option_values({} if options is None else options)
    rows, runs = [], []
    for (title, base), values, seed in product(_titled(recipes), product(*grid.values()), _seeds(seeds)):
        changes = dict(zip(grid, values, strict=True))
        columns = {f"option {name}" if name in RESULTS else name: value for name, value in changes.items()}
        rows.append({"recipe": title, **columns, "seed": seed})
        runs.append((vary(base, changes), seed))
    with ExitStack() as resources:
        if ray is not None:
            store = store or Store(resources.enter_context(TemporaryDirectory(prefix="innerview-")))
            jobs = resources.enter_context(Jobs(store, ray=ray))
        results = _train_in_workers(runs, jobs) if jobs else (_train_here(*run, store=store) for run in runs)
        return pd.DataFrame([{**row, **result} for row, result in zip(rows, results, strict=True)])


def vary(base: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with some options changed; model options that a changed task decides follow."""
    if isinstance(base, ForkRecipe):
        assert base.origin is not None
        raise ConfigError(
            "recipe",
            f"fork of {base.origin.parent}",
            Text(
                "a sweep trains whole runs, and a fork begins inside another one.",
            ),
            Text("Sweep over the recipe it was forked from."),
        )
    changed: dict[str, dict[str, Any]] = {"model": {}, "task": {}, "training": {}}
    for name, value in changes.items():
        part, option = _locate(base, name, value)
        changed[part][option] = value
    model, task = base.model.to_dict(), base.task
    if changed["task"]:
        task = TASKS[task.name].make(**{**task.to_dict(), **changed["task"]})
        model |= task.model_options(base.family, model.get("head"))
    return Recipe(
        configure(base.family, **{**model, **changed["model"]}),
        task,
        Training.make(**{**base.training.to_dict(), **changed["training"]}),
    )


def _locate(base: Recipe, name: str, value: Any) -> tuple[str, str]:
    """The part of a recipe (model, task, training) that has this option, and the option's own name."""
    task_options = base.task.options() if base.task.name in TASKS else []  # those of custom data say how it was read
    by_part = {"model": base.model.options(), "task": task_options, "training": base.training.options()}
    known = [(part, option.name) for part, options in by_part.items() for option in options]
    matches = [(part, option) for part, option in known if name in (f"{part}.{option}", option)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        why = Text("more than one part of the recipe has this option.")
        remedy = Text("Choose one of: {found}.", found=[".".join(match) for match in matches])
    else:
        close = difflib.get_close_matches(name, [option for _, option in known], n=1)
        why = Text("no part of the recipe has this option.")
        remedy = Text("Did you mean {listed}?", listed=close or [".".join(pair) for pair in known])
    raise ConfigError(name, value, why, remedy)


def _titled(recipes: Any) -> list[tuple[str, Recipe]]:
    """Recipes with the titles they have in the table."""
    if isinstance(recipes, Mapping):
        return [(str(title), recipe) for title, named in recipes.items() for _, recipe in _titled([named])]
    if isinstance(recipes, Iterable) and not isinstance(recipes, str):
        return [pair for entry in recipes for pair in _titled(entry)]
    recipe = as_recipe(recipes)
    return [(recipes if isinstance(recipes, str) else f"{recipe.family}/{recipe.task.name}", recipe)]


def _option_values(options: Any) -> dict[str, list[Any]]:
    """Each option's values; a text, a number or a mapping is one value."""
    if not isinstance(options, Mapping):
        raise ConfigError(
            "options",
            options,
            Text("it must name each option with its values."),
            Text('Use for example {"lr": [1e-2, 1e-3]}.'),
        )
    several = {
        name: isinstance(value, Iterable) and not isinstance(value, str | Mapping) for name, value in options.items()
    }
    return {
        name: list(map(to_python_number, value)) if several[name] else [to_python_number(value)]
        for name, value in options.items()
    }


def _seeds(seeds: Any) -> list[int]:
    """Those listed, or so many from 0 on."""
    if isinstance(seeds, Iterable) and not isinstance(seeds, str):
        return list(map(check_seed, seeds))
    count = to_python_number(seeds)
    if type(count) is not int or count < 1:
        raise ConfigError(
            "seeds",
            seeds,
            Text("it says how many seeds there are, or lists them."),
            Text("Use for example 3, or [0, 5]."),
        )
    return list(range(count))


# Two ways of training, with the same results


def _train_in_workers(runs: list[tuple[Recipe, int]], jobs: Jobs) -> Iterator[dict[str, Any]]:
    """Results in the order of the runs; only a few are under way, so that a large table does not fill the memory."""

    def start(recipe: Recipe, seed: int) -> Job | dict[str, Any]:
        return _load_result(jobs.store, key_of(recipe, seed)) or jobs.start(recipe, seed)

    waiting = iter(runs)
    under_way = deque(start(*run) for run in islice(waiting, AHEAD * jobs.size))
    while under_way:
        job = under_way.popleft()
        if isinstance(job, Job):
            job.wait()
        under_way.extend(start(*run) for run in islice(waiting, 1))
        yield _job_result(job, jobs.store) if isinstance(job, Job) else job


def _job_result(job: Job, store: Store) -> dict[str, Any]:
    problem = STOPPED if job.status == "stopped" else job.problem
    try:
        run = store.load(job.key)
    except StoreError:  # it ended before its first checkpoint
        run = Run(job.recipe, job.seed)
    with single_thread():
        result = _measure(run, problem, job.cpu_seconds or math.nan)
    if job.status == "done" or job.diverged:
        _save_result(store, job.key, result)
    return result


def _train_here(recipe: Recipe, seed: int, store: Store | None) -> dict[str, Any]:
    key = key_of(recipe, seed)
    stored = _load_result(store, key) if store else None
    if stored:
        return stored
    with single_thread():
        run, problem, began = _load_or_begin(recipe, seed, store), None, time.process_time()
        steps_before = run.trainer.index
        try:
            for _ in run.train():
                pass
        except Diverged as end:
            problem = divergence(end)
        trained = run.trainer.index > steps_before or problem is not None
        result = _measure(run, problem, time.process_time() - began if trained else math.nan)
    if store:
        if problem is None:
            store.save(run)
        _save_result(store, key, result)
    return result


def _load_or_begin(recipe: Recipe, seed: int, store: Store | None) -> Run:
    try:
        return store.get(recipe, seed) if store else Run(recipe, seed)
    except StoreError:
        return Run(recipe, seed)


def _measure(run: Run, problem: Text | None, cpu_seconds: float) -> dict[str, Any]:
    values = (
        run.trainer.index,
        run.steps[-1].loss if run.steps else math.nan,
        run.evaluate().accuracy,
        sum(parameter.numel() for parameter in run.model.parameters()),
        cpu_seconds,
        problem,
    )
    return dict(zip(RESULTS, values, strict=True))


# Stored results


def _result_path(store: Store, key: str) -> Path:
    return store.folder / f"{key}.json"


def _load_result(store: Store, key: str) -> dict[str, Any] | None:
    try:
        values = json.loads(_result_path(store, key).read_text())
        problem = values.pop("problem")
        return {**{name: values[name] for name in RESULTS[:-1]}, "problem": problem and Text.from_dict(problem)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # not there, or damaged: it is measured anew
        return None


def _save_result(store: Store, key: str, result: dict[str, Any]) -> None:
    problem = result["problem"]
    facts = {**result, "problem": problem and problem.to_dict()}
    write_atomically(_result_path(store, key), json.dumps(facts), sync=False)
