"""Checkpoints as runs: listed beside them, told about before they are loaded, opened under their names."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from app.i18n import WORDS, in_all_languages
from app.service.checkpoints.checkpoint_cache import CheckpointCache, NotReadyError
from app.service.checkpoints.loading import Cost, cost_ahead, cost_at, fetch, read_rate, read_whole
from app.service.checkpoints.locations import Place, default_root, find, is_name, places
from app.service.example_texts import example_text
from app.service.lru_cache import LRUCache
from app.service.runs.shipped import LoadedRun
from core import InputError
from core.decoding import writes
from core.messages import verbatim
from core.runs.pretrained_run import PretrainedRun

LENGTH = 20  # tokens that are written unless somebody says otherwise


@dataclass
class Settings:
    root: Path


settings = Settings(default_root())
checkpoint_cache = CheckpointCache()
ahead = LRUCache(64, lambda cost: 1)  # what those on the hub would cost
looking_up = threading.Lock()  # on the hub, one at a time: it may not answer for long


def set_up(root: Path, budget: int) -> None:
    settings.root = root
    checkpoint_cache.budget = budget


def place_of(name: str) -> Place:
    """A checkpoint that is here, by its name in addresses."""
    found = places(settings.root).get(name)
    if found is None:
        raise InputError("There is no checkpoint called {name!r} here.", name=name[:80])
    return found


def state_of(name: str) -> tuple:
    return place_of(name).fingerprint


@lru_cache(maxsize=64)
def _cost(place: Place, fingerprint: tuple) -> Cost:
    return cost_at(place)


def cost(place: Place) -> Cost:
    """Refuses what cannot be a model here; of one on the hub, before anything but its small files is fetched."""
    return _cost(place, place.fingerprint) if place.source != "hub" else ahead.get(place, lambda: _looked_up(place))


def _looked_up(place: Place) -> Cost:
    if not looking_up.acquire(timeout=1):
        raise NotReadyError("Another checkpoint is being looked up on the hub.")
    try:
        return cost_ahead(place)
    finally:
        looking_up.release()


def key_of(place: Place) -> str:
    """What is loaded is loaded as the files are now; what is on the hub has none here."""
    return place.name if place.source == "hub" else f"{place.name} {hash(place.fingerprint)}"


def opened(name: str) -> LoadedRun:
    place = place_of(name)
    checkpoint = checkpoint_cache.get(key_of(place), cost(place).bytes, lambda reading: read_whole(place, reading))
    facts = {"accuracy": None, "accuracy_by_length": {}, "seed": None}
    return LoadedRun(name, checkpoint, [], facts)


# What the page is told


def listing() -> list[dict[str, Any]]:
    """Cheap: of their files only the names, sizes and dates are read; of what was fetched, an index of weights too."""
    return [
        {
            "name": place.name, "title": in_all_languages(verbatim(place.title)), "family": None, "task": "text",
            "seed": None, "accuracy": None, "checkpoint": {"source": place.source, "ready": checkpoint_cache.has(key_of(place))},
        }
        for place in places(settings.root).values()
    ]  # fmt: skip


def told(place: Place) -> dict[str, Any]:
    """What there is to know before loading, or downloading."""
    found = cost(place)
    about = {"seconds": found.bytes / (checkpoint_cache.rate or read_rate(place))} if place.source != "hub" else {}
    return {
        "name": place.name,
        "title": place.title,
        "source": place.source,
        "package": place.package,
        "family": found.family,
        "layers": found.layers,
        "heads": found.heads,
        "parameters": found.parameters,
        "bytes": found.bytes,
        "download": found.download,
        "budget": checkpoint_cache.budget,
        "notes": [in_all_languages(note) for note in found.notes],
        **about,
        **checkpoint_cache.state(key_of(place)),
    }


def begin(place: Place) -> None:
    """Load it, or fetch it from the hub first."""
    found = cost(place)
    if place.source == "hub":
        checkpoint_cache.check_budget(max(found.bytes, found.download))
        checkpoint_cache.fetch(key_of(place), lambda reading: fetch(place, found.commit, reading))
    else:
        checkpoint_cache.begin(key_of(place), found.bytes, lambda reading: read_whole(place, reading))


def stop(place: Place) -> None:
    checkpoint_cache.stop(key_of(place))


def asked_for(text: str) -> Place:
    return find(text, settings.root)


def story(name: str) -> dict[str, Any]:
    """As `gallery.story`, of a model whose training nobody here has seen."""
    place, found = place_of(name), opened(name)
    run: PretrainedRun = found.run
    config, task, form = run.model.config, run.task, run.task.forms[0]
    shown = ("n_layers", "n_heads", "position")
    words = {"family": config.family, "title": place.title}
    lead = {lang: said[f"checkpoint.lead.{form}"].format(**words) for lang, said in WORDS.items()}
    return {
        "name": name,
        "title": in_all_languages(verbatim(place.title)),
        "family": config.family,
        "task": task.name,
        "about": in_all_languages(task.help),
        "shape": {key: getattr(config, key) for key in shown},
        "parameters": found.parameters,
        "accuracy": None,
        "accuracy_by_length": {},
        "chance": None,
        "ceiling": None,
        "seed": None,
        "writes": writes(run.model),
        "form": form,
        "usual_length": LENGTH,
        "lead": lead,
        "first_input": task.own_names(example_text(form, 0)),
        "focus": {},
        "alphabet": [],
        "steps": [],
        "loss": [],
        "accuracies": [],
        "snapshots": [0],
        "moments": [],
        "checkpoint": {"source": place.source, "package": place.package, "vocabulary": config.vocab_size},
    }


__all__ = ["asked_for", "begin", "is_name", "listing", "opened", "set_up", "state_of", "stop", "story", "told"]
