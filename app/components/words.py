"""Words of native Gradio components: messages as keys that Gradio translates in the page, from the gettext catalogues.

gr.Slider(label=word("Layers"))
chips({"map": Text("Map"), "arcs": Text("Arcs")})      # names of choices are translated by `Controls`
"""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.i18n import I18nData

from app.i18n import TRANSLATIONS, in_all_languages
from core.translatable import Text

_used: set[str] = set()
_phrases: dict[str, dict[str, str]] = {}  # in English → by language
GRADIO_LOCALES = {
    "zh": ("zh", "zh-CN", "zh-TW")
}  # what browsers call a language, each of which Gradio looks up apart


def word(message: str, /) -> I18nData:
    """A message for a component's `label`, `info`, `placeholder` or `value`."""
    _used.add(message)
    return I18nData(message)


def phrase(by_language: dict[str, str]) -> I18nData:
    """As `word`, of words that have been put together in each language."""
    _phrases[by_language["en"]] = by_language
    return I18nData(by_language["en"])


def page_words() -> dict[str, dict[str, str]]:
    """By Gradio's locale: every message that components of the page have asked for, translated."""
    return {
        locale: {
            **{message: translations.gettext(message) for message in sorted(_used)},
            **{english: by_language[language] for english, by_language in _phrases.items()},
        }
        for language, translations in TRANSLATIONS.items()
        for locale in GRADIO_LOCALES.get(language, (language,))
    }


def chips(choices: dict[Any, Text], value: Any = None, **options: Any) -> gr.Radio:
    """A radio group that looks like a row of chips, with names of its choices in every language."""
    names = [(str(text), choice) for choice, text in choices.items()]
    classes = ["chips", *options.pop("elem_classes", [])]
    radio = gr.Radio(names, value=value, interactive=True, elem_classes=classes, **options)
    radio.choice_texts = choices  # type: ignore[attr-defined]
    return radio


def choice_names(component: gr.components.Component) -> list[tuple[dict[str, str], Any]] | None:
    """The names of a component's choices by language; None where they are the same in all."""
    texts: dict[Any, Text] = getattr(component, "choice_texts", {})
    return [(in_all_languages(text), choice) for choice, text in texts.items()] or None
