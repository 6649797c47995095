"""The one `Jobs` of the app: started in the background, shared by all pages, closed with the server."""

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

WARM_UP_SECONDS = 1.0  # delay after the server has started, so that workers do not slow down the first page
MAX_RECENT_JOBS = 256  # referenced here, so that ended jobs need not be read from the store again


def default_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "innerview/runs"


def check_folder(folder: Path) -> None:
    """Create the folder if needed; a `ConfigError` if no file can be written in it."""
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
class JobSettings:
    folder: Path = field(default_factory=default_folder)
    workers: int | None = None
    ray: str | None = None  # address of a Ray cluster


class JobService:
    """Holds the app's `Jobs`, created at first use, and references to the jobs that were looked up last."""

    def __init__(self):
        self.settings = JobSettings()
        self._jobs: Jobs | None = None
        self._recent_jobs: OrderedDict[str, Job] = OrderedDict()
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

    def open(self, settings: JobSettings) -> None:
        """Close the current jobs and use other settings.

        A `ConfigError` if the cluster cannot be reached, or if nothing can be stored in the folder.
        """
        check_folder(settings.folder)
        self.close()
        self.settings = settings
        if settings.ray is not None:
            _ = self.jobs  # connects at once, so that a wrong address is an error here

    def close(self) -> None:
        with self._lock:
            if self._jobs is not None:
                self._jobs.close()
            self._jobs = None
            self._recent_jobs.clear()

    def find(self, key: str) -> Job | None:
        """The job of a run, by the key of the run; None if it is neither being trained nor stored."""
        if not is_run_key(key):
            return None
        job = self.jobs.find(key)
        return None if job is None else self.keep_recent(job)

    def stored_facts(self, key: str) -> dict[str, Any] | None:
        """Metadata of a stored run (`Store.facts`), without its weights; None if it is not stored."""
        try:
            stat = self.store.path(key).stat()
            return _stored_facts(self.store, key, stat.st_mtime_ns, stat.st_size)
        except (OSError, StoreError):
            return None

    def job(self, key: str) -> Job:
        """As `find`, but an `InputError` if there is none."""
        job = self.find(key)
        if job is None:
            raise InputError("This run is not here any more. Start it again from its recipe.")
        return job

    def keep_recent(self, job: Job) -> Job:
        """Hold a reference to a job: `Jobs` itself forgets ended jobs."""
        with self._lock:
            self._recent_jobs[job.key] = job
            self._recent_jobs.move_to_end(job.key)
            while len(self._recent_jobs) > MAX_RECENT_JOBS:
                self._recent_jobs.popitem(last=False)
        return job


@lru_cache(maxsize=64)
def _stored_facts(store: Store, key: str, modified: int, size: int) -> dict[str, Any]:
    """Cached until the file changes: `modified` and `size` are part of the key of the cache."""
    return store.facts(key)


job_service = JobService()


def is_run_key(name: str) -> bool:
    """Whether a name has the form of a run key: 24 hexadecimal digits."""
    return len(name) == 24 and set(name) <= set("0123456789abcdef")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Start the workers shortly after the server, since importing torch takes seconds; end them with it."""
    warm_up = threading.Timer(WARM_UP_SECONDS, lambda: job_service.jobs)
    warm_up.daemon = True
    warm_up.start()
    try:
        yield
    finally:
        warm_up.cancel()
        job_service.close()
