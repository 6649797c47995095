"""What can be looked at: runs by name, opened once and kept while they are used.

The shipped ones have names and are listed. Those trained here are known by their keys to whoever trained them, and may
be looked at while they are being trained: whatever is kept of them is kept for the state they were in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from app.i18n import in_all_languages
from app.service.checkpoints import checkpoint_runs
from app.service.generation.generation import usual_length
from app.service.lru_cache import LRUCache
from app.service.runs import shipped
from app.service.runs.job_service import is_key, job_service
from app.service.runs.shipped import LoadedRun
from app.service.runs.shipped_introductions import INTRODUCTIONS
from app.service.training.run_titles import run_lead, run_title
from core import InputError
from core.analysis.training_events import TrainingEvent, find_training_events
from core.decoding import writes
from core.jobs.outcome import outcome_of
from core.messages import Text
from core.runs.store import StoreError
from core.training.snapshots import Snapshot

OPENED_BYTES, MOST_OPENED = 1_000_000_000, 32
ANSWER_BYTES = 256_000_000  # of all answers of all sessions
STEP_BYTES = 500  # of a step of training in memory
JUDGED_ON = 256  # held-out problems, of a run that has not ended


@dataclass(frozen=True)
class RunEntry:
    """A run under a name, with what is said about it and where looking begins."""

    name: str
    title: Text
    lead: Text
    first_input: str = ""
    focus: dict[str, Any] = field(default_factory=dict)
    opened: LoadedRun | None = None  # a run that is already here; None: a shipped one, opened when it is asked for


def _held(opened: LoadedRun) -> int:
    """Bytes, roughly; at least what keeps the number of runs below `MOST_OPENED`."""
    run = opened.run
    weights = [
        *run.model.parameters(),
        *(weight for snapshot in run.snapshots for weight in snapshot.weights.values()),
    ]
    held = sum(weight.nbytes for weight in weights) + STEP_BYTES * len(run.steps)
    return max(held, OPENED_BYTES // MOST_OPENED)


_others: dict[str, RunEntry] = {}
_runs = LRUCache(OPENED_BYTES, _held)
_opening = threading.Semaphore(2)  # apart from models that run: those wait for what is being opened
_answers = LRUCache(ANSWER_BYTES, lambda answer: len(answer) if isinstance(answer, bytes) else answer.nbytes)


def offer(one: RunEntry) -> None:
    """Put a run beside the shipped ones."""
    _others[one.name] = one


def offers() -> dict[str, RunEntry]:
    return {name: _shipped_offer(name) for name in shipped.names()} | _others


def _shipped_offer(name: str) -> RunEntry:
    one = shipped.by_name(name)
    return RunEntry(name, *INTRODUCTIONS[name], one.first_input, one.focus)


def _opened_once(make: Callable[..., LoadedRun], *which: Hashable) -> LoadedRun:
    def opened() -> LoadedRun:
        with _opening:
            return make(*which)

    return _runs.get(which, opened)


def open_run(name: str) -> LoadedRun:
    """A run by the name it is offered under, or by its key."""
    if checkpoint_runs.is_name(name):
        return checkpoint_runs.opened(name)
    if is_key(name):
        return _opened_once(_trained, name, state_of(name))
    found = offers().get(name)
    if found is None:
        raise InputError("There is no run called {name!r}.", name=name[:40])
    return found.opened or _opened_once(shipped.load, name)


def _trained(key: str, index: int) -> LoadedRun:
    """A run from the store as it stands after so many steps: the same key and number, the same run."""
    try:
        run = job_service.store.load(key)
    except StoreError as error:
        raise InputError(error.text) from error
    run.model.eval()
    if run.snapshots[-1].step < index:  # in the middle of its training, or where it was stopped
        run.snapshots.entries.append(Snapshot.of(run.trainer.index, run.model))
    ended = outcome_of(job_service.store, key, len(run.steps)) or {}
    accuracy = ended.get("accuracy")
    facts = {
        "recipe": run.recipe.to_dict(),
        "seed": run.seed,
        "accuracy": run.evaluate(JUDGED_ON).accuracy if accuracy is None else accuracy,
        "accuracy_by_length": {},
    }
    known = ended.get("moments") if accuracy is not None else None
    moments = find_training_events(run) if known is None else [TrainingEvent(**m) for m in known]
    return LoadedRun(key, run, moments, facts)


def state_of(name: str) -> Hashable:
    """What must be the same for anything kept about a run to hold still."""
    if checkpoint_runs.is_name(name):
        return checkpoint_runs.state_of(name)
    if not is_key(name):
        one = _others.get(name)
        return None if one is None else id(one.opened)
    facts = job_service.stored(name)
    if facts is None or not facts["steps"]:
        job_service.job(name)  # refuses what nobody knows
        raise InputError(
            "Nothing of this run is stored yet; it is, a moment after its training has begun.",
        )
    return facts["index"]


def kept(answer: Callable) -> Callable:
    """For answers about a run, whose name comes first: never one about an older state of it.

    They are bytes, or tell their size (`nbytes`); all of them share one budget.
    """

    @wraps(answer)
    def found(run: str, *question: Hashable) -> Any:
        key = (answer.__module__, answer.__qualname__, state_of(run), run, *question)
        return _answers.get(key, lambda: answer(run, *question))

    return found


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
                "title": in_all_languages(one.title),
            }
        )
    return listed + checkpoint_runs.listing()


def story(name: str) -> dict[str, Any]:
    """A run's training: its curves, its moments, what it is made of."""
    if checkpoint_runs.is_name(name):
        return checkpoint_runs.story(name)
    opened = open_run(name)
    run = opened.run
    one = _trained_offer(opened) if is_key(name) else offers()[name]
    config = run.model.config
    shown = ("n_layers", "n_heads", "d_hidden", "position")
    return {
        "name": name,
        "title": in_all_languages(one.title),
        "family": run.recipe.family,
        "task": run.task.name,
        "about": in_all_languages(run.task.help),
        "shape": {key: getattr(config, key) for key in shown if hasattr(config, key)},
        "parameters": opened.parameters,
        "accuracy": opened.facts["accuracy"],
        "accuracy_by_length": opened.facts["accuracy_by_length"],
        "chance": run.task.chance,
        "ceiling": getattr(run.task, "ceiling", None),  # what whoever knows everything about the task would reach
        "seed": run.seed,
        "writes": writes(run.model),
        "form": run.task.form(run.model),  # how it answers: "stream", "tags", "spans" …
        "usual_length": usual_length(run) if writes(run.model) else None,
        "lead": in_all_languages(one.lead),
        "first_input": one.first_input,
        "focus": one.focus,
        "alphabet": [token for token in run.task.tokens if token in run.task.ids],
        "steps": [step.index for step in run.steps],
        "planned": run.recipe.training.steps,
        "loss": [step.loss for step in run.steps],
        "accuracies": [step.accuracy for step in run.steps],
        "snapshots": [snapshot.step for snapshot in run.snapshots],
        "moments": [{"step": m.step, "text": in_all_languages(m.text), "head": m.head} for m in opened.moments],
    }


def _trained_offer(opened: LoadedRun) -> RunEntry:
    run = opened.run
    lead = run_lead(run.recipe, run.seed, opened.facts["accuracy"], len(run.steps))
    return RunEntry(opened.name, run_title(run.recipe, run.seed), lead)
