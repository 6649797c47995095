"""The live figures of a run on one input, by name: `timeline`, `blocks/one_head`, `layers.0.fwd/units`, …"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from app.figures.expressions import Choose, State, keys_of, walk
from app.figures.live import DEFAULTS, Live
from app.i18n import translate_message
from app.service.attention_figures import attention_figures, attention_view
from app.service.gates import STATES, collect_views, gate_figures
from app.service.runs.loaded_run import LoadedRun
from app.service.runs.model_slots import MODEL_SLOTS
from app.service.snapshot_arrays import SnapshotArrays
from app.service.timeline_figure import run_timeline
from core import InputError, Text
from core.errors import unknown_name
from core.runs.run import Run

TIMELINE = "timeline"
CHOICES = {"gate": "hidden", "sort": "index"}  # of the page when it opens


def figure_names(loaded: LoadedRun, arrays: SnapshotArrays) -> list[str]:
    names = [TIMELINE] if isinstance(loaded.run, Run) else []
    names += _attention_figures(arrays)
    for layer in arrays.recurrent:
        paths = [f"path.{state}" for state in STATES if state in layer.points]
        names += [f"{layer.name}/{name}" for name in ("units", "tokens", "training", *paths)]
    return names


def run_figure(loaded: LoadedRun, arrays: SnapshotArrays, name: str) -> Live:
    known = figure_names(loaded, arrays)
    if name not in known:
        raise unknown_name("name", name, Text("this run has no such figure on this input."), known)
    if name == TIMELINE and isinstance(loaded.run, Run):
        return run_timeline(loaded.run, loaded.events, loaded.facts["accuracy"])
    figures = _attention_figures(arrays)
    if name not in figures:
        with MODEL_SLOTS:
            views = collect_views(loaded.run, arrays.model_input, loaded.name)
        figures = {figure: live for _, view in views for figure, live in gate_figures(view).items()}
    return figures[name]


def _attention_figures(arrays: SnapshotArrays) -> dict[str, Live]:
    figures: dict[str, Live] = {}
    for stack in arrays.attention:
        figures |= attention_figures(attention_view(arrays, stack, "run"))
    return figures


def figure_at(live: Live, state: dict[str, Any], snapshots: int) -> go.Figure:
    """The figure in one state; where the state says nothing, it is as when the page opens, at the last snapshot."""
    counts, choices = {**live.keys(), "snapshot": snapshots}, _choices(live)
    known = {*counts, *keys_of([live.bindings, live.title, live.caption]), *DEFAULTS, *CHOICES}
    for key, value in state.items():
        if key in choices and value not in choices[key]:
            raise unknown_name(key, value, Text("there is no such choice."), choices[key])
        if key not in known:
            raise unknown_name("state", key, Text("this figure does not depend on it."), sorted(known))
        if key in counts and (type(value) is not int or not 0 <= value < counts[key]):
            raise InputError("{key} is a whole number from 0 to {last} here.", key=key, last=counts[key] - 1)
    try:
        return live.at(translate=translate_message, **{"snapshot": snapshots - 1, **CHOICES, **state})
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        values = ", ".join(f"{key} = {value!r}" for key, value in state.items())
        raise InputError("There is no such picture: {values}.", values=values[:200]) from error


def _choices(live: Live) -> dict[str, list[str]]:
    """Key of the state → its values, for the keys by which the figure chooses among named parts."""
    choices: dict[str, list[str]] = {}
    for part in walk([live.bindings, live.title, live.caption]):
        if isinstance(part, Choose) and isinstance(part.by, State) and isinstance(part.among, dict):
            known = choices.setdefault(part.by.key, [])
            known += [value for value in part.among if value not in known]
    return choices
