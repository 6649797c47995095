"""Checkpoints from the Hugging Face hub, kept in its cache: downloaded once, then used without a network.

Only public ones, and only the files that are needed: no token is sent, nothing pickled is downloaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.pretrained.checkpoint_folder import (
    CONFIG,
    GENERATION,
    INDEX,
    PICKLE_SUFFIXES,
    TOKENIZER_FILES,
    WEIGHTS,
    CheckpointFolder,
    missing_weights,
)
from core.pretrained.errors import PretrainedError
from core.pretrained.safetensors_header import TensorHeader, parse_header

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
SMALL_FILES = (CONFIG, GENERATION, INDEX, *TOKENIZER_FILES)
MAX_SMALL_FILE_BYTES = 64 * 1024**2
Progress = Callable[[int, int], None]  # (bytes so far, bytes in all); an exception it raises stops the download


def is_hub_id(text: str) -> bool:
    return HUB_ID.fullmatch(text) is not None and ".." not in text and "--" not in text


@dataclass(frozen=True)
class HubOptions:
    """How a hub id is resolved. `cache` is the hub's own folder unless given; `offline` uses nothing but the cache."""

    cache: str | Path | None = None
    revision: str | None = None
    offline: bool = False
    progress: Progress | None = None

    @property
    def folder(self) -> Path:
        from huggingface_hub.constants import HF_HUB_CACHE

        return Path(self.cache or HF_HUB_CACHE)


def fetch_checkpoint(repo: str, options: HubOptions) -> CheckpointFolder:
    """The folder of a checkpoint in the cache; downloaded first unless it is there, or `offline`."""
    if options.offline or _offline_by_environment():
        return _cached_folder(repo, options)
    try:
        with _translate_hub_errors(repo):
            sizes, commit = _list_files(repo, options)
            _download(repo, _not_cached(repo, sizes, commit, options), commit, options)
    except HubUnreachable:
        if _find_cached(repo, options) is None:
            raise
    return _cached_folder(repo, options)


class HubUnreachable(PretrainedError):
    """The hub does not answer."""


@dataclass(frozen=True)
class RemoteCheckpoint:
    """A checkpoint whose weights are not downloaded yet, only their headers."""

    folder: CheckpointFolder  # with all files but the weights
    tensors: dict[str, TensorHeader]
    download_bytes: int


def inspect_remote(repo: str, options: HubOptions) -> RemoteCheckpoint | None:
    """Download the small files and the headers of the weights; None if there is nothing left to download."""
    from huggingface_hub import HfApi

    if options.offline or _offline_by_environment():
        return None
    try:
        with _translate_hub_errors(repo):
            sizes, commit = _list_files(repo, options)
            missing = _not_cached(repo, sizes, commit, options)
            weights = [name for name in sizes if name.endswith(".safetensors")]
            if not set(weights) & set(missing):
                return None
            _download(repo, {name: size for name, size in missing.items() if name not in weights}, commit, options)
            tensors: dict[str, TensorHeader] = {}
            for name in weights:
                metadata = HfApi(token=False).parse_safetensors_file_metadata(repo, name, revision=commit).tensors
                header = {key: {**vars(t), "data_offsets": list(t.data_offsets)} for key, t in metadata.items()}
                size = max((tensor.data_offsets[1] for tensor in metadata.values()), default=0)
                tensors |= parse_header(header, name, size)
    except HubUnreachable:
        if _find_cached(repo, options) is None:
            raise
        return None
    return RemoteCheckpoint(_cached_folder(repo, options, commit), tensors, sum(missing.values()))


def file_too_large(name: str) -> PretrainedError:
    return PretrainedError("{name} has more than {most_small:,} bytes.", name=name, most_small=MAX_SMALL_FILE_BYTES)


def _list_files(repo: str, options: HubOptions) -> tuple[dict[str, int], str]:
    """The files that are needed, name → size, and the commit they are of."""
    from huggingface_hub import HfApi

    info = HfApi(token=False).model_info(repo, revision=options.revision, files_metadata=True)
    assert info.sha is not None  # the hub always names the commit
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
    large = next((name for name in SMALL_FILES if sizes.get(name, 0) > MAX_SMALL_FILE_BYTES), None)
    if large is not None:
        raise file_too_large(large)
    if WEIGHTS in sizes:
        weights = [WEIGHTS]
    elif INDEX in sizes:
        _download(repo, {CONFIG: sizes.get(CONFIG, 0), INDEX: sizes[INDEX]}, info.sha, options)
        weights = list(_cached_folder(repo, options, info.sha).weight_files())
    else:
        raise missing_weights(next((name for name in sizes if name.endswith(PICKLE_SUFFIXES)), None), repo)
    needed = [name for name in SMALL_FILES if name in sizes] + weights
    missing = next((name for name in (CONFIG, *weights) if name not in sizes), None)
    if missing is not None:
        raise PretrainedError("There is no file {missing} in {repo}.", missing=missing, repo=repo)
    return {name: sizes[name] for name in needed}, info.sha


def _not_cached(repo: str, sizes: dict[str, int], commit: str, options: HubOptions) -> dict[str, int]:
    folder = _repo_folder(repo, options) / "snapshots" / commit
    return {name: size for name, size in sizes.items() if not (folder / name).is_file()}


def _download(repo: str, sizes: dict[str, int], commit: str, options: HubOptions) -> None:
    from huggingface_hub import hf_hub_download

    progress_bar = _progress_bar_class(options.progress, sum(sizes.values()))
    for name in sizes:
        hf_hub_download(
            repo,
            name,
            revision=commit,
            cache_dir=options.folder,
            token=False,
            tqdm_class=progress_bar,
            library_name="innerview",
        )
    _write_ref(repo, commit, options)


def _write_ref(repo: str, commit: str, options: HubOptions) -> None:
    """Record the commit of the branch in the cache, so that it is found again without a network."""
    folder = _repo_folder(repo, options)
    ref = folder / "refs" / (options.revision or "main")
    if (options.revision or "") != commit and ref.resolve().is_relative_to(folder.resolve()):
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(commit)


def _progress_bar_class(progress: Progress | None, total: int) -> type:
    """A tqdm class that draws nothing and reports the bytes of all files together to `progress`."""
    from tqdm.std import tqdm

    done = 0

    class ProgressReporter(tqdm):
        def __init__(self, *arguments: Any, **options: Any):
            options["disable"] = True
            super().__init__(*arguments, **options)

        def update(self, n: float | None = 1) -> None:
            nonlocal done
            done += int(n or 0)
            if progress is not None:
                progress(min(done, total), total)

    return ProgressReporter


def _repo_folder(repo: str, options: HubOptions) -> Path:
    return options.folder / f"models--{repo.replace('/', '--')}"


def _find_cached(repo: str, options: HubOptions, commit: str | None = None) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(repo, CONFIG, cache_dir=options.folder, revision=commit or options.revision)
    return Path(path).parent if isinstance(path, str) else None


def _cached_folder(repo: str, options: HubOptions, commit: str | None = None) -> CheckpointFolder:
    path = _find_cached(repo, options, commit)
    if path is None:
        raise PretrainedError(
            "There is no folder {repo}, and no copy of it in the hub's cache ({folder}), which is "
            "all that is looked at while offline.",
            repo=repo,
            folder=options.folder,
        )
    return CheckpointFolder(path, _repo_folder(repo, options))


def _offline_by_environment() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON")


@contextmanager
def _translate_hub_errors(repo: str) -> Iterator[None]:
    """The hub library's errors as `PretrainedError`; as `HubUnreachable` where the cache may still help."""
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
