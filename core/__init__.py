"""InnerView's core: sequence models from RNN to T5, with everything inside them observable.

>>> import core
>>> model = core.build("gpt", n_layers=2, n_heads=4, d_model=64, vocab_size=100)
>>> with core.capture(model, "*.weights") as tape:
...     out = model(ids)
>>> tape["blocks.0.attn.weights"]  # (batch, head, query, key)
"""

import importlib
from typing import Any

from core import pretrained, text
from core.architecture.anatomy import Anatomy, anatomy
from core.capture import edits
from core.capture.editing import edit
from core.capture.observers import TapError
from core.capture.tape import Tape, capture
from core.config.families import Config
from core.config.options import Option
from core.config.presets import PRESETS
from core.decoding import generate
from core.errors import ConfigError, InputError
from core.models import build, configure, models
from core.pretrained import PretrainedError, load_pretrained, save_pretrained
from core.runs.recipes import Recipe, recipe
from core.runs.run import Run
from core.tasks import Task, task
from core.training import Diverged, Step, Training, train
from core.translatable import Text

__all__ = [
    "PRESETS",
    "Anatomy",
    "Config",
    "ConfigError",
    "Diverged",
    "InputError",
    "Option",
    "PretrainedError",
    "Recipe",
    "Run",
    "Step",
    "TapError",
    "Tape",
    "Task",
    "Text",
    "Training",
    "anatomy",
    "build",
    "capture",
    "configure",
    "edit",
    "edits",
    "generate",
    "load_pretrained",
    "models",
    "pretrained",
    "recipe",
    "save_pretrained",
    "store",
    "sweep",
    "task",
    "text",
    "train",
]


def __getattr__(name: str) -> Any:
    """Imported on first use: `core.sweep` imports pandas, and `core.store` is rarely needed."""
    if name == "sweep":
        from core.jobs.sweep import sweep

        return sweep
    if name == "store":
        return importlib.import_module("core.runs.store")
    raise AttributeError(f"module 'core' has no attribute {name!r}")
