"""Measures of a run on one input at one snapshot as rows: one for every attention head, one for every recurrent unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.figures.attention_view import ROLES
from app.service.attention_figures import attention_view
from app.service.gates import collect_views
from app.service.runs.loaded_run import LoadedRun
from app.service.runs.model_slots import MODEL_SLOTS
from app.service.snapshot_arrays import SnapshotArrays

Rows = list[dict[str, Any]]


def head_rows(arrays: SnapshotArrays, snapshot: int) -> Rows:
    """Each head's role (None: no clear one), the share of its weight that says so, and its measures."""
    rows = []
    for stack in arrays.attention:
        view = attention_view(arrays, stack, "run")
        role, share = view.role.values[snapshot], view.share.values[snapshot]
        for layer, head in np.ndindex(role.shape):
            measures = {name: float(values[snapshot, layer, head]) for name, values in stack.measures.items()}
            known = ROLES[role[layer, head] - 1] if role[layer, head] else None
            row = {"point": stack.points[layer].removesuffix(".weights"), "layer": layer, "head": head, "role": known}
            rows.append({**row, "share": float(share[layer, head]), **measures})
    return rows


def unit_rows(loaded: LoadedRun, arrays: SnapshotArrays, snapshot: int) -> Rows:
    """Each unit's saturation by gate and state, and the half-life of what it remembers, where these are defined."""
    if not arrays.recurrent:
        return []
    with MODEL_SLOTS:
        views = [view for _, view in collect_views(loaded.run, arrays.model_input, loaded.name)]
    rows = []
    for view in views:
        columns = {}
        if view.half_life is not None:
            columns["half_life"] = view.half_life[snapshot]
        if view.saturation is not None:
            columns |= {
                f"saturation_{point}": values[snapshot]
                for point, values in zip(view.points, view.saturation, strict=True)
            }
        units = view.values[view.points[0]].shape[-1]
        for unit in range(units):
            measures = {name: float(values[unit]) for name, values in columns.items()}
            rows.append({"point": view.name, "unit": unit, **measures})
    return rows
