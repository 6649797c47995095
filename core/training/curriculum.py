"""Short problems first: the longest length rises by 2 whenever the last few batches went well.

The shortest ones stay in the mix, down to a single token: they show what each token does by itself.
"""

from __future__ import annotations

START, RAISE, MASTERED = 2, 2, 0.9
LATEST = 0.5  # the share of the latest batch in the average over all so far


class Curriculum:
    def __init__(self, longest: int):
        self.longest = longest
        self.limit = min(START, longest)
        self.running = 0.0  # accuracy, averaged over the last few steps; a rise does not begin it anew

    @property
    def lengths(self) -> dict[str, int]:
        return {"low": 1, "high": self.limit}

    def update(self, accuracy: float) -> None:
        self.running += LATEST * (accuracy - self.running)
        if self.running > MASTERED and self.limit < self.longest:
            self.limit = min(self.limit + RAISE, self.longest)

    def state(self) -> dict[str, float]:
        return {"limit": self.limit, "running": self.running}

    def load(self, state: dict[str, float]) -> None:
        self.limit, self.running = int(state["limit"]), state["running"]
