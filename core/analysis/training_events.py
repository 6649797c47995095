"""Moments: the steps of a run at which something began that lasted, found from its curves and its snapshots."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from core.analysis import measures
from core.messages import Text
from core.runs.run import Run
from core.tasks.layouts import Batch
from core.training.snapshots import Snapshot, replay, views

CLEAR = 0.5  # the share of its weight from which a head has a role
SMOOTHING = 0.2
LEAVES_CHANCE, SOLVED = 0.1, 0.99
SURE = 3.0  # standard deviations

ROLES = {
    "previous": Text("a previous-token head"),
    "own": Text("a head that looks at the token itself"),
    "first": Text("a head that rests on the first token"),
    "induction": Text("an induction head"),
    "agreement": Text("an alignment head"),
}

# Accuracy in training says something of other problems only if every problem is new.
OF_FRESH = Text("accuracy leaves chance"), Text("the task is solved")
OF_FIXED = (
    Text("accuracy on its fixed problems leaves chance"),
    Text("it knows its fixed problems"),
)

HEADS = {  # by the part of the model and the kind of attention
    ("", "attn"): Text("head"),
    ("encoder", "attn"): Text("encoder head"),
    ("decoder", "attn"): Text("decoder self-attention head"),
    ("decoder", "cross"): Text("decoder cross-attention head"),
}


@dataclass(frozen=True)
class TrainingEvent:
    step: int
    text: Text
    head: str | None = None  # "blocks.0.attn.2": point and head, where it is about one

    def __repr__(self) -> str:
        return f"step {self.step}: {self.text}"


History = dict[str, dict[str, Tensor]]  # point → role → (snapshot, head)


def find_training_events(run: Run, known: tuple[list[int], History] | None = None) -> list[TrainingEvent]:
    """All moments of a run, in order; those of its heads from what is known of some steps, if it is given."""
    return sorted([*find_curve_events(run), *find_head_events(run, known)], key=lambda moment: moment.step)


def find_curve_events(run: Run) -> list[TrainingEvent]:
    """Accuracy leaves chance; the task is solved; the curriculum reaches its longest problems."""
    chance, smooth, curve = run.task.chance, run.task.chance, []
    for step in run.steps:
        smooth += SMOOTHING * (step.accuracy - smooth)
        curve.append(smooth)
    threshold = chance + max(LEAVES_CHANCE * (1 - chance), SURE * _wavering(run))
    leaves, solved = OF_FIXED if run.recipe.training.samples else OF_FRESH
    found = [(begins([a > threshold for a in curve]), leaves), (begins([a >= SOLVED for a in curve]), solved)]
    if any(step.limit is not None for step in run.steps):
        longest = begins([step.limit == run.task.longest for step in run.steps])
        found.append((longest, Text("problems are at full length")))
    return [TrainingEvent(run.steps[index].index, text) for index, text in found if index is not None]


def _wavering(run: Run) -> float:
    """The standard deviation of the smoothed accuracy of a run that only guesses, one answer to a problem."""
    chance, training = run.task.chance, run.recipe.training
    problems = training.batch_size * training.accumulate
    return math.sqrt(chance * (1 - chance) / problems * SMOOTHING / (2 - SMOOTHING))


def find_head_events(run: Run, known: tuple[list[int], History] | None = None) -> list[TrainingEvent]:
    """When each head takes on the role it keeps."""
    steps, history = known or ([snapshot.step for snapshot in run.snapshots], head_history(run))
    found = []
    for name, roles in history.items():
        heads = next(iter(roles.values())).shape[1] if roles else 0  # no roles: there is no ideal to agree with
        for head in range(heads):
            for role, shares in roles.items():  # (snapshot, head)
                index = begins((shares[:, head] >= CLEAR).tolist())
                if index:  # not when it is so from the start
                    place = f"{name.removesuffix('.weights')}.{head}"
                    found.append(TrainingEvent(steps[index], becomes(place, role), place))
    return found


def head_history(run: Run, n: int = 8, snapshots: Sequence[Snapshot] | None = None) -> History:
    """How much of its weight each head gives to each role, on held-out problems: at all snapshots, or at these."""
    examples = run.task.evaluation(n, length=run.task.longest)
    batch = run.task.lay_out(examples, run.task.form(run.model))
    seen = views(run.model, run.snapshots if snapshots is None else snapshots)
    tapes = replay(seen, batch.inputs, ("*.weights",))
    history: History = {}
    for name in tapes[0].names():
        shares = [_shares(run, name, tape[name], batch) for tape in tapes]
        history[name] = {role: torch.stack([s[role] for s in shares]) for role in shares[0]}
    return history


def begins(holds: list[bool]) -> int | None:
    """The first index from which on it holds to the end, or None."""
    if not holds or not holds[-1]:
        return None
    return len(holds) - next((i for i, held in enumerate(reversed(holds)) if not held), len(holds))


def _shares(run: Run, name: str, weights: Tensor, batch: Batch) -> dict[str, Tensor]:
    """Role → (head,), averaged over the batch's sequences without their padding."""
    source_lengths, target_lengths = measures.lengths_of(batch)
    crosses = "cross" in name
    decodes = name.startswith("decoder")
    queries = target_lengths if decodes else source_lengths
    keys = source_lengths if crosses or not decodes else target_lengths
    rows = []
    for row, (q, k) in enumerate(zip(queries.tolist(), keys.tolist(), strict=True)):
        if crosses:
            rows.append(_agreement(run, batch, row, weights[row, :, :q], k))
        else:
            rows.append(_roles(batch.inputs[1 if decodes else 0][row, :k], weights[row, :, :q, :k]))
    return {role: torch.stack([r[role] for r in rows]).mean(0) for role in rows[0]}


def _agreement(run: Run, batch: Batch, row: int, weights: Tensor, length: int) -> dict[str, Tensor]:
    """weights (head, target, key) of one pair whose source is so long; a key may be several source tokens pooled"""
    source = batch.inputs[0][row, : length - 1].tolist()  # both without their end tokens
    target = batch.target[row][batch.target[row] >= 0].tolist()[:-1]
    ideal = run.task.alignment_with_eos(source, target)
    if ideal is None:
        return {}
    side = getattr(run.model.config, "downsample", 1)
    return {"agreement": measures.agreement(weights, [[place // side for place in places] for places in ideal])}


def _roles(ids: Tensor, weights: Tensor) -> dict[str, Tensor]:
    """ids (time,), weights (head, time, time) of one sequence"""
    known: dict[str, Callable[[Tensor], Tensor]] = {
        "previous": measures.previous_token,
        "own": measures.own_token,
        "first": measures.first_token,
        "induction": partial(measures.induction, ids=ids),
    }
    return {role: measure(weights) for role, measure in known.items()}


def becomes(place: str, role: str) -> Text:
    """blocks.1.attn.0, induction → head 1.0 becomes an induction head"""
    *modules, kind, head = place.split(".")
    if "blocks" not in modules:  # a recurrent decoder has one alignment and no heads
        return Text("the alignment finds the right source tokens")
    *part, _, layer = modules
    which, what = HEADS[".".join(part), kind], ROLES[role]
    return Text("{which} {layer}.{head} becomes {what}", which=which, layer=layer, head=head, what=what)
