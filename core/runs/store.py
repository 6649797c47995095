"""Runs on disk: one safetensors file per run, named by its key, its facts as JSON in the header.

A file is written under a temporary name and then renamed, so that a reader sees the old run or the new one, never half
of one. Nothing is unpickled. A damaged or foreign file raises `StoreError`: the header's facts (recipe, seed, steps) are
checked against a digest whenever they are read, the tensors when a run is loaded (`run_file_format.py` has the layout). A file is self-contained: it has
the text of a custom task's file and everything a fork inherited from its parent. Beyond the size limit the least
recently used files are deleted, with the `.json` results beside them.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from core.errors import ConfigError
from core.runs.atomic_files import PART, atomic_replacement, is_stale, part_path
from core.runs.fork import ForkRecipe
from core.runs.recipes import Recipe
from core.runs.run import FORMAT, Run, key_of, recipe_from_dict
from core.runs.run_file_format import TEXT, InvalidRunFile, digest, pack, restore
from core.seeding import check_seed
from core.tasks.custom.files import with_text, without_text
from core.translatable import Text

SUFFIX, RESULT = ".safetensors", ".json"
READ_ERRORS = (  # raised by damaged files
    SafetensorError, OSError, LookupError, TypeError, ValueError, RuntimeError, AttributeError, ArithmeticError,
)  # fmt: skip
MOST_BYTES = 2 * 1024**3


class StoreError(Exception):
    """A stored run that cannot be used: which file, and why."""

    def __init__(self, path: Path, why: Text):
        self.path, self.why = path, why
        self.text = Text("{file}: {why}", file=path.name, why=why)
        super().__init__(str(self.text))


class Store:
    """A folder of runs."""

    def __init__(self, folder: str | Path, most_bytes: int = MOST_BYTES):
        self.folder, self.most_bytes = Path(folder), most_bytes
        self.folder.mkdir(parents=True, exist_ok=True)
        self.remove_stale_files()
        self._evict()

    def path(self, key: str) -> Path:
        if not key.isalnum():
            raise StoreError(Path(key), Text("that is not the key of a run."))
        return self.folder / f"{key}{SUFFIX}"

    def keys(self) -> list[str]:
        """The stored runs, the most recently used first."""
        paths = sorted(self.folder.glob(f"*{SUFFIX}"), key=_last_used, reverse=True)
        return [path.stem for path in paths]

    def save(self, run: Run) -> Path:
        """Store a run in its current state, also in the middle of training."""
        state, tensors = pack(run)
        recipe, text = without_text(run.recipe.to_dict())
        if text is not None:
            tensors[TEXT] = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)  # as UTF-8
        facts = {"format": FORMAT, "key": run.key, "seed": run.seed, "recipe": recipe, **state}
        path = self.path(run.key)
        _write(path, tensors, json.dumps({**facts, "digest": digest(tensors)}))
        self._evict(keep=path)
        return path

    def facts(self, key: str) -> dict[str, Any]:
        """The header of a run's file: recipe, seed, steps; the tensors are not read."""
        return self._read(key, ())[0]

    def recipe(self, key: str) -> tuple[Recipe, int]:
        """The run's recipe and seed; does not count as a use."""
        return self._recipe(key, *self._read(key, (TEXT,)))

    def load(self, key: str) -> Run:
        """The stored run, ready to be viewed or trained further."""
        path = self.path(key)
        facts, tensors = self._read(key)
        recipe, seed = self._recipe(key, facts, tensors)
        try:
            if "digest" in facts and facts["digest"] != digest(tensors):  # older files have none
                raise InvalidRunFile("not the bytes that were written")
            run = Run.uninitialised(recipe, seed)
            restore(run, facts, tensors)
        except READ_ERRORS as error:
            raise StoreError(path, _unreadable(path)) from error
        os.utime(path)
        return run

    def _read(self, key: str, names: tuple[str, ...] | None = None) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Header and tensors of these names (default all), read together: a worker may replace the file in between."""
        path = self.path(key)
        try:
            with safe_open(path, "pt") as file:
                header = file.metadata() or {}
                encoded = header.get("run", "")
                if "checked" in header and header["checked"] != _checksum(encoded):
                    raise InvalidRunFile("not the facts that were written")
                facts = json.loads(encoded)
                selected = [name for name in file.keys() if names is None or name in names]  # noqa: SIM118
                tensors = {name: file.get_tensor(name) for name in selected}
        except READ_ERRORS as error:
            raise StoreError(path, _unreadable(path)) from error
        if not isinstance(facts, dict) or facts.get("format") != FORMAT or facts.get("key") != key:
            raise StoreError(path, Text("it was not written as this run by this version."))
        return facts, tensors

    def _recipe(self, key: str, facts: dict[str, Any], tensors: dict[str, Tensor]) -> tuple[Recipe, int]:
        path = self.path(key)
        try:
            recipe_dict, seed = facts["recipe"], check_seed(facts["seed"])
            if TEXT in tensors:
                recipe_dict = with_text(recipe_dict, tensors[TEXT].numpy().tobytes().decode())
            recipe = recipe_from_dict(recipe_dict)
        except READ_ERRORS as error:
            raise StoreError(path, _unreadable(path)) from error
        if key_of(recipe, seed) != key:
            raise StoreError(path, Text("its recipe does not belong to its name."))
        return recipe, seed

    def get(self, recipe: Recipe, seed: int = 0) -> Run:
        """The stored run of this recipe and seed, or a new untrained one; a new fork needs its parent in the store."""
        key = key_of(recipe, seed)
        if self.path(key).exists():
            return self.load(key)
        return self._new_fork(recipe, seed) if isinstance(recipe, ForkRecipe) else Run(recipe, seed)

    def create_fork(self, recipe: Recipe, seed: int) -> None:
        """Store the untrained fork, if the recipe is one and is not stored: it no longer depends on its parent then."""
        if isinstance(recipe, ForkRecipe) and not self.path(key_of(recipe, seed)).exists():
            self.save(self._new_fork(recipe, seed))

    def reset(self, recipe: Recipe, seed: int) -> None:
        """Discard a run's training, keeping a fork's initial state; if that cannot be created, the file stays."""
        path = self.path(key_of(recipe, seed))
        backup = part_path(path, "aside")
        if path.exists():
            path.replace(backup)
        try:
            self.create_fork(recipe, seed)
        except Exception:
            if backup.exists():
                backup.replace(path)
            raise
        backup.unlink(missing_ok=True)

    def _new_fork(self, recipe: ForkRecipe, seed: int) -> Run:
        parent = self.path(recipe.origin.parent)
        if not parent.exists():
            raise StoreError(
                parent,
                Text(
                    "the run that this fork begins in is not in the store; save it, or the fork, first.",
                ),
            )
        try:
            return self.load(recipe.origin.parent).derive(recipe, seed)
        except ConfigError as error:
            raise StoreError(parent, error.text) from error

    def delete(self, key: str) -> None:
        self.path(key).unlink(missing_ok=True)

    def _evict(self, keep: Path | None = None) -> None:
        paths = [path for suffix in (SUFFIX, RESULT) for path in self.folder.glob(f"*{suffix}")]
        total = sum(map(_size, paths))
        for path in sorted(paths, key=_last_used) if total > self.most_bytes else ():
            if total <= self.most_bytes:
                return
            if path != keep:
                total -= _size(path)
                path.unlink(missing_ok=True)

    def remove_stale_files(self) -> None:
        """Remove the temporary files of writers that were killed; done on opening a store, and after workers exit."""
        for part in self.folder.glob(f"*{PART}"):
            if is_stale(part):
                part.unlink(missing_ok=True)


def _write(path: Path, tensors: dict[str, Tensor], facts: str) -> None:
    with atomic_replacement(path) as part:
        save_file(tensors, part, metadata={"run": facts, "checked": _checksum(facts)})


def _checksum(facts: str) -> str:
    return hashlib.sha256(facts.encode()).hexdigest()


def _unreadable(path: Path) -> Text:
    if not path.exists():
        return Text("there is no such run.")
    return Text("the file is damaged or is not a run; delete it and train again.")


def _last_used(path: Path) -> float:
    """Modification time, set at each use; a file that has just been deleted counts as new."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return time.time()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
