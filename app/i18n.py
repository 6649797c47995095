"""Words on screen, in English and 中文, from one pair of files used by the page and by the server alike."""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr

LOCALES = Path(__file__).resolve().parents[1] / "static/locales"
WORDS: dict[str, dict[str, str]] = {path.stem: json.loads(path.read_text("utf-8")) for path in LOCALES.glob("*.json")}


def translations() -> gr.I18n:
    """For the page: labels follow the browser's language."""
    return gr.I18n(**WORDS)


def language_of(request: gr.Request) -> str:
    """For the server: the same choice, read from what the browser sent."""
    preferred = request.headers.get("accept-language", "")
    return "zh" if preferred.lower().startswith("zh") else "en"


def say(language: str, key: str, **values: object) -> str:
    return WORDS[language][key].format(**values)
