"""Training: the loop, optimiser and learning-rate schedules, curriculum, evaluation, snapshots, divergence detection.

Imports models and tasks; imported by `core.runs`, `core.analysis` and `core.jobs`.
"""

from core.training.loop import Diverged, Step, Trainer, train
from core.training.options import Training

__all__ = ["Diverged", "Step", "Trainer", "Training", "train"]
