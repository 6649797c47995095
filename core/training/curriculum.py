"""Length curriculum: the greatest problem length rises by 2 whenever the smoothed batch accuracy exceeds 90 %.

Lengths are drawn from 1 to that limit: the shortest problems stay in the mix because a single token shows what it does
by itself.
"""

from __future__ import annotations

START_LENGTH, LENGTH_INCREMENT, MASTERED = 2, 2, 0.9
SMOOTHING = 0.5  # weight of the latest batch in the moving average of the accuracy


class Curriculum:
    def __init__(self, longest: int):
        self.longest = longest
        self.limit = min(START_LENGTH, longest)
        self.smoothed_accuracy = 0.0  # exponential moving average; not reset when the limit rises

    @property
    def lengths(self) -> dict[str, int]:
        """Arguments of `Task.draw`."""
        return {"low": 1, "high": self.limit}

    def update(self, accuracy: float) -> None:
        self.smoothed_accuracy += SMOOTHING * (accuracy - self.smoothed_accuracy)
        if self.smoothed_accuracy > MASTERED and self.limit < self.longest:
            self.limit = min(self.limit + LENGTH_INCREMENT, self.longest)

    def state_dict(self) -> dict[str, float]:
        return {"limit": self.limit, "running": self.smoothed_accuracy}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.limit, self.smoothed_accuracy = int(state["limit"]), state["running"]
