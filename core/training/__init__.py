"""Training: the loop, its craft, and what is kept of it."""

from core.training.loop import Diverged, Step, Trainer, train
from core.training.options import Training

__all__ = ["Diverged", "Step", "Trainer", "Training", "train"]
