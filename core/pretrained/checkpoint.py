"""A look at a checkpoint before it is loaded: only its config.json and the headers of its weights are read.

Whatever would go wrong with the weights goes wrong here, on the meta device, before anything is allocated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from core.config.families import Config
from core.errors import ConfigError
from core.messages import Text
from core.models import build, configure
from core.pretrained.errors import PretrainedError
from core.pretrained.facts import Facts
from core.pretrained.families import family_of
from core.pretrained.folder import CONFIG, Folder
from core.pretrained.headers import BYTES, Stored, read_header
from core.pretrained.key_maps import KeyMap, KeyMapError, is_ignored, to_ours

FLOATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "merges.txt", "spiece.model")


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint is and costs."""

    folder: Folder = field(repr=False)
    model_type: str  # theirs: "distilbert"
    architecture: str  # theirs: "DistilBertForMaskedLM"
    config: Config  # ours
    n_parameters: int
    file_bytes: int  # to be read from disk
    memory_bytes: int  # once loaded, in float32
    dtypes: tuple[str, ...]  # as stored
    labels: tuple[str, ...]  # what the classes are called, if it says so
    has_tokenizer: bool
    notes: tuple[Text, ...]  # what is not in it, or is filled in
    stored: dict[str, Stored] = field(repr=False)
    key_map: KeyMap = field(repr=False)
    download_bytes: int = 0  # still to be fetched from the hub

    @property
    def family(self) -> str:
        """Ours."""
        return self.config.family

    @property
    def head(self) -> str:
        return getattr(self.config, "head", "lm")

    def on_meta(self) -> nn.Module:
        return on_meta(self.config)


class _NoInitialising(TorchFunctionMode):
    """Weights are to come from a file: no need to draw random ones first, which takes long even without memory."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__module__", "") == "torch.nn.init":
            return (kwargs or {}).get("tensor", args[0] if args else None)
        return func(*args, **(kwargs or {}))


def on_meta(config: Config) -> nn.Module:
    """The model without its numbers."""
    with _NoInitialising():
        return build(config, device="meta")


def look(folder: Folder) -> Checkpoint:
    config = folder.json(CONFIG)
    stored: dict[str, Stored] = {}
    for file, promised in folder.weight_files().items():
        held = read_header(folder.file(file), file)
        _check_promise(file, promised, held)
        twice = next((name for name in held if name in stored), None)
        if twice is not None:
            places = stored[twice].file, file
            raise PretrainedError(
                "{weight} is in both {first} and {second}.", weight=twice, first=places[0], second=places[1]
            )
        stored |= held
    return understand(folder, config, stored)


def understand(
    folder: Folder, config: Mapping[str, Any], stored: dict[str, Stored], download_bytes: int = 0
) -> Checkpoint:
    facts = Facts(config)
    family = family_of(facts.word("model_type"))
    head = family.head(facts, stored)
    read = family.read(facts, head, stored)
    try:
        ours = configure(family.ours, **read.options)
    except ConfigError as error:
        raise PretrainedError(
            "config.json asks for a model that cannot be: {reason}",
            reason=error.text,
        ) from error
    key_map = family.key_map(ours, stored)
    model = on_meta(ours)
    used = {name: one for name, one in stored.items() if not is_ignored(name, key_map)}
    for name, one in used.items():
        if one.dtype not in FLOATS:
            raise PretrainedError(
                "{name} is stored as {dtype}; weights must be F32, F16 or BF16.",
                name=name,
                dtype=one.dtype,
            )
    place({name: torch.empty(one.shape, device="meta") for name, one in used.items()}, key_map, model)
    count = sum(weight.numel() for weight in model.parameters())
    return Checkpoint(
        folder=folder,
        model_type=family.model_type,
        architecture=facts.architecture() or family.architecture(ours),
        config=ours,
        n_parameters=count,
        file_bytes=sum(BYTES[one.dtype] * torch.Size(one.shape).numel() for one in stored.values()),
        memory_bytes=4 * count,
        dtypes=tuple(sorted({one.dtype for one in used.values()})),
        labels=facts.labels(),
        has_tokenizer=any(folder.has(name) for name in TOKENIZER_FILES),
        notes=read.notes,
        stored=used,
        key_map=key_map,
        download_bytes=download_bytes,
    )


def place(theirs: Mapping[str, Tensor], key_map: KeyMap, model: nn.Module) -> dict[str, Tensor]:
    """Their weights under our names; one that has no place, does not fit or is missing is named."""
    try:
        return to_ours(theirs, key_map, model)
    except KeyMapError as error:
        raise PretrainedError(error.text) from error


def _check_promise(file: str, promised: list[str] | None, held: Mapping[str, Stored]) -> None:
    if promised is None:
        return
    for name in promised:
        if name not in held:
            raise PretrainedError("The index says that {name} is in {file}, but it is not.", name=name, file=file)
    listed = set(promised)
    for name in held:
        if name not in listed:
            raise PretrainedError("{name} in {file} is not in the index.", name=name, file=file)
