"""The families of models, one file each, and the registry that builds them by name.

Imports `core.layers` and `core.config`; knows nothing of tasks, training or runs.
"""

from core.models.output import Output
from core.models.registry import FAMILIES, build, configure, models, takes_two

__all__ = ["FAMILIES", "Output", "build", "configure", "models", "takes_two"]
