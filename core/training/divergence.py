"""When to end a run that will not come back, what to say, and what to try instead.

A loss that is not a number and a gradient without an end are plain. A loss that explodes and stays finite is judged
by what it costs to know nothing, all logits being equal: a run at chance pays that much, one that diverges pays far
more, and goes on doing so. `excess` counts the steps that were far above it, less those that were not, so that a few
bad steps on the way are forgiven.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from core.messages import Text
from core.training.options import Training

FAR, PATIENCE = 2.0, 50


class Diverged(RuntimeError):
    """Training ended because the numbers did; says what happened and what to try."""

    def __init__(self, step: int, why: Text):
        self.step, self.why = step, why
        super().__init__(f"Step {step}: {why}")

    def __reduce__(self):  # so that it can cross a process boundary
        return type(self), (self.step, self.why)


class Watch:
    """What knowing nothing costs, or what the run began with if that was more; and how long it has cost far more."""

    def __init__(self):
        self.level, self.excess = 0.0, 0

    def see(self, loss: float, guessing: Callable[[], float]) -> None:
        """Longer problems may cost more to guess: the level is looked at again before a loss is called high."""
        if self.level == 0.0:
            self.level = max(guessing(), loss)
        elif loss > FAR * self.level:
            self.level = max(self.level, guessing())

    def judge(self, step: int, loss: float, grad_norm: float, options: Training) -> None:
        """Raise `Diverged` if it is time to."""
        if not math.isfinite(loss):
            raise Diverged(step, not_a_number(options))
        if not math.isfinite(grad_norm):
            raise Diverged(step, no_gradient(loss, grad_norm, options))
        excess = self.excess + 1 if loss > FAR * self.level else max(0, self.excess - 1)
        if excess >= PATIENCE:
            raise Diverged(step, far_too_high(loss, self.level, options))
        self.excess = excess

    def state(self) -> dict[str, float]:
        return {"level": self.level, "excess": self.excess}

    def load(self, state: dict[str, float]) -> None:
        self.level, self.excess = state["level"], int(state["excess"])


def not_a_number(options: Training) -> Text:
    return _with_remedy(Text("the loss is no longer a number: the updates were too large."), options)


def no_gradient(loss: float, grad_norm: float, options: Training) -> Text:
    return _with_remedy(
        Text(
            "the loss is {loss:.3g}, but its gradient is no longer a number ({grad_norm}): the "
            "updates were too large.",
            loss=loss,
            grad_norm=grad_norm,
        ),
        options,
    )


def far_too_high(loss: float, level: float, options: Training) -> Text:
    return _with_remedy(
        Text(
            "the loss is {loss:.3g} and has been more than twice {level:.3g}, which is what knowing "
            "nothing or the start cost, in at least {patience} steps: it has exploded, because the "
            "updates are too large.",
            loss=loss,
            level=level,
            patience=PATIENCE,
        ),
        options,
    )


def _with_remedy(what: Text, options: Training) -> Text:
    lower = options.lr / 10
    if options.clip:
        return Text("{what} Try lr = {lr:g}.", what=what, lr=lower)
    return Text("{what} Try lr = {lr:g}, or clip = 1.", what=what, lr=lower)
