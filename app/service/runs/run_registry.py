"""The registry of runs: every run that a page can open, by name, loaded once and cached while it is used.

Shipped runs are listed under names. Runs trained here are not listed; they are opened by their key, also during their
training, so everything cached about a run is cached for one version of it (`version_of`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, cast

from app.i18n import in_all_languages
from app.service.checkpoints import checkpoint_runs
from app.service.generation.generation import usual_length
from app.service.lru_cache import LRUCache
from app.service.runs import shipped
from app.service.runs.job_service import is_run_key, job_service
from app.service.runs.loaded_run import LoadedRun
from app.service.runs.shipped_introductions import INTRODUCTIONS
from app.service.timeline_figure import timeline_spec
from app.service.training.run_titles import run_lead, run_title
from core import InputError
from core.analysis.training_events import TrainingEvent, find_training_events
from core.decoding import can_generate
from core.jobs.outcome import load_outcome
from core.runs.run import Run
from core.runs.store import StoreError
from core.training.snapshots import Snapshot
from core.translatable import Text, verbatim

LOADED_RUNS_BYTES, MAX_LOADED_RUNS = 1_000_000_000, 32
RESPONSE_CACHE_BYTES = 256_000_000  # of all responses of all sessions
STEP_BYTES = 500  # of a step of training in memory
EVALUATION_PROBLEMS = 256  # held-out, of a run that has not ended
SHAPE_OPTIONS = ("n_layers", "n_heads", "d_hidden", "position")  # options of the model in the metadata


@dataclass(frozen=True)
class RunEntry:
    """A run in the registry: its name, title and introduction, and what the page selects first."""

    name: str
    title: Text
    lead: Text
    first_input: str = ""
    focus: dict[str, Any] = field(default_factory=dict)
    loaded_run: LoadedRun | None = None  # a run that is in memory; None: a shipped one, loaded when it is opened


def _memory_bytes(loaded: LoadedRun) -> int:
    """Approximate memory of a run; at least the share that keeps the number of runs below `MAX_LOADED_RUNS`."""
    run = loaded.run
    weights = [
        *run.model.parameters(),
        *(weight for snapshot in run.snapshots for weight in snapshot.weights.values()),
    ]
    size = sum(weight.nbytes for weight in weights) + STEP_BYTES * len(run.steps)
    return max(size, LOADED_RUNS_BYTES // MAX_LOADED_RUNS)


_registered_entries: dict[str, RunEntry] = {}
_loaded_runs = LRUCache(LOADED_RUNS_BYTES, _memory_bytes)
_load_slots = threading.Semaphore(2)  # apart from MODEL_SLOTS: a request that holds one of those may wait for a load
_responses = LRUCache(
    RESPONSE_CACHE_BYTES, lambda response: len(response) if isinstance(response, bytes) else response.nbytes
)


def register_run(entry: RunEntry) -> None:
    """Add a run beside the shipped ones."""
    _registered_entries[entry.name] = entry


def run_entries() -> dict[str, RunEntry]:
    """The shipped and the registered runs, by name."""
    return {name: _shipped_entry(name) for name in shipped.names()} | _registered_entries


def _shipped_entry(name: str) -> RunEntry:
    spec = shipped.by_name(name)
    return RunEntry(name, *INTRODUCTIONS[name], spec.first_input, spec.focus)


def _load_once(load: Callable[..., LoadedRun], *arguments: Hashable) -> LoadedRun:
    """`load(*arguments)`, cached by its arguments."""

    def load_in_slot() -> LoadedRun:
        with _load_slots:
            return load(*arguments)

    return _loaded_runs.get(arguments, load_in_slot)


def open_run(name: str) -> LoadedRun:
    """A run by its name in the registry, its key, or the name of a checkpoint."""
    if checkpoint_runs.is_checkpoint_name(name):
        return checkpoint_runs.open_checkpoint(name)
    if is_run_key(name):
        return _load_once(_load_trained, name, version_of(name))
    entry = run_entries().get(name)
    if entry is None:
        raise InputError("There is no run called {name!r}.", name=name[:40])
    return entry.loaded_run or _load_once(shipped.load, name)


def _load_trained(key: str, index: int) -> LoadedRun:
    """A run from the store after `index` steps: the same key and index are always the same run."""
    try:
        run = job_service.store.load(key)
    except StoreError as error:
        raise InputError(error.text) from error
    run.model.eval()
    if run.snapshots[-1].step < index:  # in the middle of its training, or where it was stopped
        run.snapshots.entries.append(Snapshot.of(run.trainer.index, run.model))
    outcome = load_outcome(job_service.store, key, len(run.steps)) or {}
    accuracy = outcome.get("accuracy")
    facts = {
        "recipe": run.recipe.to_dict(),
        "seed": run.seed,
        "accuracy": run.evaluate(EVALUATION_PROBLEMS).accuracy if accuracy is None else accuracy,
        "accuracy_by_length": {},
    }
    stored_events = outcome.get("moments") if accuracy is not None else None
    if stored_events is None:
        return LoadedRun(key, run, find_training_events(run), facts)
    return LoadedRun(key, run, [TrainingEvent(**event) for event in stored_events], facts)


def version_of(name: str) -> Hashable:
    """A value that changes whenever the run does; part of the key of everything that is cached about it."""
    if checkpoint_runs.is_checkpoint_name(name):
        return checkpoint_runs.version_of(name)
    if not is_run_key(name):
        entry = _registered_entries.get(name)
        return None if entry is None else id(entry.loaded_run)
    facts = job_service.stored_facts(name)
    if facts is None or not facts["steps"]:
        job_service.job(name)  # raises for an unknown key
        raise InputError("Nothing of this run is stored yet; it is, a moment after its training has begun.")
    return facts["index"]


def cached(respond: Callable) -> Callable:
    """Decorator that caches `respond(run_name, *arguments)` for the current version of the run.

    Responses are bytes, or have a size (`nbytes`); those of all functions share one budget.
    """

    @wraps(respond)
    def cached_response(run: str, *arguments: Hashable) -> Any:
        key = (respond.__module__, respond.__qualname__, version_of(run), run, *arguments)
        return _responses.get(key, lambda: respond(run, *arguments))

    return cached_response


def list_runs() -> list[dict[str, Any]]:
    """A summary of every listed run; no shipped run is loaded for it."""
    summaries = []
    for entry in run_entries().values():
        facts = entry.loaded_run.facts if entry.loaded_run else shipped.facts_of(entry.name)
        summaries.append(
            {
                "name": entry.name,
                "family": facts["recipe"]["model"]["family"],
                "task": facts["recipe"]["task"]["name"],
                "seed": facts["seed"],
                "accuracy": facts["accuracy"],
                "title": in_all_languages(entry.title),
            }
        )
    return summaries + checkpoint_runs.list_checkpoints()


def run_metadata(name: str) -> dict[str, Any]:
    """Everything about a run but its weights: model, task, introduction, training curves and events."""
    if checkpoint_runs.is_checkpoint_name(name):
        return checkpoint_runs.checkpoint_metadata(name)
    loaded = open_run(name)
    run = cast(Run, loaded.run)  # only checkpoints are a PretrainedRun
    entry = _trained_entry(loaded, run) if is_run_key(name) else run_entries()[name]
    config = run.recipe.model
    return {
        "name": name,
        "title": in_all_languages(entry.title),
        "family": run.recipe.family,
        "task": run.task.name,
        "about": in_all_languages(run.task.help),
        "shape": {option: getattr(config, option) for option in SHAPE_OPTIONS if hasattr(config, option)},
        "parameters": loaded.parameters,
        "accuracy": loaded.facts["accuracy"],
        "accuracy_by_length": loaded.facts["accuracy_by_length"],
        "chance": run.task.chance,
        "ceiling": getattr(run.task, "ceiling", None),  # the accuracy of an optimal predictor, where it is below 1
        "seed": run.seed,
        "writes": can_generate(run.model),
        "form": run.task.form(run.model),  # the kind of its output: "stream", "tags", "spans" …
        "usual_length": usual_length(run) if can_generate(run.model) else None,
        "first_input": entry.first_input,
        "focus": entry.focus,
        "alphabet": [token for token in run.task.tokens if token in run.task.ids],
        "steps": [step.index for step in run.steps],
        "planned": run.recipe.training.steps,
        "loss": [step.loss for step in run.steps],
        "accuracies": [step.accuracy for step in run.steps],
        "snapshots": [snapshot.step for snapshot in run.snapshots],
        "moments": [
            {"step": event.step, "text": in_all_languages(event.text), "head": event.head} for event in loaded.events
        ],
        "timeline": timeline_spec(run, loaded.events, loaded.facts["accuracy"]),
    }


def entry_title(loaded: LoadedRun) -> Text:
    """The title of an open run, wherever it came from."""
    if isinstance(loaded.run, Run) and is_run_key(loaded.name):
        return run_title(loaded.run.recipe, loaded.run.seed)
    if checkpoint_runs.is_checkpoint_name(loaded.name):
        return verbatim(checkpoint_runs.location_of(loaded.name).title)
    entry = run_entries().get(loaded.name)
    return entry.title if entry else verbatim(loaded.name)


def run_lead_of(name: str) -> Text:
    """What to look at in a run."""
    if checkpoint_runs.is_checkpoint_name(name):
        return checkpoint_runs.checkpoint_lead(name)
    loaded = open_run(name)
    return _trained_entry(loaded, cast(Run, loaded.run)).lead if is_run_key(name) else run_entries()[name].lead


def _trained_entry(loaded: LoadedRun, run: Run) -> RunEntry:
    lead = run_lead(run.recipe, run.seed, loaded.facts["accuracy"], len(run.steps))
    return RunEntry(loaded.name, run_title(run.recipe, run.seed), lead)
