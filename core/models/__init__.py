"""The families of models, one file each, and the registry that builds them by name.

Imports `core.layers` and `core.config`; knows nothing of tasks, training or runs.
"""

from core.models.output import Output
from core.models.registry import FAMILIES, build, configure, is_encoder_decoder, models

__all__ = ["FAMILIES", "Output", "build", "configure", "is_encoder_decoder", "models"]
