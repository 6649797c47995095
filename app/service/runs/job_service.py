"""The app's one `Jobs`: started in the background, shared by all pages, closed with the server."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from fastapi import FastAPI

from core import ConfigError, InputError, Text
from core.jobs import Job, Jobs
from core.runs.store import Store, StoreError

WARM_UP_SECONDS = 1.0  # after the server has started: until then, the processors are the page's
REMEMBERED = 256  # ended jobs, so that they need not be read from the store again


def default_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "innerview/runs"


def check_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(
            "store",
            str(folder),
            Text("nothing can be stored there ({reason}).", reason=error.strerror),
            Text("Choose another folder with --store."),
        ) from error


@dataclass(frozen=True)
class Settings:
    folder: Path = field(default_factory=default_folder)
    workers: int | None = None
    ray: str | None = None  # a cluster's address


class JobService:
    """Makes the jobs when they are first asked for, and remembers those that somebody has asked about."""

    def __init__(self):
        self.settings = Settings()
        self._jobs: Jobs | None = None
        self._remembered: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.RLock()

    @property
    def store(self) -> Store:
        return self.jobs.store

    @property
    def jobs(self) -> Jobs:
        with self._lock:
            if self._jobs is None:
                settings = self.settings
                self._jobs = Jobs(Store(settings.folder), settings.workers, ray=settings.ray, monitor=True)
            return self._jobs

    def open(self, settings: Settings) -> None:
        """Other settings: what was there is closed. A `ConfigError` if a cluster cannot be reached, or if nothing can
        be stored in the folder."""
        check_folder(settings.folder)
        self.close()
        self.settings = settings
        if settings.ray is not None:
            _ = self.jobs

    def close(self) -> None:
        with self._lock:
            if self._jobs is not None:
                self._jobs.close()
            self._jobs = None
            self._remembered.clear()

    def find(self, key: str) -> Job | None:
        if not is_key(key):
            return None
        job = self.jobs.find(key)
        return None if job is None else self.remember(job)

    def stored(self, key: str) -> dict[str, Any] | None:
        """What the store tells of a run, without its weights; None: nothing."""
        try:
            state = self.store.path(key).stat()
            return _facts(self.store, key, state.st_mtime_ns, state.st_size)
        except (OSError, StoreError):
            return None

    def job(self, key: str) -> Job:
        job = self.find(key)
        if job is None:
            raise InputError(
                "This run is not here any more. Start it again from its recipe.",
            )
        return job

    def remember(self, job: Job) -> Job:
        with self._lock:
            self._remembered[job.key] = job
            self._remembered.move_to_end(job.key)
            while len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        return job


@lru_cache(maxsize=64)
def _facts(store: Store, key: str, modified: int, size: int) -> dict[str, Any]:
    return store.facts(key)


job_service = JobService()


def is_key(name: str) -> bool:
    """Does it look like the key of a run? (24 hexadecimal digits)"""
    return len(name) == 24 and set(name) <= set("0123456789abcdef")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Workers import torch while the first page is being read, and end with the server."""
    warm_up = threading.Timer(WARM_UP_SECONDS, lambda: job_service.jobs)
    warm_up.daemon = True
    warm_up.start()
    try:
        yield
    finally:
        warm_up.cancel()
        job_service.close()
