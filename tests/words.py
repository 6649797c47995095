"""What errors and texts say in the other language, by the catalogue the app uses."""

from __future__ import annotations

from app.i18n import translate
from core.translatable import Text


def chinese(said: Text | Exception) -> str:
    return translate(said if isinstance(said, Text) else said.text, "zh")
