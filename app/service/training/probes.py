"""What a run said and looked at, at one step of its training: the newest probe, or one made again from a snapshot."""

from __future__ import annotations

import threading
from functools import lru_cache

from app.service.runs.job_service import job_service
from core import InputError
from core.jobs.worker.probe import Probe, ProbeResult
from core.runs.store import StoreError

RUNS = 6  # whose models are kept


class SnapshotProbes:
    """Probes of the snapshots of a stored run, each made once."""

    def __init__(self, key: str):
        try:
            self.run = job_service.store.load(key)
        except StoreError as error:
            raise InputError(error.text) from error
        self.probe, self.lock = Probe(self.run), threading.Lock()
        self.results: dict[int, ProbeResult] = {}

    def at(self, step: int) -> ProbeResult:
        """At the snapshot nearest to a step."""
        nearest = min((snapshot.step for snapshot in self.run.snapshots), key=lambda one: abs(one - step))
        with self.lock:
            if nearest not in self.results:
                _, self.run.model = next(iter(self.run.snapshot_models(nearest)))  # a model of our own
                self.results[nearest] = {**self.probe.measure(), "step": nearest}
        return self.results[nearest]


@lru_cache(maxsize=RUNS)
def _probes(key: str, modified: int) -> SnapshotProbes:
    return SnapshotProbes(key)


def probe_at(key: str, step: int | None = None) -> ProbeResult | None:
    """step: None: the newest that the job has made."""
    job = job_service.job(key)
    latest = job.probe_results.latest
    if step is None or (latest is not None and latest["step"] == step):
        return latest
    path = job_service.store.path(key)
    if not path.exists():
        raise InputError("Nothing of this run is stored yet: wait a moment.")
    return _probes(key, path.stat().st_mtime_ns).at(step)
