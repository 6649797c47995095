"""What the charts of training are drawn from: the histories of some runs, and what is read off them.

The page gets the same arrays, under the same names, from the stream of steps (`static/js/train_arrays.js`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from app.figures.expressions import Array, Choose, Expression, Slice, State
from app.figures.theme import themed

COLUMNS = ("step", "loss", "accuracy", "lr", "grad_norm", "tokens_per_s")  # of a row of the stream
SMOOTHED = ("loss", "accuracy", "grad_norm", "tokens_per_s")
LIGHT = (
    "#0b7a75",
    "#c2500a",
    "#0b5fae",
    "#a8357f",
    "#8a6d00",
    "#4b5263",
    "#6a4bc4",
    "#96302f",
)  # as in static/css/train.css
DARK = ("#4fc3b8", "#f58b4c", "#6fb1f2", "#e58cc4", "#e0c04a", "#b6bdcc", "#b3a1f5", "#f19a95")
LEAST = 1e-9  # of a log scale


@dataclass
class TrainEvent:
    """Something found in a training; `head`: whether it is about one head; `solved`, `learnt`: that it left chance."""

    step: int
    text: Any
    head: bool = False
    solved: bool = False
    learnt: bool = False


@dataclass
class RunHistory:
    """One run on the charts.

    rows     (step, column): what was measured at each step, NaN where nothing was
    before   the rows from before a rewind, if there was one
    """

    key: str
    number: int
    name: Any
    steps: int  # until its end
    rows: np.ndarray = field(default_factory=lambda: np.zeros((0, len(COLUMNS))))
    before: np.ndarray | None = None
    status: str = "done"
    chance: float | None = None
    goal: float | None = None
    held_out: float | None = None
    events: list[TrainEvent] = field(default_factory=list)

    @property
    def colour(self) -> Choose:
        at = (self.number - 1) % len(LIGHT)
        return themed(LIGHT[at], DARK[at])

    def column(self, name: str) -> Array:
        return Array(f"{self.key}.{name}", self.rows[:, COLUMNS.index(name)])

    def mean(self, name: str) -> Array:
        """The running mean of a measure; the learning rate is as it is."""
        values = self.rows[:, COLUMNS.index(name)]
        return Array(f"{self.key}.{name}.mean", running_mean(values)) if name in SMOOTHED else self.column(name)

    def mean_before(self, name: str) -> Array:
        assert self.before is not None
        values = self.before[:, COLUMNS.index(name)]
        return Array(f"{self.key}.before.{name}", running_mean(values) if name in SMOOTHED else values)

    def x(self, before: bool = False) -> Expression:
        """Its steps on the scale that is chosen."""
        name, rows = (f"{self.key}.before", self.before) if before else (self.key, self.rows)
        assert rows is not None
        steps = rows[:, 0]
        scales = {"log": Array(f"{name}.log_step", np.log1p(steps))[()], "linear": Array(f"{name}.step", steps)[()]}
        return Choose(State("trainScale"), scales)

    def table(self) -> dict[str, Any]:
        """Every step, also where the curves are drawn from fewer."""
        columns = {name: Array(f"{self.key}.all.{name}", self.rows[:, i])[()] for i, name in enumerate(COLUMNS)}
        return {"run": Array(f"{self.key}.all.run", np.full(len(self.rows), self.key))[()], **columns}


def running_mean(values: np.ndarray) -> np.ndarray:
    """Exponential running mean whose rate is 2/√n after n values, from 1 down to 0.05: close to them at first, where much
    happens in few steps.
    """
    mean, means = np.nan, np.empty(len(values))
    for i, value in enumerate(values):
        rate = max(0.05, min(1.0, 2 / np.sqrt(i + 1)))
        mean = value if np.isnan(mean) else mean if np.isnan(value) else mean + rate * (value - mean)
        means[i] = mean
    return means


@dataclass
class TrainView:
    """The runs on the charts, the one in focus last, and the width in px there is for them."""

    runs: list[RunHistory]
    focus: str
    width: int = 1040
    timed: bool = True  # whether the speed of any run is known: not of those that were stored

    @property
    def lead(self) -> RunHistory:
        """The run that the caption, chance, goal and events are of."""
        return next((run for run in self.runs if run.key == self.focus), self.runs[-1])

    @property
    def last(self) -> int:
        return max(2, *(run.steps for run in self.runs))

    def scale(self, measure: str) -> tuple[Array, Array]:
        """The range of a measure's axis, and whether it is a log scale."""
        low, high, log = value_range(self.runs, measure)
        ends = np.log10([low, high]) if log else np.array([low, high])
        return Array(f"range.{measure}", ends), Array(f"log.{measure}", np.array(int(log)))

    def ends(self, measure: str) -> tuple[Array, Array]:
        """(x, y) of the last points, in the order of the runs; the page moves those apart that lie over each other."""
        points = [
            (run.rows[-1, 0], run.mean(measure).values[-1]) if len(run.rows) else (np.nan, np.nan)
            for run in self.runs
        ]
        x, y = np.array(points).reshape(-1, 2).T
        return Array(f"ends.{measure}.x", np.log1p(x)), Array(f"ends.{measure}.y", y)

    def now(self, measure: str) -> Array:
        """The latest mean of the run in focus."""
        values = self.lead.mean(measure).values
        return Array(f"now.{measure}", np.array(values[-1] if len(values) else np.nan))

    @cached_property
    def facts(self) -> dict[str, Slice]:
        """What the caption says of the run in focus, as numbers; kind and repeated choose among its sentences."""
        run, loss, accuracy = self.lead, self.lead.mean("loss").values, self.lead.mean("accuracy").values
        count, solved = len(run.rows), next((event for event in run.events if event.solved), None)
        now = float(accuracy[-1]) if count else np.nan
        same, differs = repeated(run)
        facts = {
            "kind": caption_kind(run, now), "begun": count > 0, "step": run.rows[-1, 0] if count else 0, "now": now,
            "solved": solved.step if solved else 0, "several": count > 1,
            "first_loss": loss[0] if count else np.nan, "loss": loss[-1] if count else np.nan,
            "ended": count > 0 and run.held_out is not None and run.status in ("done", "stopped"),
            "newest": count > 0 and bool(run.events) and not run.events[-1].solved,
            "repeated": 0 if run.before is None else 1 if not count else 2 if differs is None else 3,
            "same": same, "differs": differs or 0,
        }  # fmt: skip
        return {name: Array(f"lead.{name}", np.array(float(value)))[()] for name, value in facts.items()}


def luck(chance: float) -> float:
    """What luck alone may reach; of a small chance a small part more is already something learnt."""
    return chance + min(0.2 * chance, 0.1 * (1 - chance))


def caption_kind(run: RunHistory, now: float) -> int:
    """Which sentence the caption begins with; 1, that it is shown again, is known to the page alone."""
    if not len(run.rows):
        return 0 if run.before is not None else 2 if run.status == "queued" else 3
    if any(event.solved for event in run.events):
        return 4
    if run.chance is not None and now <= luck(run.chance) and not any(event.learnt for event in run.events):
        return 5
    return 6 if run.goal is None else 7 if now >= run.goal else 8


def repeated(run: RunHistory) -> tuple[int, int | None]:
    """How many losses are the same as before a rewind, and the first step whose loss is another one."""
    before = {} if run.before is None else {row[0]: row[1] for row in run.before}
    same = 0
    for row in run.rows:
        if row[0] in before and before[row[0]] != row[1]:
            return same, int(row[0])
        same += row[0] in before
    return same, None


def value_range(runs: list[RunHistory], measure: str) -> tuple[float, float, bool]:
    """(low, high, log) of an axis: shares from 0 to 1; else from 0 to a round number above the largest mean; a log scale in
    half decades where a gradient norm spans a factor of 20, or a loss rises to eight times its first value.
    """
    if measure == "accuracy":
        return 0.0, 1.0, False
    parts = [run.mean(measure).values for run in runs] + [
        run.mean_before(measure).values for run in runs if run.before is not None
    ]
    values = np.concatenate([part[np.isfinite(part)] for part in parts])
    if not len(values):
        return 0.0, 1.0, False
    low, high = float(values.min()), float(values.max())
    wide = measure == "grad_norm" and low > 0 and high > 20 * low
    if wide or (measure == "loss" and high > 8 * float(values[0])):
        low = max(low, high / 1e6, LEAST)
        return float(10 ** (np.floor(2 * np.log10(low)) / 2)), float(10 ** (np.ceil(2 * np.log10(high)) / 2)), True
    power = 10 ** np.floor(np.log10(high)) if high > 0 else 1.0
    steps = (1.05, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10.2)
    return 0.0, float(power * next(step for step in steps if step * power >= high * 1.01)) if high > 0 else 1.0, False
