"""The error for every problem with a checkpoint."""

from __future__ import annotations

from core.errors import InputError


class PretrainedError(InputError):
    """A checkpoint cannot be read or written; names the file, the key or the option, and the remedy if there is one."""
