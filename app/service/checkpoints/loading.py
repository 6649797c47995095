"""Loading a checkpoint into memory or downloading it, with progress; and its cost, estimated before.

Weights are copied out of their files, not memory-mapped: a file that changes or is deleted must not affect a model
in use.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

import core
from app.service.checkpoints.checkpoint_cache import LoadProgress
from app.service.checkpoints.locations import HUB_CACHE, CheckpointLocation
from core import InputError
from core.config.families import TransformerConfig
from core.decoding import special_tokens_of
from core.pretrained import Checkpoint
from core.pretrained.hub import HubOptions, fetch_checkpoint
from core.runs.pretrained_run import PretrainedRun, check_vocabulary
from core.translatable import Text, join_texts, verbatim

PROBE_BYTES = 16_000_000  # read to measure the speed of the disk
MIN_BYTES_PER_SECOND = 1e6
ROOT_NAME = Text("the checkpoint folder")


@dataclass(frozen=True)
class CheckpointCost:
    """Size of a checkpoint, from config.json and the headers of its weights."""

    family: str
    layers: int
    heads: int
    parameters: int
    memory_bytes: int
    notes: tuple[Text, ...]
    download_bytes: int = 0  # still to be downloaded from the hub
    commit: str | None = None  # on the hub, the one that was inspected


def inspect_checkpoint(location: CheckpointLocation) -> Checkpoint:
    with paths_hidden(location):
        return core.pretrained.inspect(location.folder.resolve(), root=location.root.resolve())


def local_cost(location: CheckpointLocation) -> CheckpointCost:
    return _cost_of(inspect_checkpoint(location), location)


def hub_cost(location: CheckpointLocation) -> CheckpointCost:
    """Cost of a checkpoint on the hub; downloads its small files and the headers of its weights only."""
    with paths_hidden(location):
        checkpoint = core.pretrained.inspect(location.title, root=location.root, cache=location.root / HUB_CACHE)
    cost = _cost_of(checkpoint, location)
    return replace(cost, download_bytes=checkpoint.download_bytes, commit=checkpoint.folder.path.name)


def _cost_of(checkpoint: Checkpoint, location: CheckpointLocation) -> CheckpointCost:
    if not checkpoint.has_tokenizer:
        raise InputError(
            "{title} has no tokenizer files, so no text can be read with it.",
            title=location.title,
        )
    config = cast(TransformerConfig, checkpoint.config)  # as of all families that checkpoints are read for
    return CheckpointCost(
        family=checkpoint.family,
        layers=config.n_layers,
        heads=config.n_heads,
        parameters=checkpoint.n_parameters,
        memory_bytes=checkpoint.memory_bytes,
        notes=checkpoint.notes,
    )


def measure_read_rate(location: CheckpointLocation) -> float:
    """Bytes per second at which the beginning of the largest file of weights can be read now."""
    files = (path for path in location.folder.glob("*.safetensors") if path.is_file())
    largest = max(files, key=lambda path: path.stat().st_size)
    started = time.monotonic()
    with largest.open("rb") as file:
        count = len(file.read(PROBE_BYTES))
    return max(MIN_BYTES_PER_SECOND, count / max(1e-4, time.monotonic() - started))


def load_checkpoint(location: CheckpointLocation, progress: LoadProgress) -> PretrainedRun:
    with paths_hidden(location):
        checkpoint = inspect_checkpoint(location)
        model, tokenizer = core.pretrained.load(checkpoint)
        assert tokenizer is not None  # `local_cost` refuses checkpoints without one
        check_vocabulary(model, tokenizer)
    copy_weights(model, progress)
    return PretrainedRun(model, tokenizer, labels=list(checkpoint.labels), special_tokens=special_tokens_of(model))


@torch.no_grad()
def copy_weights(model: nn.Module, progress: LoadProgress) -> None:
    """Give every weight memory of its own; this is when it is read from its memory-mapped file."""
    total, copied = sum(weight.numel() for weight in model.parameters()), 0
    for weight in model.parameters():
        weight.data = weight.data.clone()
        copied += weight.numel()
        progress.report(copied / total)


def download_checkpoint(location: CheckpointLocation, commit: str | None, progress: LoadProgress) -> None:
    """Download from the hub into the cache below the root: the commit whose cost was shown, even if the branch has
    moved since.
    """
    where = HubOptions(
        location.root / HUB_CACHE, commit, progress=lambda done, total: progress.report(done / max(1, total))
    )
    with paths_hidden(location):
        fetch_checkpoint(location.title, where)


@contextmanager
def paths_hidden(location: CheckpointLocation) -> Iterator[None]:
    """Re-raise errors about a checkpoint without paths of this machine in their messages."""
    try:
        yield
    except InputError as error:
        raise InputError(without_paths(error.text, location)) from error


def without_paths(text: Text, location: CheckpointLocation) -> Text:
    """The text with the paths in its values replaced: the folder by the checkpoint's title, the root by a name."""
    names = ((location.folder, verbatim(location.title)), (location.root, ROOT_NAME))
    spellings = [
        (str(spelling), name)
        for path, name in names
        for spelling in (path.resolve(), path.absolute(), path)
        if spelling != Path(".")
    ]

    def replace_path(value: Any) -> Any:
        if not isinstance(value, str | Path):
            return value
        for spelling, name in spellings:
            before, match, after = str(value).partition(spelling)
            if match:
                return join_texts([verbatim(before), name, verbatim(after)], "").map_values(replace_path)
        return value

    return text.map_values(replace_path)
