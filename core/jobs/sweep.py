"""Many runs as one table: every recipe with every combination of options and every seed.

What came of a run is kept beside it in the store, so that a table asked for again is not trained again.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from core.config.options import to_python_number
from core.errors import ConfigError
from core.jobs.failures import HAS_WORKERS, STOPPED, diverged
from core.jobs.job import Job
from core.jobs.pool import Jobs
from core.messages import Text
from core.models import configure
from core.runs.fork import Forked
from core.runs.recipes import RECIPES, Recipe, recipe
from core.runs.run import Run, key_of
from core.runs.store import Store, StoreError
from core.seeding import check_seed
from core.tasks import TASKS
from core.training.loop import Diverged, one_thread
from core.training.options import Training

RESULTS = ("steps", "loss", "accuracy", "parameters", "cpu_seconds", "problem")
HOW_NAMED = Text("A recipe is named family/task or family/task/variant.")
AHEAD = 4  # runs per worker that are under way at a time
Wanted = Recipe | str


def sweep(
    recipes: Wanted | Iterable[Wanted] | Mapping[str, Recipe],
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
    trained before, but not by a sweep. It is also the only column that depends on who trained the runs: all others
    are the same to the last digit, here, by workers or on Ray (on processors of one kind), also if some of these die.
    """
    if jobs and ray is not None:
        raise ConfigError("ray", ray, *HAS_WORKERS)
    store = jobs.store if jobs else store
    grid = _grid({} if options is None else options)
    rows, runs = [], []
    for (title, base), values, seed in product(_named(recipes), product(*grid.values()), _seeds(seeds)):
        changes = dict(zip(grid, values, strict=True))
        shown = {f"option {name}" if name in RESULTS else name: value for name, value in changes.items()}
        rows.append({"recipe": title, **shown, "seed": seed})
        runs.append((vary(base, changes), seed))
    with ExitStack() as until_done:
        if ray is not None:
            store = store or Store(until_done.enter_context(TemporaryDirectory(prefix="innerview-")))
            jobs = until_done.enter_context(Jobs(store, ray=ray))
        results = _by_workers(runs, jobs) if jobs else (_here(*run, store) for run in runs)
        return pd.DataFrame([{**row, **result} for row, result in zip(rows, results, strict=True)])


def vary(base: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with some options changed; what a changed task needs of the model follows."""
    if isinstance(base, Forked):
        raise ConfigError(
            "recipe",
            f"fork of {base.origin.parent}",
            Text(
                "a sweep trains whole runs, and a fork begins inside another one.",
            ),
            Text("Sweep over the recipe it was forked from."),
        )
    wanted: dict[str, dict[str, Any]] = {"model": {}, "task": {}, "training": {}}
    for name, value in changes.items():
        part, option = _locate(base, name, value)
        wanted[part][option] = value
    model, problem = base.model.to_dict(), base.task
    if wanted["task"]:
        problem = TASKS[problem.name].make(**{**problem.to_dict(), **wanted["task"]})
        model |= problem.model_options(base.family, model.get("head"))
    return Recipe(
        configure(base.family, **{**model, **wanted["model"]}),
        problem,
        Training.make(**{**base.training.to_dict(), **wanted["training"]}),
    )


def _locate(base: Recipe, name: str, value: Any) -> tuple[str, str]:
    """Which part of a recipe has this option."""
    task_options = base.task.options() if base.task.name in TASKS else []  # those of own data say how it was read
    known = {"model": base.model.options(), "task": task_options, "training": base.training.options()}
    full = [f"{part}.{option.name}" for part, listed in known.items() for option in listed]
    found = [each for each in full if name in (each, each.partition(".")[2])]
    if len(found) == 1:
        return tuple(found[0].split("."))
    if found:
        why = Text("more than one part of the recipe has this option.")
        remedy = Text("Choose one of: {found}.", found=found)
    else:
        close = difflib.get_close_matches(name, [each.partition(".")[2] for each in full], n=1)
        why = Text("no part of the recipe has this option.")
        listed = close or full
        remedy = Text("Did you mean {listed}?", listed=listed)
    raise ConfigError(name, value, why, remedy)


def _named(recipes: Any) -> list[tuple[str, Recipe]]:
    if isinstance(recipes, Mapping):
        return [(str(title), found) for title, each in recipes.items() for _, found in _named([each])]
    if isinstance(recipes, str):
        return [(recipes, _by_name(recipes))]
    if isinstance(recipes, Recipe):
        return [(f"{recipes.family}/{recipes.task.name}", recipes)]
    if not isinstance(recipes, Iterable):
        raise ConfigError("recipes", recipes, Text("that is not a recipe."), HOW_NAMED)
    return [named for each in recipes for named in _named(each)]


def _by_name(name: str) -> Recipe:
    parts = name.split("/")
    if len(parts) in (2, 3):
        return recipe(*parts)
    close = difflib.get_close_matches(name, ["/".join(pair) for pair in RECIPES], n=1)
    raise ConfigError(
        "recipes",
        name,
        Text("that is not the name of a recipe."),
        Text("{how} Did you mean {nearest}?", how=HOW_NAMED, nearest=close[0]) if close else HOW_NAMED,
    )


def _grid(options: Any) -> dict[str, list[Any]]:
    """Each option's values; a text, a number or a mapping is one value."""
    if not isinstance(options, Mapping):
        raise ConfigError(
            "options",
            options,
            Text("it must name each option with its values."),
            Text('Use for example {"lr": [1e-2, 1e-3]}.'),
        )
    several = {
        name: isinstance(given, Iterable) and not isinstance(given, str | Mapping) for name, given in options.items()
    }
    return {
        name: list(map(to_python_number, given)) if several[name] else [to_python_number(given)]
        for name, given in options.items()
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


# Two ways to the same results


def _by_workers(runs: list[tuple[Recipe, int]], jobs: Jobs) -> Iterator[dict[str, Any]]:
    """In order; a few runs are always under way, so that a large table does not fill the memory."""
    waiting = iter(runs)
    started: list[Job | dict[str, Any]] = []

    def start_next() -> None:
        for which, seed in waiting:
            started.append(_kept(jobs.store, key_of(which, seed)) or jobs.start(which, seed))
            return

    for _ in range(AHEAD * jobs.size):
        start_next()
    for position in range(len(runs)):
        job = started[position]
        if isinstance(job, Job):
            job.wait()
        started[position] = None  # what is not needed any more need not be held
        start_next()
        yield job if isinstance(job, dict) else _outcome(job, jobs.store)


def _outcome(job: Job, store: Store) -> dict[str, Any]:
    problem = STOPPED if job.status == "stopped" else job.problem
    try:
        run = store.load(job.key)
    except StoreError:  # it never came so far
        run = Run(job.recipe, job.seed)
    with one_thread():
        result = _result(run, problem, job.cpu_seconds or math.nan)
    if job.status == "done" or job.diverged:
        _keep(store, job.key, result)
    return result


def _here(which: Recipe, seed: int, store: Store | None) -> dict[str, Any]:
    key = key_of(which, seed)
    kept = _kept(store, key) if store else None
    if kept:
        return kept
    with one_thread():
        run, problem, began = _stored(which, seed, store), None, time.process_time()
        done_before = run.trainer.index
        try:
            for _ in run.train():
                pass
        except Diverged as end:
            problem = diverged(end)
        spent = time.process_time() - began if run.trainer.index > done_before or problem else math.nan
        result = _result(run, problem, spent)
    if store:
        if problem is None:
            store.save(run)
        _keep(store, key, result)
    return result


def _stored(which: Recipe, seed: int, store: Store | None) -> Run:
    try:
        return store.get(which, seed) if store else Run(which, seed)
    except StoreError:
        return Run(which, seed)


def _result(run: Run, problem: Text | None, cpu_seconds: float) -> dict[str, Any]:
    values = (
        run.trainer.index,
        run.steps[-1].loss if run.steps else math.nan,
        run.evaluate().accuracy,
        sum(parameter.numel() for parameter in run.model.parameters()),
        cpu_seconds,
        problem,
    )
    return dict(zip(RESULTS, values, strict=True))


# What is kept


def _path(store: Store, key: str) -> Path:
    return store.folder / f"{key}.json"


def _kept(store: Store, key: str) -> dict[str, Any] | None:
    try:
        values = json.loads(_path(store, key).read_text())
        problem = values.pop("problem")
        return {**{name: values[name] for name in RESULTS[:-1]}, "problem": problem and Text.from_dict(problem)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # not there, or damaged: found out anew
        return None


def _keep(store: Store, key: str, result: dict[str, Any]) -> None:
    problem = result["problem"]
    facts = {**result, "problem": problem and problem.to_dict()}
    part = store.folder / f"{key}.result.{os.getpid()}.part"  # a name that the store removes if this process dies
    part.write_text(json.dumps(facts))
    part.replace(_path(store, key))
