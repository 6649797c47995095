"""Rules of diagnosis, one per cause: from evidence to a diagnosis with the change that would help, or None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from core.analysis.diagnosis.evidence import Evidence, differences
from core.config.families import TransformerConfig
from core.translatable import Text

SHUT, SATURATED = 0.1, 0.9  # a gate's mean; the share of its values near 0 or 1
GENERALISATION_GAP = 0.08  # training minus held-out accuracy, from which on it memorises
TEACHER_FORCING_GAP = 0.3  # the same between teacher forcing and free generation
LR_FACTOR = 10.0  # between a learning rate and the recommended one
GRADIENT_SPIKE = 30.0  # times the median gradient norm


Changes = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Diagnosis:
    """A cause, and the change of options that would help."""

    kind: str
    what: Text
    remedy: Text
    changes: Changes  # by part of the recipe: model, task_options, training
    variant: str | None = None  # of the registered recipe that has all of the changes

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


Rule = Callable[[Evidence], Diagnosis | None]


def diverged(evidence: Evidence) -> Diagnosis:
    """Training ended with `Diverged`."""
    lr = better_lr(evidence, lower=True)
    clip = {} if evidence.recipe.training.clip else {"clip": 1.0}
    return Diagnosis(
        "diverged",
        Text("The loss exploded after {steps} steps: the updates are too large.", steps=len(evidence.steps)),
        Text("Use lr = {lr:g} instead of {old:g}.", lr=lr, old=evidence.recipe.training.lr),
        {"training": {"lr": lr, **clip}},
    )


def exploding_gradient(evidence: Evidence) -> Diagnosis | None:
    """A gradient norm far above the median, without clipping."""
    norms = [step.grad_norm for step in evidence.steps]
    typical, longest = median(norms), max(norms)
    if evidence.recipe.training.clip or longest < GRADIENT_SPIKE * typical or typical == 0:
        return None
    step = evidence.steps[norms.index(longest)].index
    return Diagnosis(
        "exploding",
        Text(
            "At step {step} the gradient was {longest:.3g}, {ratio:.0f} times as long as usual, and "
            "it is not clipped.",
            step=step,
            longest=longest,
            ratio=longest / typical,
        ),
        Text("Clip it: clip = 1."),
        {"training": {"clip": 1.0}},
    )


def missing_causal_mask(evidence: Evidence) -> Diagnosis | None:
    """A language model that is not causal, accurate with teacher forcing only."""
    model = evidence.recipe.model
    if getattr(model, "causal", True) or getattr(model, "head", None) != "lm" or evidence.held_out is None:
        return None
    if evidence.accuracy - evidence.held_out < TEACHER_FORCING_GAP:
        return None
    return Diagnosis(
        "no_mask",
        Text(
            "In training {accuracy:.0%} are right, but when it writes by itself {held_out:.0%}: "
            "without the causal mask it reads each answer off the next token.",
            accuracy=evidence.accuracy,
            held_out=evidence.held_out,
        ),
        Text("Hide the future: causal = on."),
        *_recommended_changes(evidence, {"model": {"causal": True}}),
    )


def shut_gates(evidence: Evidence) -> Diagnosis | None:
    """Forget gates close to 0, so that the cell keeps nothing."""
    shut = {name: mean for name, (mean, _) in evidence.gates.items() if name.endswith(".forget") and mean < SHUT}
    if not shut or not hasattr(evidence.recipe.model, "forget_bias"):
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


def saturated_gates(evidence: Evidence) -> Diagnosis | None:
    """Gates almost always at 0 or 1, where the sigmoid has hardly any gradient."""
    saturated = {name: share for name, (_, share) in evidence.gates.items() if share > SATURATED}
    lr = better_lr(evidence, lower=True)
    # gates that are shut from the start are not opened by smaller steps
    if not saturated or shut_gates(evidence) or lr >= evidence.recipe.training.lr:
        return None
    name, share = max(saturated.items(), key=lambda pair: pair[1])
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


def no_positions(evidence: Evidence) -> Diagnosis | None:
    """A transformer without positions and without a causal mask, which would imply them."""
    model = evidence.recipe.model
    if getattr(model, "position", None) != "none" or getattr(model, "causal", False):
        return None
    recommended = evidence.recommended
    position = getattr(recommended.model, "position", "none") if recommended else "none"
    position = "learned" if position == "none" else position
    return Diagnosis(
        "no_positions",
        Text(
            "Without positions it sees which tokens there are, but not where.",
        ),
        Text("Use position = {position}.", position=position),
        {"model": {"position": position}},
    )


def bottleneck(evidence: Evidence) -> Diagnosis | None:
    """A recurrent encoder–decoder without attention."""
    if getattr(evidence.recipe.model, "attention", None) != "none":
        return None
    longest = evidence.recipe.task.longest
    return Diagnosis(
        "bottleneck",
        Text(
            "One vector must hold the whole source, up to {longest} tokens.",
            longest=longest,
        ),
        Text("Let the decoder look back: attention = bahdanau."),
        {"model": {"attention": "bahdanau"}},
    )


def too_shallow(evidence: Evidence) -> Diagnosis | None:
    """A transformer with fewer layers than the recommended recipe; without one, the evidence shows no such cause."""
    recommended, model = evidence.recommended, evidence.recipe.model
    if (
        not isinstance(model, TransformerConfig)
        or recommended is None
        or recommended.model.n_layers <= model.n_layers
    ):
        return None
    layers = recommended.model.n_layers
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


def memorisation(evidence: Evidence) -> Diagnosis | None:
    """Fixed problems are solved much better than held-out ones."""
    samples = evidence.recipe.training.samples
    if samples is None or evidence.held_out is None or evidence.accuracy - evidence.held_out < GENERALISATION_GAP:
        return None
    changes: Changes = {"training": {"samples": None}}
    return Diagnosis(
        "by_heart",
        Text(
            "It learns its {samples:,} problems by heart: {accuracy:.0%} of those right, but "
            "{held_out:.0%} of others (chance: {chance:.0%}).",
            samples=samples,
            accuracy=evidence.accuracy,
            held_out=evidence.held_out,
            chance=evidence.chance,
        ),
        Text("Give it fresh problems instead of the same ones, as the recommended recipe does.")
        if evidence.recommended
        else Text("Give it more problems, or fresh ones where the task makes them."),
        *_recommended_changes(evidence, changes),
    )


def unusual_learning_rate(evidence: Evidence) -> Diagnosis | None:
    """A learning rate at least 10 times higher or lower than the recommended one."""
    recommended, lr = evidence.recommended, evidence.recipe.training.lr
    if recommended is None or 1 / LR_FACTOR < lr / recommended.training.lr < LR_FACTOR:
        return None
    high = lr > recommended.training.lr
    times = lr / recommended.training.lr if high else recommended.training.lr / lr
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
        Text("Use lr = {lr:g}.", lr=recommended.training.lr),
        {"training": {"lr": recommended.training.lr}},
    )


def _recommended_changes(evidence: Evidence, changes: Changes) -> tuple[Changes, str | None]:
    """All differences from the recommended recipe, and its variant: the change alone is known not to be enough.

    Without a recommended recipe, the change itself.
    """
    recommended = evidence.recommended
    return (changes, None) if recommended is None else (differences(evidence.recipe, recommended), "default")


def better_lr(evidence: Evidence, lower: bool) -> float:
    """The recommended learning rate if it lies in that direction, else a tenth or ten times the present one."""
    lr, recommended = evidence.recipe.training.lr, evidence.recommended
    if recommended and (recommended.training.lr < lr) == lower and recommended.training.lr != lr:
        return recommended.training.lr
    return float(f"{lr / 10 if lower else lr * 10:.1g}")


CAUSES: tuple[Rule, ...] = (
    exploding_gradient,
    missing_causal_mask,
    shut_gates,
    no_positions,
    bottleneck,
    memorisation,
    too_shallow,
    unusual_learning_rate,
    saturated_gates,
)
