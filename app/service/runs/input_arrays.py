"""The arrays of a run for an input, cached for as long as the run stays as it is."""

from __future__ import annotations

from app.service.inputs import read_input
from app.service.runs import run_registry
from app.service.runs.model_slots import exclusive_run
from app.service.snapshot_arrays import SnapshotArrays, collect_arrays


@run_registry.cached
def input_arrays(name: str, text: str | None = None, held_out: int | None = None) -> SnapshotArrays:
    """At every snapshot; without a text, for a held-out example, the first one unless told otherwise."""
    with exclusive_run(name) as run:
        return collect_arrays(run, read_input(run, text, held_out))
