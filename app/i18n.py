"""Translations: gettext catalogues for the messages of core and app, and the page's own words.

`static/locales/<language>/LC_MESSAGES/innerview.po` is a language; adding one is adding that file. English is the
language of the messages themselves and needs none. Catalogues are compiled in memory when the app starts.
"""

from __future__ import annotations

import json
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from app.paths import STATIC
from core.translatable import ENGLISH, Text

LOCALES = STATIC / "locales"
CATALOGUE = "LC_MESSAGES/innerview.po"


def load_catalogue(path: Path) -> GNUTranslations:
    """A `.po` file as translations; entries marked fuzzy are not used."""
    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file))
    compiled.seek(0)
    return GNUTranslations(compiled)


def load_translations(locales: Path = LOCALES) -> dict[str, NullTranslations]:
    """By language, English first."""
    catalogues = {path.parents[1].name: load_catalogue(path) for path in sorted(locales.glob(f"*/{CATALOGUE}"))}
    return {"en": ENGLISH, **catalogues}


TRANSLATIONS = load_translations()


def translate(text: Text, language: str) -> str:
    return text.translate(TRANSLATIONS[language])


def translate_message(message: str, language: str) -> str:
    """A template of the figures' captions (`app.figures.expressions.Format`), which are filled in the page."""
    return TRANSLATIONS[language].gettext(message)


def in_all_languages(text: Text) -> dict[str, str]:
    """By language: the page has all of them and switches without a request."""
    return {language: text.translate(translations) for language, translations in TRANSLATIONS.items()}


def translate_all(value: Any) -> Any:
    """A structure for JSON with every `Text` in it replaced by its translations, by language."""
    if isinstance(value, Text):
        return in_all_languages(value)
    if isinstance(value, dict):
        return {name: translate_all(item) for name, item in value.items()}
    return [translate_all(item) for item in value] if isinstance(value, list | tuple) else value


def encodable(text: str) -> str:
    """With unpaired surrogates, which a quoted value may have and UTF-8 cannot encode, spelt out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _load_words(folder: Path) -> dict[str, str]:
    words: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        words |= json.loads(path.read_text("utf-8"))
    return words


WORDS: dict[str, dict[str, str]] = {folder.name: _load_words(folder) for folder in sorted(LOCALES.iterdir())}
