"""Runs on disk: one safetensors file per run, named by its key, its facts as JSON in the header.

A file is written beside its place and then moved there, so that a reader sees the old run or the new one, never half.
Nothing is unpickled; a damaged or foreign file is refused with a sentence: by a digest of the facts whenever they are
read, by one of the tensors when a run is loaded, and by all that `stored_state` checks. Whatever a run needs is in its
file: also the text of a task made from somebody's own file, as it was read, and all that a fork took over from its
parent. Past the size limit, the file that was not used for the longest time goes first; results that lie beside the
runs count too.
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
from core.messages import Text
from core.runs.fork import Forked
from core.runs.recipes import Recipe
from core.runs.run import FORMAT, Run, key_of, recipe_of
from core.runs.serialization import TEXT, InvalidRunFile, digest, pack, restore
from core.seeding import check_seed
from core.tasks.custom.files import with_text, without_text

SUFFIX, RESULT, PART = ".safetensors", ".json", ".part"
UNUSABLE = (  # what a damaged file may raise
    SafetensorError, OSError, LookupError, TypeError, ValueError, RuntimeError, AttributeError, ArithmeticError,
)  # fmt: skip
MOST_BYTES = 2 * 1024**3


class StoreError(Exception):
    """A stored run that cannot be used: says which file and why."""

    def __init__(self, path: Path, why: Text):
        self.path, self.why = path, why
        self.text = Text("{file}: {why}", file=path.name, why=why)
        super().__init__(str(self.text))


class Store:
    """A folder of runs."""

    def __init__(self, folder: str | Path, most_bytes: int = MOST_BYTES):
        self.folder, self.most_bytes = Path(folder), most_bytes
        self.folder.mkdir(parents=True, exist_ok=True)
        self._sweep()
        self._evict()

    def path(self, key: str) -> Path:
        if not key.isalnum():
            raise StoreError(Path(key), Text("that is not the key of a run."))
        return self.folder / f"{key}{SUFFIX}"

    def keys(self) -> list[str]:
        """The stored runs, the one looked at last first."""
        paths = sorted(self.folder.glob(f"*{SUFFIX}"), key=_looked_at, reverse=True)
        return [path.stem for path in paths]

    def save(self, run: Run) -> Path:
        """Store a run as it stands, also in the middle of its training."""
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
        """What is told in the header: recipe, seed, steps; the weights are not read."""
        return self._read(key, ())[0]

    def recipe(self, key: str) -> tuple[Recipe, int]:
        """What the run is made from, and its seed; to ask for them is not to use the run."""
        return self._recipe(key, *self._read(key, (TEXT,)))

    def load(self, key: str) -> Run:
        """The run as it was, ready to be looked at or trained further."""
        path = self.path(key)
        facts, tensors = self._read(key)
        recipe, seed = self._recipe(key, facts, tensors)
        try:
            if "digest" in facts and facts["digest"] != digest(tensors):  # older files have none
                raise InvalidRunFile("not the bytes that were written")
            run = Run.unbegun(recipe, seed)
            restore(run, facts, tensors)
        except UNUSABLE as error:
            raise StoreError(path, _unreadable(path)) from error
        os.utime(path)
        return run

    def _read(self, key: str, names: tuple[str, ...] | None = None) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """The header and the tensors of these names, or all: at once, since a worker may replace the file meanwhile."""
        path = self.path(key)
        try:
            with safe_open(path, "pt") as file:
                header = file.metadata() or {}
                told = header.get("run", "")
                if "checked" in header and header["checked"] != _checksum(told):
                    raise InvalidRunFile("not the facts that were written")
                facts = json.loads(told)
                wanted = [name for name in file.keys() if names is None or name in names]  # noqa: SIM118
                tensors = {name: file.get_tensor(name) for name in wanted}
        except UNUSABLE as error:
            raise StoreError(path, _unreadable(path)) from error
        if not isinstance(facts, dict) or facts.get("format") != FORMAT or facts.get("key") != key:
            raise StoreError(path, Text("it was not written as this run by this version."))
        return facts, tensors

    def _recipe(self, key: str, facts: dict[str, Any], tensors: dict[str, Tensor]) -> tuple[Recipe, int]:
        path = self.path(key)
        try:
            told, seed = facts["recipe"], check_seed(facts["seed"])
            if TEXT in tensors:
                told = with_text(told, tensors[TEXT].numpy().tobytes().decode())
            recipe = recipe_of(told)
        except UNUSABLE as error:
            raise StoreError(path, _unreadable(path)) from error
        if key_of(recipe, seed) != key:
            raise StoreError(path, Text("its recipe does not belong to its name."))
        return recipe, seed

    def get(self, recipe: Recipe, seed: int = 0) -> Run:
        """The stored run of this recipe and seed, or a new one that has not begun; a fork begins in its parent."""
        key = key_of(recipe, seed)
        if self.path(key).exists():
            return self.load(key)
        return self._begun(recipe, seed) if isinstance(recipe, Forked) else Run(recipe, seed)

    def begin(self, recipe: Recipe, seed: int) -> None:
        """Store a fork that has not begun: whoever trains it needs its parent no longer."""
        if isinstance(recipe, Forked) and not self.path(key_of(recipe, seed)).exists():
            self.save(self._begun(recipe, seed))

    def begin_again(self, recipe: Recipe, seed: int) -> None:
        """Forget all that was trained of a run; what is stored stays if it cannot begin again."""
        path = self.path(key_of(recipe, seed))
        aside = path.with_suffix(f".aside.{os.getpid()}{PART}")
        if path.exists():
            path.replace(aside)
        try:
            self.begin(recipe, seed)
        except Exception:
            if aside.exists():
                aside.replace(path)
            raise
        aside.unlink(missing_ok=True)

    def _begun(self, recipe: Forked, seed: int) -> Run:
        parent = self.path(recipe.origin.parent)
        if not parent.exists():
            raise StoreError(
                parent,
                Text(
                    "the run that this fork begins in is not in the store; save it, or the fork, first.",
                ),
            )
        try:
            return self.load(recipe.origin.parent).forked(recipe, seed)
        except ConfigError as error:
            raise StoreError(parent, error.text) from error

    def forget(self, key: str) -> None:
        self.path(key).unlink(missing_ok=True)

    def _evict(self, keep: Path | None = None) -> None:
        paths = [path for suffix in (SUFFIX, RESULT) for path in self.folder.glob(f"*{suffix}")]
        total = sum(map(_size, paths))
        for path in sorted(paths, key=_looked_at) if total > self.most_bytes else ():
            if total <= self.most_bytes:
                return
            if path != keep:
                total -= _size(path)
                path.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove what writers that are no longer alive left behind."""
        for part in self.folder.glob(f"*{PART}"):
            writer = part.name.split(".")[-2]
            if not (writer.isdigit() and _alive(int(writer))):
                part.unlink(missing_ok=True)


def _write(path: Path, tensors: dict[str, Tensor], facts: str) -> None:
    part = path.with_suffix(f".{os.getpid()}{PART}")
    try:
        save_file(tensors, part, metadata={"run": facts, "checked": _checksum(facts)})
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _checksum(facts: str) -> str:
    return hashlib.sha256(facts.encode()).hexdigest()


def _unreadable(path: Path) -> Text:
    if not path.exists():
        return Text("there is no such run.")
    return Text("the file is damaged or is not a run; delete it and train again.")


def _looked_at(path: Path) -> float:
    """When it was last used; a file that has just gone counts as new and is passed over."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return time.time()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
