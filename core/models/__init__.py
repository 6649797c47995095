"""The model families, one file each, and the registry that builds them by name.

Imports `core.layers` and `core.config`, but neither tasks nor training nor runs.
"""

from core.models.output import Output
from core.models.registry import FAMILIES, build, configure, is_encoder_decoder, models

__all__ = ["FAMILIES", "Output", "build", "configure", "is_encoder_decoder", "models"]
