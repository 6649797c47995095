"""Training options: each with its range, default and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.config.catalogue import choice, integer, number, option, switch
from core.config.options import Options
from core.errors import ConfigError
from core.training.schedules import PointsOption, normalise_points
from core.translatable import Text

# fmt: off
STEPS = integer("steps", 1, 1_000_000, Text("How many updates."))
BATCH_SIZE = integer("batch_size", 1, 4_096, Text("Problems per update."))
ACCUMULATE = integer("accumulate", 1, 256, Text("Batches whose gradients are added up before an update."))
SAMPLES = integer("samples", 1, 10_000_000, Text("Train on this many fixed problems, over and over; automatic: always fresh ones."), optional=True)
LR = number("lr", 1e-8, 100.0, Text("The learning rate at its highest."))
WEIGHT_DECAY = number("weight_decay", 0.0, 10.0, Text("Pull of the weights towards 0; biases, norms and embeddings are spared."))
BETA2 = number("beta2", 0.5, 0.99999, Text("How long Adam remembers squared gradients."))
CLIP = number("clip", 0.0, 1e6, Text("Longest gradient allowed; 0: any."))
WARMUP = integer("warmup", 0, 100_000, Text("Steps over which the learning rate rises from 0."))
FLOOR = number("floor", 0.0, 1.0, Text("Share of the learning rate left at the end of its schedule."))
EMA = number("ema", 0.0, 0.99999, Text("Decay of the averaged weights used for evaluation; 0: none."))
ADVERSARIAL = number("adversarial", 0.0, 10.0, Text("FGM: size of the push on the token embeddings; 0: none."))
CURRICULUM = switch("curriculum", Text("Start with short problems; lengthen them as they are mastered."))
SCHEDULE = choice("schedule", Text("How the learning rate moves."), {
    "constant": Text("stays"),
    "linear": Text("falls in a straight line"),
    "cosine": Text("falls along a half cosine"),
    "piecewise": Text("follows straight lines between points"),
})
POINTS = PointsOption(name="points", kind=dict, optional=True, help=Text("Piecewise schedule: at which update which share of the learning rate; straight lines "
"between."))
PRECISION = choice("precision", Text("The numbers used in the forward pass."), {
    "float32": Text("full"),
    "bfloat16": Text("mixed: half the bits where it is safe"),
})
# fmt: on


@dataclass(frozen=True, kw_only=True)
class Training(Options):
    steps: int = option(STEPS, 500)
    batch_size: int = option(BATCH_SIZE, 64)
    samples: int | None = option(SAMPLES, None)
    lr: float = option(LR, 3e-3)
    schedule: str = option(SCHEDULE, "constant")
    points: tuple[tuple[int, float], ...] | None = option(POINTS, None)
    warmup: int = option(WARMUP, 0)
    floor: float = option(FLOOR, 0.0)
    weight_decay: float = option(WEIGHT_DECAY, 0.0)
    beta2: float = option(BETA2, 0.999)
    clip: float = option(CLIP, 1.0)
    accumulate: int = option(ACCUMULATE, 1)
    precision: str = option(PRECISION, "float32")
    ema: float = option(EMA, 0.0)
    adversarial: float = option(ADVERSARIAL, 0.0)
    curriculum: bool = option(CURRICULUM, False)

    @classmethod
    def title(cls) -> str:
        return "training"

    def __post_init__(self):
        object.__setattr__(self, "points", normalise_points(self.points))
        super().__post_init__()

    def to_dict(self) -> dict[str, Any]:
        """`points` is left out when None, so that the keys of runs without a piecewise schedule do not depend on it."""
        return {name: value for name, value in super().to_dict().items() if name != "points" or value is not None}

    def check(self) -> None:
        self._check_points()
        if self.warmup >= self.steps:
            raise ConfigError(
                "warmup",
                self.warmup,
                Text(
                    "training ends after {steps} steps, before the warm-up.",
                    steps=self.steps,
                ),
                Text("Use less than {steps}.", steps=self.steps),
            )
        if self.samples is not None and self.curriculum:
            raise ConfigError(
                "curriculum",
                True,
                Text("a fixed set of problems has no next length to go to."),
                Text("Use samples=None, or curriculum=False."),
            )

    def _check_points(self) -> None:
        piecewise = self.schedule == "piecewise"
        if piecewise and self.points is None:
            raise ConfigError(
                "points",
                None,
                Text("a piecewise schedule needs points."),
                Text("Use for example {100: 1, 500: 0.1}."),
            )
        if not piecewise and self.points is not None:
            raise ConfigError(
                "points",
                dict(self.points),
                Text("the schedule {schedule} has none.", schedule=self.schedule),
                Text("Use schedule='piecewise', or points=None."),
            )
        for name in ("warmup", "floor") if piecewise else ():
            if getattr(self, name):
                raise ConfigError(
                    name,
                    getattr(self, name),
                    Text("a piecewise schedule says this with its points."),
                    Text("Use {name}=0.", name=name),
                )
