"""What can go wrong with a checkpoint, in plain words."""

from __future__ import annotations

from core.errors import InputError


class PretrainedError(InputError):
    """A checkpoint that cannot be read or written: names the file, the key or the option, and the way out if there is one."""
