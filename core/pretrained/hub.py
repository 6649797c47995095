"""Checkpoints from the Hugging Face hub, kept in its cache: fetched once, then used without a network.

Only public ones, and only the files that are needed: no token is sent, nothing pickled is fetched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.pretrained.errors import PretrainedError
from core.pretrained.folder import CONFIG, GENERATION, INDEX, PICKLED, WEIGHTS, Folder, no_safetensors
from core.pretrained.headers import Stored, stored

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
SMALL_FILES = (
    CONFIG,
    GENERATION,
    INDEX,
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
)
MOST_SMALL = 64 * 1024**2  # bytes of one of them
Progress = Callable[[int, int], None]  # bytes fetched so far, bytes in all; what it raises stops the fetching


def is_hub_id(text: str) -> bool:
    return HUB_ID.fullmatch(text) is not None and ".." not in text and "--" not in text


@dataclass(frozen=True)
class Where:
    """Where a hub id is looked for. `cache` is the hub's own folder unless given; `offline` looks nowhere else."""

    cache: str | Path | None = None
    revision: str | None = None
    offline: bool = False
    progress: Progress | None = None

    @property
    def folder(self) -> Path:
        from huggingface_hub.constants import HF_HUB_CACHE

        return Path(self.cache or HF_HUB_CACHE)


def snapshot(repo: str, where: Where) -> Folder:
    """The folder of a checkpoint in the cache; fetched from the hub first, unless it is there or `offline` is asked for."""
    if where.offline or _offline_by_environment():
        return _cached(repo, where)
    try:
        with _plain_words(repo):
            names, commit = _needed(repo, where)
            sizes = {name: size for name, size in names.items() if not _is_cached(repo, name, commit, where)}
            _fetch(repo, sizes, commit, where)
    except HubUnreachable:
        if _find_cached(repo, where) is None:
            raise
    return _cached(repo, where)


class HubUnreachable(PretrainedError):
    """The hub does not answer."""


@dataclass(frozen=True)
class Ahead:
    """What can be known of a checkpoint before its weights are fetched."""

    folder: Folder  # with all but the weights
    stored: dict[str, Stored]
    bytes: int  # still to be fetched


def look_ahead(repo: str, where: Where) -> Ahead | None:
    """Fetch the small files and, of the weights, only what their headers say; None if there is nothing to fetch."""
    from huggingface_hub import HfApi

    if where.offline or _offline_by_environment():
        return None
    try:
        with _plain_words(repo):
            names, commit = _needed(repo, where)
            left = {name: size for name, size in names.items() if not _is_cached(repo, name, commit, where)}
            weights = [name for name in names if name.endswith(".safetensors")]
            if not set(weights) & set(left):
                return None
            _fetch(repo, {name: size for name, size in left.items() if name not in weights}, commit, where)
            found: dict[str, Stored] = {}
            for name in weights:
                told = HfApi(token=False).parse_safetensors_file_metadata(repo, name, revision=commit).tensors
                header = {key: {**vars(one), "data_offsets": list(one.data_offsets)} for key, one in told.items()}
                found |= stored(header, name, max((one.data_offsets[1] for one in told.values()), default=0))
    except HubUnreachable:
        if _find_cached(repo, where) is None:
            raise
        return None
    return Ahead(_cached(repo, where, commit), found, sum(left.values()))


def too_large(name: str) -> PretrainedError:
    return PretrainedError("{name} has more than {most_small:,} bytes.", name=name, most_small=MOST_SMALL)


def _needed(repo: str, where: Where) -> tuple[dict[str, int], str]:
    """The names of the files to fetch with their sizes, and the commit they are of."""
    from huggingface_hub import HfApi

    info = HfApi(token=False).model_info(repo, revision=where.revision, files_metadata=True)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
    large = next((name for name in SMALL_FILES if sizes.get(name, 0) > MOST_SMALL), None)
    if large is not None:
        raise too_large(large)
    if WEIGHTS in sizes:
        weights = [WEIGHTS]
    elif INDEX in sizes:
        _fetch(repo, {CONFIG: sizes.get(CONFIG, 0), INDEX: sizes[INDEX]}, info.sha, where)
        weights = list(_cached(repo, where, info.sha).weight_files())
    else:
        raise no_safetensors(next((name for name in sizes if name.endswith(PICKLED)), None), repo)
    wanted = [name for name in SMALL_FILES if name in sizes] + weights
    missing = next((name for name in (CONFIG, *weights) if name not in sizes), None)
    if missing is not None:
        raise PretrainedError("There is no file {missing} in {repo}.", missing=missing, repo=repo)
    return {name: sizes[name] for name in wanted}, info.sha


def _fetch(repo: str, sizes: dict[str, int], commit: str, where: Where) -> None:
    from huggingface_hub import hf_hub_download

    count = _counter(where.progress, sum(sizes.values()))
    for name in sizes:
        hf_hub_download(
            repo,
            name,
            revision=commit,
            cache_dir=where.folder,
            token=False,
            tqdm_class=count,
            library_name="innerview",
        )
    _remember(repo, commit, where)


def _remember(repo: str, commit: str, where: Where) -> None:
    """Which commit a branch stands at, so that it is found again without a network."""
    ref = _repo_folder(repo, where) / "refs" / (where.revision or "main")
    if (where.revision or "") != commit and ref.resolve().is_relative_to(_repo_folder(repo, where).resolve()):
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(commit)


def _counter(progress: Progress | None, total: int) -> type:
    """A tqdm that draws nothing and tells how far all files together are."""
    from tqdm.std import tqdm

    done = 0

    class Counter(tqdm):
        def __init__(self, *arguments: Any, **options: Any):
            super().__init__(*arguments, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> None:
            nonlocal done
            done += int(n or 0)
            if progress is not None:
                progress(min(done, total), total)

    return Counter


def _repo_folder(repo: str, where: Where) -> Path:
    return where.folder / f"models--{repo.replace('/', '--')}"


def _is_cached(repo: str, name: str, commit: str, where: Where) -> bool:
    return (_repo_folder(repo, where) / "snapshots" / commit / name).is_file()


def _find_cached(repo: str, where: Where, commit: str | None = None) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repo, CONFIG, cache_dir=where.folder, revision=commit or where.revision)
    return Path(found).parent if isinstance(found, str) else None


def _cached(repo: str, where: Where, commit: str | None = None) -> Folder:
    found = _find_cached(repo, where, commit)
    if found is None:
        raise PretrainedError(
            "There is no folder {repo}, and no copy of it in the hub's cache ({folder}), which is "
            "all that is looked at while offline.",
            repo=repo,
            folder=where.folder,
        )
    return Folder(found, _repo_folder(repo, where))


def _offline_by_environment() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON")


@contextmanager
def _plain_words(repo: str) -> Iterator[None]:
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise PretrainedError(
            "{repo} is given only to those who asked its owners. Fetch it with your own account and name its folder.",
            repo=repo,
        ) from error
    except errors.RevisionNotFoundError as error:
        raise PretrainedError("{repo} has no such revision.", repo=repo) from error
    except errors.RepositoryNotFoundError as error:
        raise PretrainedError(
            "There is no folder {repo}, and no public checkpoint of that name on the hub.",
            repo=repo,
        ) from error
    except (errors.HTTPError, errors.EntryNotFoundError, errors.SafetensorsParsingError, OSError) as error:
        why = " ".join(str(error).split())[:160]
        raise HubUnreachable(
            "There is no folder {repo}, and the hub cannot be reached to fetch it ({why}). Without a "
            "network, name a folder that is on this machine.",
            repo=repo,
            why=why,
        ) from error
