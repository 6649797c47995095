"""Why a run does not learn: each cause with what it is seen by, and the change that would help, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from core.analysis.diagnosis.evidence import Evidence, differences
from core.config.families import TransformerConfig
from core.messages import Text

AT_CHANCE = 0.1  # of the way from chance to 1
EVEN = 0.97  # of the greatest entropy a head could have
SHUT, SATURATED = 0.1, 0.9  # a gate's mean; the share of its values near 0 or 1
GAP = 0.08  # between problems trained on and others, from which on it learns by heart
CHEATING = 0.3  # the same between being helped and writing alone
FAR = 10.0  # a learning rate so many times another is far from it
SPIKE = 30.0  # a gradient so many times the usual one


@dataclass(frozen=True)
class Diagnosis:
    kind: str
    what: Text
    remedy: Text
    changes: dict[str, dict[str, Any]]  # of the model, the knobs and the training
    variant: str | None = None  # the recipe that has all of them

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def diverged(seen: Evidence) -> Diagnosis:
    lr = _better_lr(seen, lower=True)
    clip = {} if seen.recipe.training.clip else {"clip": 1.0}
    return Diagnosis(
        "diverged",
        Text(
            "The loss exploded after {steps} steps: the updates are too large.", steps=len(seen.steps),
        ),
        Text("Use lr = {lr:g} instead of {old:g}.", lr=lr, old=seen.recipe.training.lr),
        {"training": {"lr": lr, **clip}},
    )  # fmt: skip


def exploding(seen: Evidence) -> Diagnosis | None:
    """A gradient far longer than usual, and nothing that cuts it."""
    norms = [step.grad_norm for step in seen.steps]
    usual, longest = median(norms), max(norms)
    if seen.recipe.training.clip or longest < SPIKE * usual or usual == 0:
        return None
    step = seen.steps[norms.index(longest)].index
    return Diagnosis(
        "exploding",
        Text(
            "At step {step} the gradient was {longest:.3g}, {ratio:.0f} times as long as usual, and "
"it is not clipped.", step=step, longest=longest, ratio=longest / usual,
        ),
        Text("Clip it: clip = 1."),
        {"training": {"clip": 1.0}},
    )  # fmt: skip


def sees_the_future(seen: Evidence) -> Diagnosis | None:
    model = seen.recipe.model
    if getattr(model, "causal", True) or model.head != "lm" or seen.held_out is None:
        return None
    if seen.accuracy - seen.held_out < CHEATING:
        return None
    return Diagnosis(
        "no_mask",
        Text(
            "In training {accuracy:.0%} are right, but when it writes by itself {held_out:.0%}: "
            "without the causal mask it reads each answer off the next token.",
            accuracy=seen.accuracy,
            held_out=seen.held_out,
        ),
        Text("Hide the future: causal = on."),
        *_with_usual(seen, {"model": {"causal": True}}),
    )


def shut_gates(seen: Evidence) -> Diagnosis | None:
    shut = {name: mean for name, (mean, _) in seen.gates.items() if name.endswith(".forget") and mean < SHUT}
    if not shut or not hasattr(seen.recipe.model, "forget_bias"):
        return None
    mean = fmean(shut.values())
    return Diagnosis(
        "shut_gates",
        Text(
            "The forget gates are shut: {mean:.0%} open on average. The cell is emptied at every step.",
            mean=mean,
        ),
        Text("Start with them half open: forget_bias = 0."),
        {"model": {"forget_bias": 0.0}},
    )


def saturated_gates(seen: Evidence) -> Diagnosis | None:
    stuck = {name: share for name, (_, share) in seen.gates.items() if share > SATURATED}
    lr = _better_lr(seen, lower=True)
    if not stuck or shut_gates(seen) or lr >= seen.recipe.training.lr:  # shut from the start: smaller steps open none
        return None
    name, share = max(stuck.items(), key=lambda pair: pair[1])
    return Diagnosis(
        "saturated_gates",
        Text(
            "{share:.0%} of the values of {name} are almost 0 or 1: hardly any gradient passes.",
            share=share,
            name=name,
        ),
        Text("Take smaller steps: lr = {lr:g}.", lr=lr),
        {"training": {"lr": lr}},
    )


def no_positions(seen: Evidence) -> Diagnosis | None:
    model = seen.recipe.model
    if getattr(model, "position", None) != "none" or getattr(model, "causal", False):
        return None  # a causal mask tells a model where it is
    usual = seen.usual
    position = usual.model.position if usual and usual.model.position != "none" else "learned"
    return Diagnosis(
        "no_positions",
        Text(
            "Without positions it sees which tokens there are, but not where.",
        ),
        Text("Use position = {position}.", position=position),
        {"model": {"position": position}},
    )


def bottleneck(seen: Evidence) -> Diagnosis | None:
    if getattr(seen.recipe.model, "attention", None) != "none":
        return None
    longest = seen.recipe.task.longest
    return Diagnosis(
        "bottleneck",
        Text(
            "One vector must hold the whole source, up to {longest} tokens.",
            longest=longest,
        ),
        Text("Let the decoder look back: attention = bahdanau."),
        {"model": {"attention": "bahdanau"}},
    )


def too_shallow(seen: Evidence) -> Diagnosis | None:
    """Told only where the recommended recipe needs more layers: how many are enough cannot be seen in the run."""
    usual, model = seen.usual, seen.recipe.model
    if not isinstance(model, TransformerConfig) or usual is None or usual.model.n_layers <= model.n_layers:
        return None
    layers = usual.model.n_layers
    return Diagnosis(
        "too_shallow",
        Text(
            "It has n_layers = {n_layers}, but this task is known to take {layers}: a later layer "
            "works with what an earlier one has marked.",
            n_layers=model.n_layers,
            layers=layers,
        ),
        Text("Use n_layers = {layers}.", layers=layers),
        {"model": {"n_layers": layers}},
    )


def by_heart(seen: Evidence) -> Diagnosis | None:
    samples = seen.recipe.training.samples
    if samples is None or seen.held_out is None or seen.accuracy - seen.held_out < GAP:
        return None
    changes: dict[str, dict[str, Any]] = {"training": {"samples": None}}
    return Diagnosis(
        "by_heart",
        Text(
            "It learns its {samples:,} problems by heart: {accuracy:.0%} of those right, but "
            "{held_out:.0%} of others (chance: {chance:.0%}).",
            samples=samples,
            accuracy=seen.accuracy,
            held_out=seen.held_out,
            chance=seen.chance,
        ),
        Text("Give it fresh problems instead of the same ones, as the recommended recipe does.")
        if seen.usual
        else Text("Give it more problems, or fresh ones where the task makes them."),
        *_with_usual(seen, changes),
    )


def lr_far_off(seen: Evidence) -> Diagnosis | None:
    usual, lr = seen.usual, seen.recipe.training.lr
    if usual is None or 1 / FAR < lr / usual.training.lr < FAR:
        return None
    high = lr > usual.training.lr
    times = lr / usual.training.lr if high else usual.training.lr / lr
    return Diagnosis(
        "lr_too_high" if high else "lr_too_low",
        Text(
            "The learning rate is {times:.0f} times higher than what is known to work here: every update throws away "
            "what the one before has found.",
            times=times,
        )
        if high
        else Text(
            "The learning rate is {times:.0f} times lower than what is known to work here: it hardly moves.",
            times=times,
        ),
        Text("Use lr = {lr:g}.", lr=usual.training.lr),
        {"training": {"lr": usual.training.lr}},
    )


def at_chance(seen: Evidence) -> Diagnosis | None:
    reached = seen.accuracy if seen.held_out is None else max(seen.held_out, seen.accuracy)
    if reached > seen.chance + AT_CHANCE * (1 - seen.chance):
        return None
    what = Text(
        "After {steps} steps {reached:.0%} are right, no more than by chance ({chance:.0%}).",
        steps=len(seen.steps),
        reached=reached,
        chance=seen.chance,
    )
    if seen.usual and (whole := differences(seen.recipe, seen.usual)):
        remedy = Text("Begin with the recommended recipe.")
        return Diagnosis("at_chance", what, remedy, whole, "default")
    lr = _better_lr(seen, lower=seen.recipe.training.lr >= 1e-2)
    return Diagnosis("at_chance", what, Text("Try lr = {lr:g}.", lr=lr), {"training": {"lr": lr}})


def dead_heads(seen: Evidence) -> Diagnosis | None:
    dead, heads = [name for name, even in seen.heads.items() if even > EVEN], getattr(seen.recipe.model, "n_heads", 1)
    if not dead or heads == 1:
        return None
    fewer = max(n for n in range(1, heads) if seen.recipe.model.d_model % n == 0)
    listed = ", ".join(dead[:4]) + (" …" if len(dead) > 4 else "")
    return Diagnosis(
        "dead_head",
        Text(
            "{dead} of {heads} heads look at all tokens alike, so they tell nothing apart: {listed}.",
            dead=len(dead),
            heads=len(seen.heads),
            listed=listed,
        ),
        Text("Use fewer, wider heads: n_heads = {fewer}.", fewer=fewer),
        {"model": {"n_heads": fewer}},
    )


def unfinished(seen: Evidence) -> Diagnosis | None:
    """The loss still fell in the last quarter, by more than a tenth."""
    losses = [step.loss for step in seen.steps]
    quarter = len(losses) // 4
    if quarter < 10:
        return None
    before, after = fmean(losses[-2 * quarter : -quarter]), fmean(losses[-quarter:])
    if after > 0.9 * before:
        return None
    steps = 2 * seen.recipe.training.steps
    return Diagnosis(
        "unfinished",
        Text(
            "It was still learning when it ended: the loss fell from {before:.3g} to {after:.3g} in "
            "the last quarter.",
            before=before,
            after=after,
        ),
        Text("Train longer: steps = {steps}.", steps=steps),
        {"training": {"steps": steps}},
    )


def _with_usual(seen: Evidence, changes: dict[str, dict[str, Any]]) -> tuple[dict[str, dict[str, Any]], str | None]:
    """The change, with whatever else the recommended recipe has otherwise: alone it is known not to be enough."""
    return (changes, None) if seen.usual is None else (differences(seen.recipe, seen.usual), "default")


def _better_lr(seen: Evidence, lower: bool) -> float:
    lr, usual = seen.recipe.training.lr, seen.usual
    if usual and (usual.training.lr < lr) == lower and usual.training.lr != lr:
        return usual.training.lr
    return float(f"{lr / 10 if lower else lr * 10:.1g}")


CAUSES: tuple[Callable[[Evidence], Diagnosis | None], ...] = (
    exploding, sees_the_future, shut_gates, no_positions, bottleneck, by_heart, too_shallow, lr_far_off,
    saturated_gates,
)  # fmt: skip
