"""How a model is trained: every option with its range, default and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.config.catalogue import choice, integer, number, option, switch
from core.config.options import ConfigError, Options, Text
from core.training.schedules import PointsOption, as_points

# fmt: off
STEPS = integer("steps", 1, 1_000_000, "How many updates.", "更新次数。")
BATCH_SIZE = integer("batch_size", 1, 4_096, "Problems per update.", "每次更新的题数。")
ACCUMULATE = integer("accumulate", 1, 256, "Batches whose gradients are added up before an update.", "累积多少个批次的梯度再更新。")
SAMPLES = integer("samples", 1, 10_000_000, "Train on this many fixed problems, over and over; automatic: always fresh ones.", "只用这么多固定的题反复训练；自动：总用新题。", optional=True)
LR = number("lr", 1e-8, 100.0, "The learning rate at its highest.", "最高学习率。")
WEIGHT_DECAY = number("weight_decay", 0.0, 10.0, "Pull of the weights towards 0; biases, norms and embeddings are spared.", "权重衰减；偏置、归一化与嵌入除外。")
BETA2 = number("beta2", 0.5, 0.99999, "How long Adam remembers squared gradients.", "Adam 对梯度平方的记忆长度。")
CLIP = number("clip", 0.0, 1e6, "Longest gradient allowed; 0: any.", "允许的最大梯度范数；0：不限。")
WARMUP = integer("warmup", 0, 100_000, "Steps over which the learning rate rises from 0.", "学习率从 0 升起的步数。")
FLOOR = number("floor", 0.0, 1.0, "Share of the learning rate left at the end of its schedule.", "学习率调度结束时剩余的比例。")
EMA = number("ema", 0.0, 0.99999, "Decay of the averaged weights used for evaluation; 0: none.", "用于评估的平均权重的衰减；0：不用。")
ADVERSARIAL = number("adversarial", 0.0, 10.0, "FGM: size of the push on the token embeddings; 0: none.", "FGM：对词元嵌入的扰动大小；0：不用。")
CURRICULUM = switch("curriculum", "Start with short problems; lengthen them as they are mastered.", "从短题开始，掌握后逐渐加长。")
SCHEDULE = choice("schedule", "How the learning rate moves.", "学习率如何变化。", {
    "constant": ("stays", "保持不变"),
    "linear": ("falls in a straight line", "直线下降"),
    "cosine": ("falls along a half cosine", "沿半个余弦下降"),
    "piecewise": ("follows straight lines between points", "沿各点之间的直线变化"),
})
POINTS = PointsOption(name="points", kind=dict, optional=True, help=Text("Piecewise schedule: at which update which share of the learning rate; straight lines between.", "分段调度：在哪一步更新用学习率的多大比例；其间为直线。"))
PRECISION = choice("precision", "The numbers used in the forward pass.", "前向计算使用的数值。", {
    "float32": ("full", "全精度"),
    "bfloat16": ("mixed: half the bits where it is safe", "混合：在安全处用一半的位数"),
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
        object.__setattr__(self, "points", as_points(self.points))
        super().__post_init__()

    def to_dict(self) -> dict[str, Any]:
        """Points that are not there are not told, so that they are no part of any other run's key."""
        return {name: value for name, value in super().to_dict().items() if name != "points" or value is not None}

    def check(self) -> None:
        self._check_points()
        if self.warmup >= self.steps:
            raise ConfigError(
                "warmup",
                self.warmup,
                Text(
                    f"training ends after {self.steps} steps, before the warm-up.",
                    f"训练在 {self.steps} 步后结束，早于预热。",
                ),
                Text(f"Use less than {self.steps}.", f"请小于 {self.steps}。"),
            )
        if self.samples is not None and self.curriculum:
            raise ConfigError(
                "curriculum",
                True,
                Text("a fixed set of problems has no next length to go to.", "固定的题没有下一个长度可用。"),
                Text("Use samples=None, or curriculum=False.", "请用 samples=None，或 curriculum=False。"),
            )

    def _check_points(self) -> None:
        piecewise = self.schedule == "piecewise"
        if piecewise and self.points is None:
            raise ConfigError(
                "points",
                None,
                Text("a piecewise schedule needs points.", "分段调度需要给出各点。"),
                Text("Use for example {100: 1, 500: 0.1}.", "例如 {100: 1, 500: 0.1}。"),
            )
        if not piecewise and self.points is not None:
            raise ConfigError(
                "points",
                dict(self.points),
                Text(f"the schedule {self.schedule} has none.", f"调度 {self.schedule} 不用各点。"),
                Text("Use schedule='piecewise', or points=None.", "请用 schedule='piecewise'，或 points=None。"),
            )
        for name in ("warmup", "floor") if piecewise else ():
            if getattr(self, name):
                raise ConfigError(
                    name,
                    getattr(self, name),
                    Text("a piecewise schedule says this with its points.", "分段调度已由各点给出这一设置。"),
                    Text(f"Use {name}=0.", f"请用 {name}=0。"),
                )
