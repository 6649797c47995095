"""From a place to a checkpoint in memory, with its progress; and what that will cost, told before.

Weights are copied out of their files, not mapped: a file that changes or goes must not touch a model that is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

import core
from app.service.checkpoints.checkpoint_cache import Reading
from app.service.checkpoints.locations import HUB_CACHE, Place
from core import InputError
from core.decoding import special_tokens_of
from core.messages import Text, join_texts, verbatim
from core.pretrained import Checkpoint
from core.pretrained.hub import Where, snapshot
from core.runs.pretrained_run import PretrainedRun, check_vocabulary

PROBED = 16_000_000  # bytes that are read to learn how fast that goes
SLOWEST = 1e6  # bytes a second
ROOT = Text("the checkpoint folder")


@dataclass(frozen=True)
class Cost:
    """What can be known from config.json and the weights' headers."""

    family: str
    layers: int
    heads: int
    parameters: int
    bytes: int  # of memory
    notes: tuple[Text, ...]
    download: int = 0  # bytes still to be fetched from the hub
    commit: str | None = None  # of the hub, to which all this applies


def inspected(place: Place) -> Checkpoint:
    with plain_words(place):
        return core.pretrained.inspect(place.folder.resolve(), root=place.root.resolve())


def cost_at(place: Place) -> Cost:
    return _cost(inspected(place), place)


def cost_ahead(place: Place) -> Cost:
    """Of a checkpoint on the hub: its small files are fetched, and the headers of its weights."""
    with plain_words(place):
        found = core.pretrained.inspect(place.title, root=place.root, cache=place.root / HUB_CACHE)
    return replace(_cost(found, place), download=found.download_bytes, commit=found.folder.path.name)


def _cost(found: Checkpoint, place: Place) -> Cost:
    if not found.has_tokenizer:
        raise InputError(
            "{title} has no tokenizer files, so no text can be read with it.",
            title=place.title,
        )
    config = found.config
    return Cost(found.family, config.n_layers, config.n_heads, found.n_parameters, found.memory_bytes, found.notes)


def read_rate(place: Place) -> float:
    """Bytes a second: how fast the beginning of its weights can be read just now."""
    files = (path for path in place.folder.glob("*.safetensors") if path.is_file())
    weights = max(files, key=lambda path: path.stat().st_size)
    began = time.monotonic()
    with weights.open("rb") as file:
        count = len(file.read(PROBED))
    return max(SLOWEST, count / max(1e-4, time.monotonic() - began))


def read_whole(place: Place, reading: Reading) -> PretrainedRun:
    with plain_words(place):
        found = inspected(place)
        model, tokenizer = core.pretrained.load(found)
        check_vocabulary(model, tokenizer)
    own(model, reading)
    return PretrainedRun(model, tokenizer, labels=list(found.labels), special_tokens=special_tokens_of(model))


@torch.no_grad()
def own(model: nn.Module, reading: Reading) -> None:
    """Give every weight memory of its own; that is when it is read from its file."""
    total, done = sum(weight.numel() for weight in model.parameters()), 0
    for weight in model.parameters():
        weight.data = weight.data.clone()
        done += weight.numel()
        reading.tell(done / total)


def fetch(place: Place, commit: str | None, reading: Reading) -> None:
    """From the hub into the root's own cache: what was looked at before, whatever its name stands for by now."""
    where = Where(place.root / HUB_CACHE, commit, progress=lambda done, total: reading.tell(done / max(1, total)))
    with plain_words(place):
        snapshot(place.title, where)


@contextmanager
def plain_words(place: Place) -> Iterator[None]:
    """What core says of a checkpoint, without telling where on this machine it lies."""
    try:
        yield
    except InputError as error:
        raise InputError(without_paths(error.text, place)) from error


def without_paths(text: Text, place: Place) -> Text:
    """The same text with this machine's folders, in its values, replaced by the names people know them by."""
    names = ((place.folder, verbatim(place.title)), (place.root, ROOT))
    spellings = [
        (str(spelling), name)
        for path, name in names
        for spelling in (path.resolve(), path.absolute(), path)
        if spelling != Path(".")
    ]

    def renamed(value: Any) -> Any:
        if not isinstance(value, str | Path):
            return value
        for spelling, name in spellings:
            before, found, after = str(value).partition(spelling)
            if found:
                return join_texts([verbatim(before), name, verbatim(after)], "").map_values(renamed)
        return value

    return text.map_values(renamed)
