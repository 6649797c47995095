"""Accuracy of a run on held-out problems, of one length if given."""

from __future__ import annotations

from copy import copy, deepcopy

from app.service.inputs import AnyRun, max_tokens
from core import ConfigError, InputError, Text
from core.runs.run import Run
from core.training.evaluation import EvaluationResult

PROBLEMS = 256


def evaluate_run(run: AnyRun, length: int | None) -> EvaluationResult:
    """On a copy of the model, since averaged weights, where a run has them, are put into it meanwhile."""
    if not isinstance(run, Run):
        raise InputError("A checkpoint brings no task with it whose problems it could be evaluated on.")
    if length is not None and length > max_tokens(run):
        remedy = Text("Choose from {low} to {high}.", low="1", high=str(max_tokens(run)))
        raise ConfigError("length", length, Text("it is out of range."), remedy)
    evaluated = copy(run)
    evaluated.model = deepcopy(run.model)
    return evaluated.evaluate(PROBLEMS, length=length)
