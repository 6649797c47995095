"""The files of a checkpoint, which are not trusted: a folder may come from anywhere.

A file must be a regular one below the root, JSON must be small, and weights must be safetensors: pickled ones can run
any program, and are never opened.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from core.pretrained.errors import PretrainedError

CONFIG, GENERATION = "config.json", "generation_config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt", "spiece.model")
MAX_JSON_BYTES = 4 * 1024**2
MAX_SHARDS = 1_000
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack", ".ot")


class CheckpointFolder:
    def __init__(self, path: str | Path, root: str | Path | None = None):
        """`root`: nothing outside of it is read, links followed; a relative path begins there."""
        self.root = None if root is None else Path(root).resolve()
        self.path = self._resolve(Path(path) if self.root is None else self.root / path)
        if not os.path.isdir(self.path):  # False, no error, for a name too long
            raise PretrainedError("There is no folder {told}.", told=str(path)[:200])

    def _resolve(self, path: Path) -> Path:
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name with a null in it
            raise PretrainedError("{told} is no path: {why}.", told=str(path)[:200], why=str(error)[:100]) from error
        if self.root is not None and not real.is_relative_to(self.root):
            raise PretrainedError(
                "{name} lies outside of {root}, where checkpoints may be read from.",
                name=path.name,
                root=self.root,
            )
        return real

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def file(self, name: str) -> Path:
        """The path of a regular file of this folder, links followed."""
        if Path(name).name != name or "\\" in name or "\0" in name:
            raise PretrainedError(
                "{name!r} is no plain file name: a checkpoint's files lie in its own folder.",
                name=name,
            )
        real = self._resolve(self.path / name)
        if not real.is_file():
            raise PretrainedError("There is no file {name} in {path}.", name=name, path=self.path)
        return real

    def json(self, name: str) -> dict[str, Any]:
        path = self.file(name)
        with path.open("rb") as file:
            text = file.read(MAX_JSON_BYTES + 1)
        if len(text) > MAX_JSON_BYTES:
            raise PretrainedError(
                "{name} has more than {most_json:,} bytes: that is no {name} of a model.",
                name=name,
                most_json=MAX_JSON_BYTES,
            )
        return parse_json(text, name)

    def weight_files(self) -> dict[str, list[str] | None]:
        """File name → the weights that the index lists for it; None if there is no index."""
        if self.has(WEIGHTS):
            return {WEIGHTS: None}
        if not self.has(INDEX):
            raise self._missing_weights()
        weight_map = self.json(INDEX).get("weight_map")
        if not isinstance(weight_map, dict) or not all(isinstance(file, str) for file in weight_map.values()):
            raise PretrainedError(
                "{index} has no weight_map that says which weight is in which file.",
                index=INDEX,
            )
        files: dict[str, list[str]] = {}
        for weight, file in weight_map.items():
            if not file.endswith(".safetensors"):
                raise PretrainedError(
                    "{index} says that {weight} is in {place!r}, which is no safetensors file.",
                    index=INDEX,
                    weight=weight,
                    place=file,
                )
            files.setdefault(file, []).append(weight)
        if not files or len(files) > MAX_SHARDS:
            raise PretrainedError(
                "{index} lists {shards} files; there must be 1 to {most_shards}.",
                index=INDEX,
                shards=len(files),
                most_shards=MAX_SHARDS,
            )
        return {**files}

    def _missing_weights(self) -> PretrainedError:
        names = sorted(path.name for path in self.path.iterdir())
        pickled = next((name for name in names if name.endswith(PICKLE_SUFFIXES)), None)
        return missing_weights(pickled, str(self.path))


def missing_weights(pickled: str | None, where: str) -> PretrainedError:
    if pickled is None:
        return PretrainedError("There is no {weights} in {where}.", weights=WEIGHTS, where=where)
    return PretrainedError(
        "{where} has {pickled} but no {weights}. Opening pickled weights can run any program, so "
        "they are not opened here. If you trust them, load them with transformers and write them "
        "anew: model.save_pretrained(folder) makes a safetensors file.",
        where=where,
        pickled=pickled,
        weights=WEIGHTS,
    )


def parse_json(text: bytes, name: str) -> dict[str, Any]:
    """A JSON object as a dictionary; refused if a key is there twice. `name` is the file's, for errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            keys: set[str] = set()
            twice = next(key for key, _ in pairs if key in keys or keys.add(key))
            raise PretrainedError("{name} has {twice!r} twice.", name=name, twice=twice)
        return entries

    try:
        content = json.loads(text, object_pairs_hook=unique)
    except PretrainedError:
        raise
    except (ValueError, RecursionError) as error:
        raise PretrainedError("{name} is not JSON: {why}.", name=name, why=str(error)[:120]) from error
    if not isinstance(content, dict):
        raise PretrainedError("{name} holds no JSON object.", name=name)
    return content
