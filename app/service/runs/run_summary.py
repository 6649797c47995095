"""A run in the words of the sidebar: its size, its scores, what to look at, and where in its training the page is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.figures.expressions import Choose, Fill, Format, Sentences, State
from app.figures.position_schemes.parts import SCHEME_NAMES
from app.service.figure_payload import text_expression
from app.service.runs.run_registry import open_run, run_lead_of
from app.service.training.titles import FAMILY_TITLES
from core.analysis.training_events import TrainingEvent
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run

MAX_TOKENS, FIRST_TOKENS = 14, 11  # of a vocabulary: so many are listed, or the first and the last


@dataclass(frozen=True)
class RunSummary:
    """Expressions (`app.figures.expressions`) of the page's state; the last three only of a run with a training."""

    facts: Any
    pills: list[Any]
    lead: Any
    hint: Any
    step: Any = None
    of: Any = None
    events: Any = None

    @property
    def pretrained(self) -> bool:
        return self.step is None


def summarize_run(name: str) -> RunSummary:
    loaded = open_run(name)
    run, lead = loaded.run, text_expression(run_lead_of(name))
    facts = _joined([*_shape(run), Format("{n:,} parameters", n=loaded.parameters)])
    if isinstance(run, PretrainedRun):
        return RunSummary(facts, [Format("checkpoint")], lead, _checkpoint_hint(run))
    listed = [token for token in run.task.tokens if token in run.task.ids]
    tokens = [*listed[:FIRST_TOKENS], "…", listed[-1]] if len(listed) > MAX_TOKENS else listed
    hint = Sentences([text_expression(run.task.help), Format("Tokens: {tokens}", tokens=" ".join(tokens))])
    snapshots = [snapshot.step for snapshot in run.snapshots]
    made, planned = run.steps[-1].index if run.steps else 0, run.recipe.training.steps
    return RunSummary(
        facts,
        _scores(run, loaded.facts),
        lead,
        hint,
        Format("step {step}", step=Choose(State("snapshot"), snapshots)),
        Format("{made} of {planned} made", made=made, planned=planned) if made < planned else Format("of {last}", last=made),
        Choose(State("snapshot"), _events_between(loaded.events, snapshots)),
    )  # fmt: skip


def _scores(run: Run, facts: dict[str, Any]) -> list[Any]:
    share, ceiling = facts["accuracy"], getattr(run.task, "ceiling", None)
    pills: list[Any] = [
        Format("not yet measured on held-out problems")
        if share is None
        else Format("{share:.1%} on held-out problems", share=share)
    ]
    if ceiling:
        pills.append(Format("best possible {share:.1%}", share=ceiling))
    pills += [Format("{share:.1%} at length {n}", share=at, n=n) for n, at in facts["accuracy_by_length"].items()]
    return [*pills, Format("seed {seed}", seed=run.seed)]


def _shape(run: Run | PretrainedRun) -> list[Any]:
    config: Any = run.model.config
    layers, heads, position = config.n_layers, getattr(config, "n_heads", None), getattr(config, "position", None)
    parts: list[Any] = [FAMILY_TITLES.get(config.family, config.family)]
    if heads == 1:
        parts.append(Format("{layers} × 1 head", layers=layers))
    elif heads:
        parts.append(Format("{layers} × {heads} heads", layers=layers, heads=heads))
    else:
        parts.append(Format("{layers} × {units} units", layers=layers, units=config.d_hidden))
    return [*parts, Format("positions: {scheme}", scheme=SCHEME_NAMES[position])] if position else parts


def _checkpoint_hint(run: PretrainedRun) -> Any:
    config: Any = run.model.config
    pair = config.family == "bert" and run.task.forms[0] != "stream"
    return Sentences([
        text_expression(run.task.help),
        Format("It knows {n:,} tokens.", n=config.vocab_size),
        *([Format("[SEP] between two texts makes them a pair.")] if pair else []),
    ])  # fmt: skip


def _events_between(events: list[TrainingEvent], snapshots: list[int]) -> list[Any]:
    """For each snapshot, a line for each event since the one before it."""
    lines = []
    for at, step in enumerate(snapshots):
        since = snapshots[at - 1] if at else -1
        told = [
            Fill("◆ {event}", event=text_expression(event.text)) for event in events if since < event.step <= step
        ]
        lines.append(_joined(told, "\n") if told else "")
    return lines


def _joined(parts: list[Any], separator: str = " · ") -> Fill:
    named = {f"part{i}": part for i, part in enumerate(parts)}
    return Fill(separator.join(f"{{{name}}}" for name in named), **named)
