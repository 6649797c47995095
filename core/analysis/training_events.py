"""Training events: the step from which on accuracy is above chance, the task solved, or a head has a role.

A head has a role (previous-token, induction, alignment, …) while at least `ROLE_THRESHOLD` of its attention weight, measured
on held-out problems at each snapshot, is explained by it. An event is reported only if it lasts to the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from core.analysis import measures
from core.runs.run import Run
from core.tasks.layouts import Batch
from core.training.snapshots import Snapshot, replay, snapshot_models
from core.translatable import Text

ROLE_THRESHOLD = 0.5  # a head has a role from this share of its weight on
SMOOTHING = 0.2  # weight of the latest step in the moving average of the accuracy
ABOVE_CHANCE = 0.1  # of the way from chance to 1
SOLVED = 0.99
DEVIATIONS = 3.0  # above chance, so that guessing does not count

ROLES = {
    "previous": Text("a previous-token head"),
    "own": Text("a head that looks at the token itself"),
    "first": Text("a head that rests on the first token"),
    "induction": Text("an induction head"),
    "agreement": Text("an alignment head"),
}

# Training accuracy generalises to other problems only if every problem is fresh.
FRESH_MESSAGES = Text("accuracy leaves chance"), Text("the task is solved")
FIXED_MESSAGES = (
    Text("accuracy on its fixed problems leaves chance"),
    Text("it knows its fixed problems"),
)

HEAD_NAMES = {  # by the part of the model and the kind of attention
    ("", "attn"): Text("head"),
    ("encoder", "attn"): Text("encoder head"),
    ("decoder", "attn"): Text("decoder self-attention head"),
    ("decoder", "cross"): Text("decoder cross-attention head"),
}


@dataclass(frozen=True)
class TrainingEvent:
    """A step and a sentence on what began there."""

    step: int
    text: Text
    head: str | None = None  # "blocks.0.attn.2": attention module and head, for an event of one head

    def __repr__(self) -> str:
        return f"step {self.step}: {self.text}"


HeadHistory = dict[str, dict[str, Tensor]]  # capture point → role → (snapshot, head): share of weight


def find_training_events(run: Run, head_history: tuple[list[int], HeadHistory] | None = None) -> list[TrainingEvent]:
    """All events of a run in order of steps. `head_history`: steps and shares already computed, else of all snapshots."""
    return sorted([*find_curve_events(run), *find_head_events(run, head_history)], key=lambda event: event.step)


def find_curve_events(run: Run) -> list[TrainingEvent]:
    """Accuracy leaves chance; the task is solved; the curriculum reaches its greatest length."""
    chance, smoothed, curve = run.task.chance, run.task.chance, []
    for step in run.steps:
        smoothed += SMOOTHING * (step.accuracy - smoothed)
        curve.append(smoothed)
    threshold = chance + max(ABOVE_CHANCE * (1 - chance), DEVIATIONS * _guessing_deviation(run))
    leaves, solved = FIXED_MESSAGES if run.recipe.training.samples else FRESH_MESSAGES
    starts = [
        (lasting_start([accuracy > threshold for accuracy in curve]), leaves),
        (lasting_start([accuracy >= SOLVED for accuracy in curve]), solved),
    ]
    if any(step.limit is not None for step in run.steps):
        longest = lasting_start([step.limit == run.task.longest for step in run.steps])
        starts.append((longest, Text("problems are at full length")))
    return [TrainingEvent(run.steps[index].index, text) for index, text in starts if index is not None]


def _guessing_deviation(run: Run) -> float:
    """Standard deviation of the smoothed accuracy under guessing, with one answer per problem: √(p(1−p)/n · α/(2−α))."""
    chance, training = run.task.chance, run.recipe.training
    problems = training.batch_size * training.accumulate
    return math.sqrt(chance * (1 - chance) / problems * SMOOTHING / (2 - SMOOTHING))


def find_head_events(run: Run, head_history: tuple[list[int], HeadHistory] | None = None) -> list[TrainingEvent]:
    """For each head, the step from which on it has its final role."""
    steps, history = head_history or ([snapshot.step for snapshot in run.snapshots], compute_head_history(run))
    events = []
    for name, roles in history.items():
        heads = next(iter(roles.values())).shape[1] if roles else 0  # no roles: the task has no ideal alignment
        for head in range(heads):
            for role, shares in roles.items():  # (snapshot, head)
                index = lasting_start((shares[:, head] >= ROLE_THRESHOLD).tolist())
                if index:  # 0: a role from the start is no event
                    path = f"{name.removesuffix('.weights')}.{head}"
                    events.append(TrainingEvent(steps[index], describe_role_event(path, role), path))
    return events


def compute_head_history(run: Run, n: int = 8, snapshots: Sequence[Snapshot] | None = None) -> HeadHistory:
    """The share of each head's weight in each role, on n held-out problems, at all snapshots or at these."""
    examples = run.task.evaluation(n, length=run.task.longest)
    batch = run.task.lay_out(examples, run.task.form(run.model))
    models = snapshot_models(run.model, run.snapshots if snapshots is None else snapshots)
    tapes = replay(models, batch.inputs, ("*.weights",))
    history: HeadHistory = {}
    for name in tapes[0].names():
        shares = [_role_shares(run, name, tape[name], batch) for tape in tapes]
        history[name] = {role: torch.stack([s[role] for s in shares]) for role in shares[0]}
    return history


def lasting_start(flags: list[bool]) -> int | None:
    """The first index from which on all flags are True to the end, or None."""
    if not flags or not flags[-1]:
        return None
    return len(flags) - next((i for i, flag in enumerate(reversed(flags)) if not flag), len(flags))


def _role_shares(run: Run, name: str, weights: Tensor, batch: Batch) -> dict[str, Tensor]:
    """Role → (head,), averaged over the batch's sequences without their padding."""
    source_lengths, target_lengths = measures.sequence_lengths(batch)
    is_cross = "cross" in name
    in_decoder = name.startswith("decoder")
    queries = target_lengths if in_decoder else source_lengths
    keys = source_lengths if is_cross or not in_decoder else target_lengths
    rows = []
    for row, (q, k) in enumerate(zip(queries.tolist(), keys.tolist(), strict=True)):
        if is_cross:
            rows.append(_agreement(run, batch, row, weights[row, :, :q], k))
        else:
            rows.append(_roles(batch.inputs[1 if in_decoder else 0][row, :k], weights[row, :, :q, :k]))
    return {role: torch.stack([r[role] for r in rows]).mean(0) for role in rows[0]}


def _agreement(run: Run, batch: Batch, row: int, weights: Tensor, length: int) -> dict[str, Tensor]:
    """weights (head, target, key) of one pair whose source has `length` tokens; a key may pool several source tokens"""
    source = batch.inputs[0][row, : length - 1].tolist()  # source and target without their end tokens
    target = batch.target[row][batch.target[row] >= 0].tolist()[:-1]
    ideal = run.task.alignment_with_eos(source, target)
    if ideal is None:
        return {}
    pooled = getattr(run.recipe.model, "downsample", 1)
    return {"agreement": measures.agreement(weights, [[i // pooled for i in positions] for positions in ideal])}


def _roles(ids: Tensor, weights: Tensor) -> dict[str, Tensor]:
    """ids (time,), weights (head, time, time) of one sequence"""
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "previous": measures.previous_token,
        "own": measures.own_token,
        "first": measures.first_token,
        "induction": partial(measures.induction, ids=ids),
    }
    return {role: measure(weights) for role, measure in functions.items()}


def describe_role_event(path: str, role: str) -> Text:
    """blocks.1.attn.0, induction → head 1.0 becomes an induction head"""
    *modules, kind, head = path.split(".")
    if "blocks" not in modules:  # a recurrent decoder has one alignment and no heads
        return Text("the alignment finds the right source tokens")
    *part, _, layer = modules
    which, what = HEAD_NAMES[".".join(part), kind], ROLES[role]
    return Text("{which} {layer}.{head} becomes {what}", which=which, layer=layer, head=head, what=what)
