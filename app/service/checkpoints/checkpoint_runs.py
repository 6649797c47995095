"""Checkpoints as runs: listed beside the shipped runs, described before they are loaded, opened by name."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from app.i18n import in_all_languages
from app.service.checkpoints.checkpoint_cache import CheckpointCache, NotReadyError
from app.service.checkpoints.loading import (
    CheckpointCost,
    download_checkpoint,
    hub_cost,
    load_checkpoint,
    local_cost,
    measure_read_rate,
)
from app.service.checkpoints.locations import (
    CheckpointLocation,
    default_root,
    is_checkpoint_name,
    local_locations,
    resolve_location,
)
from app.service.example_texts import example_text
from app.service.lru_cache import LRUCache
from app.service.runs.loaded_run import LoadedRun
from core import InputError
from core.decoding import can_generate
from core.runs.pretrained_run import PretrainedRun
from core.translatable import Text, verbatim

DEFAULT_NEW_TOKENS = 20  # generated unless another number is chosen
SHAPE_OPTIONS = ("n_layers", "n_heads", "position")  # options of the model in the metadata
LEADS = {  # by what the model was made for
    "none": Text(
        "A model from elsewhere, as it came. It has no output head: it gives a vector for every token and says nothing, so "
        "look at **where its attention heads look**."
    ),
    "masked": Text(
        "A model from elsewhere, as it came, made to fill in what is masked: type a sentence with a **[MASK]**."
    ),
    "stream": Text(
        "A model from elsewhere, as it came, made to tell the **next token**: it goes on with whatever is typed."
    ),
    "pairs": Text(
        "A model from elsewhere, as it came, made to answer one text with another: what it writes is what its **decoder** "
        "reads."
    ),
    "label": Text("A model from elsewhere, as it came, made to sort texts into **classes**."),
    "tags": Text("A model from elsewhere, as it came, made to give **every token a tag**."),
    "answer": Text("A model from elsewhere, as it came, made to find **where an answer stands**."),
}


@dataclass
class CheckpointSettings:
    root: Path


settings = CheckpointSettings(default_root())
checkpoint_cache = CheckpointCache()
hub_costs = LRUCache(64, lambda cost: 1)
hub_lock = threading.Lock()  # one request to the hub at a time: it may take long


def configure_checkpoints(root: Path, budget: int) -> None:
    settings.root = root
    checkpoint_cache.budget = budget


def location_of(name: str) -> CheckpointLocation:
    """A checkpoint on this machine, by its name in addresses."""
    location = local_locations(settings.root).get(name)
    if location is None:
        raise InputError("There is no checkpoint called {name!r} here.", name=name[:80])
    return location


def find_location(text: str) -> CheckpointLocation:
    """As `resolve_location`, below the configured root."""
    return resolve_location(text, settings.root)


def version_of(name: str) -> tuple:
    """Changes when the files of the checkpoint do."""
    return location_of(name).fingerprint


@lru_cache(maxsize=64)
def _cached_local_cost(location: CheckpointLocation, fingerprint: tuple) -> CheckpointCost:
    return local_cost(location)


def checkpoint_cost(location: CheckpointLocation) -> CheckpointCost:
    """An `InputError` if it cannot be loaded as a model here; of one on the hub, before its weights are downloaded."""
    if location.source == "hub":
        return hub_costs.get(location, lambda: _request_hub_cost(location))
    return _cached_local_cost(location, location.fingerprint)


def _request_hub_cost(location: CheckpointLocation) -> CheckpointCost:
    if not hub_lock.acquire(timeout=1):
        raise NotReadyError("Another checkpoint is being looked up on the hub.")
    try:
        return hub_cost(location)
    finally:
        hub_lock.release()


def cache_key(location: CheckpointLocation) -> str:
    """Includes the fingerprint of the files, so that changed files are loaded again; on the hub there is none."""
    return location.name if location.source == "hub" else f"{location.name} {hash(location.fingerprint)}"


def open_checkpoint(name: str) -> LoadedRun:
    location = location_of(name)
    checkpoint = checkpoint_cache.get(
        cache_key(location),
        checkpoint_cost(location).memory_bytes,
        lambda progress: load_checkpoint(location, progress),
    )
    facts = {"accuracy": None, "accuracy_by_length": {}, "seed": None}
    return LoadedRun(name, checkpoint, [], facts)


def start_loading(location: CheckpointLocation) -> None:
    """Load a checkpoint in the background, or download it if it is on the hub."""
    cost = checkpoint_cost(location)
    if location.source == "hub":
        checkpoint_cache.check_budget(max(cost.memory_bytes, cost.download_bytes))
        checkpoint_cache.start_download(
            cache_key(location), lambda progress: download_checkpoint(location, cost.commit, progress)
        )
    else:
        checkpoint_cache.start_loading(
            cache_key(location), cost.memory_bytes, lambda progress: load_checkpoint(location, progress)
        )


def stop_loading(location: CheckpointLocation) -> None:
    checkpoint_cache.stop(cache_key(location))


# JSON for the page


def list_checkpoints() -> list[dict[str, Any]]:
    """Summaries as in `run_registry.list_runs`. Cheap: reads names, sizes and dates of files, and of downloads the
    index of their weights.
    """
    return [
        {
            "name": location.name, "title": in_all_languages(verbatim(location.title)),
            "family": None, "task": "text", "seed": None, "accuracy": None,
            "checkpoint": {"source": location.source, "ready": checkpoint_cache.is_loaded(cache_key(location))},
        }
        for location in local_locations(settings.root).values()
    ]  # fmt: skip


def describe(location: CheckpointLocation) -> dict[str, Any]:
    """Size and cost of a checkpoint, before it is loaded or downloaded, and how far its loading is."""
    cost = checkpoint_cost(location)
    duration = {}
    if location.source != "hub":
        duration["seconds"] = cost.memory_bytes / (checkpoint_cache.bytes_per_second or measure_read_rate(location))
    return {
        "name": location.name,
        "title": location.title,
        "source": location.source,
        "package": location.package,
        "family": cost.family,
        "layers": cost.layers,
        "heads": cost.heads,
        "parameters": cost.parameters,
        "bytes": cost.memory_bytes,
        "download": cost.download_bytes,
        "budget": checkpoint_cache.budget,
        "notes": [in_all_languages(note) for note in cost.notes],
        **duration,
        **checkpoint_cache.status(cache_key(location)),
    }


def checkpoint_lead(name: str) -> Text:
    return LEADS[cast(PretrainedRun, open_checkpoint(name).run).task.forms[0]]


def checkpoint_metadata(name: str) -> dict[str, Any]:
    """As `run_registry.run_metadata`, of a model without a record of its training."""
    location, loaded = location_of(name), open_checkpoint(name)
    run = cast(PretrainedRun, loaded.run)
    config, task, form = run.recipe.model, run.task, run.task.forms[0]
    return {
        "name": name,
        "title": in_all_languages(verbatim(location.title)),
        "family": config.family,
        "task": task.name,
        "about": in_all_languages(task.help),
        "shape": {option: getattr(config, option) for option in SHAPE_OPTIONS},
        "parameters": loaded.parameters,
        "accuracy": None,
        "accuracy_by_length": {},
        "chance": None,
        "ceiling": None,
        "seed": None,
        "writes": can_generate(run.model),
        "form": form,
        "usual_length": DEFAULT_NEW_TOKENS,
        "first_input": task.spell_special_tokens(example_text(form, 0)),
        "focus": {},
        "alphabet": [],
        "steps": [],
        "loss": [],
        "accuracies": [],
        "snapshots": [0],
        "moments": [],
        "timeline": None,
        "checkpoint": {"source": location.source, "package": location.package, "vocabulary": config.vocab_size},
    }


__all__ = [
    "checkpoint_lead",
    "checkpoint_metadata",
    "configure_checkpoints",
    "describe",
    "find_location",
    "is_checkpoint_name",
    "list_checkpoints",
    "open_checkpoint",
    "start_loading",
    "stop_loading",
    "version_of",
]
