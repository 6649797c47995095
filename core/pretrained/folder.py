"""The files of a checkpoint, read with suspicion: a folder may come from anybody.

A file must be a plain one below the root, JSON must be small, and weights must be safetensors: pickled ones are
programs, and are never opened.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from core.pretrained.errors import PretrainedError

CONFIG, GENERATION = "config.json", "generation_config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
MOST_JSON = 4 * 1024**2  # bytes
MOST_SHARDS = 1_000
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack", ".ot")


class Folder:
    def __init__(self, path: str | Path, root: str | Path | None = None):
        """`root`: nothing outside of it is read, whatever a path or a link says; a relative path begins there."""
        self.root = None if root is None else Path(root).resolve()
        given = Path(path) if self.root is None else self.root / path
        self.path = self._resolved(given)
        if not os.path.isdir(self.path):  # which says no to a name too long
            told = str(path)[:200]
            raise PretrainedError("There is no folder {told}.", told=told)

    def _resolved(self, path: Path) -> Path:
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name with a null in it
            told, why = str(path)[:200], str(error)[:100]
            raise PretrainedError("{told} is no path: {why}.", told=told, why=why) from error
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
        """A plain file of this folder, links followed."""
        if Path(name).name != name or "\\" in name or "\0" in name:
            raise PretrainedError(
                "{name!r} is no plain file name: a checkpoint's files lie in its own folder.",
                name=name,
            )
        real = self._resolved(self.path / name)
        if not real.is_file():
            raise PretrainedError("There is no file {name} in {path}.", name=name, path=self.path)
        return real

    def json(self, name: str) -> dict[str, Any]:
        path = self.file(name)
        with path.open("rb") as file:
            text = file.read(MOST_JSON + 1)
        if len(text) > MOST_JSON:
            raise PretrainedError(
                "{name} has more than {most_json:,} bytes: that is no {name} of a model.",
                name=name,
                most_json=MOST_JSON,
            )
        return parse(text, name)

    def weight_files(self) -> dict[str, list[str] | None]:
        """File name → the weights that the index promises of it; None if there is no index."""
        if self.has(WEIGHTS):
            return {WEIGHTS: None}
        if not self.has(INDEX):
            raise self._no_weights()
        places = self.json(INDEX).get("weight_map")
        if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
            raise PretrainedError(
                "{index} has no weight_map that says which weight is in which file.",
                index=INDEX,
            )
        found: dict[str, list[str] | None] = {}
        for weight, place in places.items():
            if not place.endswith(".safetensors"):
                raise PretrainedError(
                    "{index} says that {weight} is in {place!r}, which is no safetensors file.",
                    index=INDEX,
                    weight=weight,
                    place=place,
                )
            found.setdefault(place, []).append(weight)
        if not found or len(found) > MOST_SHARDS:
            raise PretrainedError(
                "{index} lists {shards} files; there must be 1 to {most_shards}.",
                index=INDEX,
                shards=len(found),
                most_shards=MOST_SHARDS,
            )
        return found

    def _no_weights(self) -> PretrainedError:
        names = sorted(path.name for path in self.path.iterdir())
        pickled = next((name for name in names if name.endswith(PICKLED)), None)
        return no_safetensors(pickled, str(self.path))


def no_safetensors(pickled: str | None, where: str) -> PretrainedError:
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


def parse(text: bytes, name: str) -> dict[str, Any]:
    """JSON as a dictionary in which no key is there twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))
            raise PretrainedError("{name} has {twice!r} twice.", name=name, twice=twice)
        return found

    try:
        found = json.loads(text, object_pairs_hook=once)
    except PretrainedError:
        raise
    except (ValueError, RecursionError) as error:
        why = str(error)[:120]
        raise PretrainedError("{name} is not JSON: {why}.", name=name, why=why) from error
    if not isinstance(found, dict):
        raise PretrainedError("{name} holds no JSON object.", name=name)
    return found
