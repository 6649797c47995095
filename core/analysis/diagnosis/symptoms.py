"""Symptoms of a failing run, reported if no rule finds a cause: accuracy at chance, dead heads, too few steps."""

from __future__ import annotations

from statistics import fmean

from core.analysis.diagnosis.evidence import Evidence, differences
from core.analysis.diagnosis.rules import Diagnosis, better_lr
from core.config.families import TransformerConfig
from core.translatable import Text

AT_CHANCE = 0.1  # of the way from chance to 1
UNIFORM = 0.97  # normalised entropy of a head that attends to all tokens alike


def at_chance(evidence: Evidence) -> Diagnosis | None:
    """Neither training nor held-out accuracy is above chance."""
    accuracy = evidence.accuracy if evidence.held_out is None else max(evidence.held_out, evidence.accuracy)
    if accuracy > evidence.chance + AT_CHANCE * (1 - evidence.chance):
        return None
    what = Text(
        "After {steps} steps {reached:.0%} are right, no more than by chance ({chance:.0%}).",
        steps=len(evidence.steps),
        reached=accuracy,
        chance=evidence.chance,
    )
    if evidence.recommended and (changes := differences(evidence.recipe, evidence.recommended)):
        remedy = Text("Begin with the recommended recipe.")
        return Diagnosis("at_chance", what, remedy, changes, "default")
    lr = better_lr(evidence, lower=evidence.recipe.training.lr >= 1e-2)
    return Diagnosis("at_chance", what, Text("Try lr = {lr:g}.", lr=lr), {"training": {"lr": lr}})


def dead_heads(evidence: Evidence) -> Diagnosis | None:
    """Heads with almost uniform attention."""
    model = evidence.recipe.model
    dead = [name for name, entropy in evidence.heads.items() if entropy > UNIFORM]
    if not dead or not isinstance(model, TransformerConfig) or model.n_heads == 1:
        return None
    fewer = max(n for n in range(1, model.n_heads) if model.d_model % n == 0)
    listed = ", ".join(dead[:4]) + (" …" if len(dead) > 4 else "")
    return Diagnosis(
        "dead_head",
        Text(
            "{dead} of {heads} heads look at all tokens alike, so they tell nothing apart: {listed}.",
            dead=len(dead),
            heads=len(evidence.heads),
            listed=listed,
        ),
        Text("Use fewer, wider heads: n_heads = {fewer}.", fewer=fewer),
        {"model": {"n_heads": fewer}},
    )


def unfinished(evidence: Evidence) -> Diagnosis | None:
    """The loss still fell by more than a tenth in the last quarter."""
    losses = [step.loss for step in evidence.steps]
    quarter = len(losses) // 4
    if quarter < 10:
        return None
    before, after = fmean(losses[-2 * quarter : -quarter]), fmean(losses[-quarter:])
    if after > 0.9 * before:
        return None
    steps = 2 * evidence.recipe.training.steps
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
