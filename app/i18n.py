"""Words on screen, in English and 中文, from one set of files used by the page and by the server alike."""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr

LOCALES = Path(__file__).resolve().parents[1] / "static/locales"


def _words(folder: Path) -> dict[str, str]:
    words: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        words |= json.loads(path.read_text("utf-8"))
    return words


WORDS: dict[str, dict[str, str]] = {folder.name: _words(folder) for folder in sorted(LOCALES.iterdir())}


def translations() -> gr.I18n:
    """For Gradio's own parts: labels follow the browser's language."""
    return gr.I18n(**WORDS)
