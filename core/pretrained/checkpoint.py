"""A checkpoint's family, sizes and costs, from its config.json and the headers of its weights alone.

The weights are mapped on the meta device, so that every problem with them is found before anything is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from core.architecture.meta_model import build_meta
from core.config.families import Config
from core.errors import ConfigError
from core.models import configure
from core.pretrained.checkpoint_folder import CONFIG, CheckpointFolder
from core.pretrained.config_reader import ConfigReader
from core.pretrained.errors import PretrainedError
from core.pretrained.families import family_by_model_type
from core.pretrained.key_map import KeyMap, KeyMapError, is_ignored, to_ours
from core.pretrained.safetensors_header import DTYPE_BYTES, TensorHeader, read_header
from core.translatable import Text

FLOAT_DTYPES = ("F32", "F16", "BF16")
TOKENIZER_MARKERS = (
    "tokenizer.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
)  # with any of these it has a tokenizer


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that fits a model of ours; its weights are not loaded."""

    folder: CheckpointFolder = field(repr=False)
    model_type: str  # theirs: "distilbert"
    architecture: str  # theirs: "DistilBertForMaskedLM"
    config: Config  # ours
    n_parameters: int
    file_bytes: int  # to be read from disk
    memory_bytes: int  # once loaded, in float32
    dtypes: tuple[str, ...]  # as stored
    labels: tuple[str, ...]  # names of the classes, if config.json has them
    has_tokenizer: bool
    notes: tuple[Text, ...]  # for the reader: parts that it lacks
    tensors: dict[str, TensorHeader] = field(repr=False)
    key_map: KeyMap = field(repr=False)
    download_bytes: int = 0  # still to be downloaded from the hub

    @property
    def family(self) -> str:
        """Ours."""
        return self.config.family

    @property
    def head(self) -> str:
        return getattr(self.config, "head", "lm")

    def build_meta(self) -> nn.Module:
        return build_meta(self.config)


def inspect_folder(folder: CheckpointFolder) -> Checkpoint:
    config = folder.json(CONFIG)
    tensors: dict[str, TensorHeader] = {}
    for file, indexed in folder.weight_files().items():
        header = read_header(folder.file(file), file)
        _check_index(file, indexed, header)
        twice = next((name for name in header if name in tensors), None)
        if twice is not None:
            raise PretrainedError(
                "{weight} is in both {first} and {second}.", weight=twice, first=tensors[twice].file, second=file
            )
        tensors |= header
    return make_checkpoint(folder, config, tensors)


def make_checkpoint(
    folder: CheckpointFolder, config: Mapping[str, Any], tensors: dict[str, TensorHeader], download_bytes: int = 0
) -> Checkpoint:
    """From a config.json and the headers of the weights; refused unless every weight has its place in our model."""
    reader = ConfigReader(config)
    family = family_by_model_type(reader.string("model_type"))
    head = family.head(reader, tensors)
    parsed = family.parse(reader, head, tensors)
    try:
        ours = configure(family.core_family, **parsed.options)
    except ConfigError as error:
        raise PretrainedError(
            "config.json asks for a model that cannot be: {reason}",
            reason=error.text,
        ) from error
    key_map = family.key_map(ours, tensors)
    model = build_meta(ours)
    weights = {name: tensor for name, tensor in tensors.items() if not is_ignored(name, key_map)}
    for name, tensor in weights.items():
        if tensor.dtype not in FLOAT_DTYPES:
            raise PretrainedError(
                "{name} is stored as {dtype}; weights must be F32, F16 or BF16.",
                name=name,
                dtype=tensor.dtype,
            )
    map_weights({name: torch.empty(tensor.shape, device="meta") for name, tensor in weights.items()}, key_map, model)
    count = sum(weight.numel() for weight in model.parameters())
    return Checkpoint(
        folder=folder,
        model_type=family.model_type,
        architecture=reader.architecture() or family.architecture(ours),
        config=ours,
        n_parameters=count,
        file_bytes=sum(DTYPE_BYTES[tensor.dtype] * math.prod(tensor.shape) for tensor in tensors.values()),
        memory_bytes=4 * count,
        dtypes=tuple(sorted({tensor.dtype for tensor in weights.values()})),
        labels=reader.labels(),
        has_tokenizer=any(folder.has(name) for name in TOKENIZER_MARKERS),
        notes=parsed.notes,
        tensors=weights,
        key_map=key_map,
        download_bytes=download_bytes,
    )


def map_weights(theirs: Mapping[str, Tensor], key_map: KeyMap, model: nn.Module) -> dict[str, Tensor]:
    """Their weights under our names; one that has no place, does not fit or is missing is named in the error."""
    try:
        return to_ours(theirs, key_map, model)
    except KeyMapError as error:
        raise PretrainedError(error.text) from error


def _check_index(file: str, indexed: list[str] | None, header: Mapping[str, TensorHeader]) -> None:
    """The index, if there is one, lists exactly the tensors in the file's header."""
    if indexed is None:
        return
    for name in indexed:
        if name not in header:
            raise PretrainedError("The index says that {name} is in {file}, but it is not.", name=name, file=file)
    names = set(indexed)
    for name in header:
        if name not in names:
            raise PretrainedError("{name} in {file} is not in the index.", name=name, file=file)
