"""Detection of diverged training: a loss or gradient that is not finite, or a loss that stays far above its baseline.

The baseline is the loss of uniform predictions (all logits equal), or the first loss if that is higher: a run at chance
pays that much, a diverging one far more. A counter rises at each step whose loss is above `LOSS_FACTOR` times the
baseline and falls at every other step, so that a few bad steps are forgiven; at `PATIENCE` training ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from core.training.options import Training
from core.translatable import Text

LOSS_FACTOR, PATIENCE = 2.0, 50


class Diverged(RuntimeError):
    """Training ended because it diverged; `why` says what happened and what to try."""

    def __init__(self, step: int, why: Text):
        self.step, self.why = step, why
        super().__init__(f"Step {step}: {why}")

    def __reduce__(self):  # so that it can cross a process boundary
        return type(self), (self.step, self.why)


class DivergenceDetector:
    """The baseline loss, and how many recent steps were far above it."""

    def __init__(self):
        self.baseline, self.excess = 0.0, 0

    def update_baseline(self, loss: float, uniform_loss: Callable[[], float]) -> None:
        """Set the baseline from the first batch; raise it when a batch of longer problems costs more to guess.

        `uniform_loss` computes this batch's loss of uniform predictions; called only when it is needed.
        """
        if self.baseline == 0.0:
            self.baseline = max(uniform_loss(), loss)
        elif loss > LOSS_FACTOR * self.baseline:
            self.baseline = max(self.baseline, uniform_loss())

    def check(self, step: int, loss: float, grad_norm: float, options: Training) -> None:
        """Count this step; raise `Diverged` if training has to end."""
        if not math.isfinite(loss):
            raise Diverged(step, _nan_loss(options))
        if not math.isfinite(grad_norm):
            raise Diverged(step, _nan_gradient(loss, grad_norm, options))
        excess = self.excess + 1 if loss > LOSS_FACTOR * self.baseline else max(0, self.excess - 1)
        if excess >= PATIENCE:
            raise Diverged(step, _exploded_loss(loss, self.baseline, options))
        self.excess = excess

    def state_dict(self) -> dict[str, float]:
        return {"level": self.baseline, "excess": self.excess}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.baseline, self.excess = state["level"], int(state["excess"])


def _nan_loss(options: Training) -> Text:
    return _with_remedy(Text("the loss is no longer a number: the updates were too large."), options)


def _nan_gradient(loss: float, grad_norm: float, options: Training) -> Text:
    return _with_remedy(
        Text(
            "the loss is {loss:.3g}, but its gradient is no longer a number ({grad_norm}): the "
            "updates were too large.",
            loss=loss,
            grad_norm=grad_norm,
        ),
        options,
    )


def _exploded_loss(loss: float, baseline: float, options: Training) -> Text:
    return _with_remedy(
        Text(
            "the loss is {loss:.3g} and has been more than twice {level:.3g}, which is what knowing "
            "nothing or the start cost, in at least {patience} steps: it has exploded, because the "
            "updates are too large.",
            loss=loss,
            level=baseline,
            patience=PATIENCE,
        ),
        options,
    )


def _with_remedy(what: Text, options: Training) -> Text:
    lower = options.lr / 10
    if options.clip:
        return Text("{what} Try lr = {lr:g}.", what=what, lr=lower)
    return Text("{what} Try lr = {lr:g}, or clip = 1.", what=what, lr=lower)
