"""The timeline of a run's training, for the page."""

from __future__ import annotations

from typing import Any

from app.figures.live import Live
from app.figures.training import Event, TrainingView, timeline
from app.i18n import TRANSLATIONS, translate_message
from app.service.attention_stack import stack_name
from app.service.figure_payload import text_expression
from core.analysis.training_events import TrainingEvent
from core.runs.run import Run

TELLING = ("induction", "alignment")  # roles whose heads are named before those of others


def timeline_spec(run: Run, events: list[TrainingEvent], held_out: float | None) -> dict[str, Any]:
    return run_timeline(run, events, held_out).spec(translate_message, list(TRANSLATIONS))


def run_timeline(run: Run, events: list[TrainingEvent], held_out: float | None) -> Live:
    view = TrainingView(
        [step.index for step in run.steps],
        [step.loss for step in run.steps],
        [step.accuracy for step in run.steps],
        [snapshot.step for snapshot in run.snapshots],
        [figure_event(event) for event in events],
        run.task.chance,
        held_out,
        file=run.recipe.family,
    )
    return timeline(view)


def figure_event(event: TrainingEvent) -> Event:
    if event.head is None:
        return Event(event.step, text_expression(event.text))
    module, _, head = event.head.rpartition(".")
    layer = int(module.split(".")[-2]) if "blocks" in module else 0
    about = {"group": stack_name(module), "layer": layer, "head": int(head)}
    rank = 1 if any(role in str(event.text) for role in TELLING) else 2
    return Event(event.step, text_expression(event.text), rank, about)
