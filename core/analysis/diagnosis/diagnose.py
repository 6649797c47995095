"""Which diagnoses apply to a run that fails: `diagnose(collect_evidence(run))`.

Causes, each with its remedy, are the rules in `rules.py`, symptoms those in `symptoms.py`. A run that reaches its goal has
no diagnosis, whatever its heads and gates look like. Causes come before symptoms: that accuracy stays at chance is
reported only if no rule explains it.
"""

from __future__ import annotations

from core.analysis.diagnosis.evidence import Evidence, collect_evidence
from core.analysis.diagnosis.rules import CAUSES, Diagnosis, Rule, diverged, exploding_gradient
from core.analysis.diagnosis.symptoms import at_chance, dead_heads, unfinished

DIAGNOSED_FROM = 0.6  # the share of its training after which all rules apply
FEWEST_STEPS = 10


def diagnose(evidence: Evidence) -> list[Diagnosis]:
    """The diagnoses of a run; none while it does well or it is too early to tell."""
    if evidence.diverged:
        return [diverged(evidence)]
    if len(evidence.steps) < FEWEST_STEPS:
        return []
    accuracy = evidence.accuracy if evidence.held_out is None else evidence.held_out
    if accuracy >= evidence.goal:
        return []
    rules = CAUSES if evidence.progress >= DIAGNOSED_FROM else (exploding_gradient,)
    diagnoses = _without_subsumed(_apply(rules, evidence))
    if not diagnoses and evidence.progress >= DIAGNOSED_FROM:
        diagnoses = _apply((at_chance, dead_heads), evidence)
    if not diagnoses and evidence.progress >= 1:
        diagnoses = _apply((unfinished,), evidence)
    return diagnoses


def _apply(rules: tuple[Rule, ...], evidence: Evidence) -> list[Diagnosis]:
    return [diagnosis for rule in rules if (diagnosis := rule(evidence))]


def _without_subsumed(diagnoses: list[Diagnosis]) -> list[Diagnosis]:
    """Without those whose changes are a part of another's: alone they are known not to be enough."""
    return [
        diagnosis
        for diagnosis in diagnoses
        if not any(other is not diagnosis and _subsumes(other, diagnosis) for other in diagnoses)
    ]


def _subsumes(larger: Diagnosis, smaller: Diagnosis) -> bool:
    inside = all(changes.items() <= larger.changes.get(part, {}).items() for part, changes in smaller.changes.items())
    return inside and larger.changes != smaller.changes


__all__ = ["Diagnosis", "Evidence", "collect_evidence", "diagnose"]
