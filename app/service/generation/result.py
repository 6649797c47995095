"""What the Generate tab is given for one input: facts, arrays, and the figures made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.figures.generation import GenerationView
from app.figures.live import Live


@dataclass(frozen=True)
class Result:
    """view: of a text that was written, what its figures are made from."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]
    figures: dict[str, Live]
    view: GenerationView | None = None

    @property
    def nbytes(self) -> int:
        return sum(array.values.nbytes for live in self.figures.values() for array in live.arrays().values())
