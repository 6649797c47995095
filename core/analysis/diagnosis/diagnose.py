"""What went wrong in a run, in words, and the change that would help: evidence_of(run) → notice(evidence).

A run that reaches its goal is left alone, whatever its heads and gates look like. Of one that does not, causes are told
before symptoms: that it stays at chance is said only when nothing explains it.
"""

from __future__ import annotations

from core.analysis.diagnosis.evidence import Evidence, collect_evidence
from core.analysis.diagnosis.rules import CAUSES, Diagnosis, at_chance, dead_heads, diverged, exploding, unfinished

SETTLED = 0.6  # the share of its training after which a run is judged
FEWEST_STEPS = 10


def diagnose(seen: Evidence) -> list[Diagnosis]:
    """Nothing, while nothing is wrong or it is too early to tell."""
    if seen.diverged:
        return [diverged(seen)]
    if len(seen.steps) < FEWEST_STEPS:
        return []
    reached = seen.accuracy if seen.held_out is None else seen.held_out
    if reached >= seen.goal:
        return []
    causes = [cause(seen) for cause in CAUSES] if seen.share_made >= SETTLED else [exploding(seen)]
    found = _widest([one for one in causes if one])
    if not found and seen.share_made >= SETTLED:
        found = [one for one in (at_chance(seen), dead_heads(seen)) if one]
    if not found and seen.share_made >= 1:
        found = [one for one in [unfinished(seen)] if one]
    return found


def _widest(found: list[Diagnosis]) -> list[Diagnosis]:
    """Without those whose change is only a part of another's: alone it is known not to be enough."""
    return [one for one in found if not any(one is not other and _holds(other, one) for other in found)]


def _holds(whole: Diagnosis, part: Diagnosis) -> bool:
    inside = all(changed.items() <= whole.changes.get(name, {}).items() for name, changed in part.changes.items())
    return inside and whole.changes != part.changes


__all__ = ["Diagnosis", "Evidence", "collect_evidence", "diagnose"]
