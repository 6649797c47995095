"""Text shown to people: an English message with named values, translated where it is shown (gettext).

    Text("The input has {tokens} tokens; the model takes {most}.", tokens=12, most=8)

The message is the key of the catalogues in `static/locales`. `core` knows no catalogue: `str(text)` is English, and
whoever shows it passes its `gettext` translations to `translate`. Babel finds messages by the names `Text`,
`plural_text` and those of the error classes, so a message must be written out as a literal in such a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from gettext import NullTranslations
from typing import Any

ENGLISH = NullTranslations()
VERBATIM = "{verbatim}"


class Text:
    """A message and the values for its `{named}` fields (`str.format`); without values, braces are plain characters.

    A value may be a `Text` itself, which is translated with it, or a list, which is joined as the language does.
    """

    __slots__ = ("message", "plural", "values")

    def __init__(self, message: str, /, *, plural: str | None = None, **values: Any):
        self.message, self.plural, self.values = message, plural, values

    def translate(self, translations: NullTranslations) -> str:
        if self.plural is not None:
            template = translations.ngettext(self.message, self.plural, self.values["n"])
        else:
            template = translations.gettext(self.message) if self.message else ""  # "" is the catalogue's header
        if not self.values:
            return template
        return template.format(**{name: _shown(value, translations) for name, value in self.values.items()})

    def __str__(self) -> str:
        return self.translate(ENGLISH)

    def __repr__(self) -> str:
        return f"Text({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and repr(self.to_dict()) == repr(other.to_dict())  # nan equals itself

    def __hash__(self) -> int:
        return hash((self.message, self.plural))

    def __reduce__(self) -> tuple[Any, ...]:
        return Text.from_dict, (self.to_dict(),)

    def map_values(self, function: Callable[[Any], Any]) -> Text:
        """The same message with other values; nested texts are mapped too."""
        values = {
            name: value.map_values(function) if isinstance(value, Text) else function(value)
            for name, value in self.values.items()
        }
        return Text(self.message, plural=self.plural, **values)

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it; `from_dict` is the inverse."""
        told: dict[str, Any] = {"message": self.message}
        if self.plural is not None:
            told["plural"] = self.plural
        if self.values:
            told["values"] = {name: _plain(value) for name, value in self.values.items()}
        return told

    @staticmethod
    def from_dict(told: Mapping[str, Any]) -> Text:
        message, values = told["message"], told.get("values", {})
        values = {name: _restored(value) for name, value in values.items()}
        return Text(message, plural=told.get("plural"), **values)


def text_hook(told: dict[str, Any]) -> Any:
    """For `json.loads(…, object_hook=text_hook)`: what `to_dict` wrote becomes a text again."""
    return Text.from_dict(told) if "message" in told and set(told) <= {"message", "plural", "values"} else told


def plural_text(singular: str, plural: str, /, n: int, **values: Any) -> Text:
    """The singular or the plural message by the number `n`, as each language counts (ngettext)."""
    return Text(singular, plural=plural, n=n, **values)


def verbatim(text: str) -> Text:
    """A text that is data (a token, a label, a file's name): shown as it is in every language."""
    return Text(VERBATIM, verbatim=text)


def join_texts(texts: Iterable[Text], separator: str) -> Text:
    """Several texts in a row, each translated by itself."""
    values = {f"text_{i}": text for i, text in enumerate(texts)}
    return Text(separator.join(f"{{{name}}}" for name in values), **values)


def _shown(value: Any, translations: NullTranslations) -> Any:
    if isinstance(value, Text):
        return value.translate(translations)
    if isinstance(value, list):
        return translations.gettext(LIST_SEPARATOR.message).join(str(_shown(one, translations)) for one in value)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Text):
        return value.to_dict()
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _restored(value: Any) -> Any:
    if isinstance(value, dict) and "message" in value:
        return Text.from_dict(value)
    return [_restored(one) for one in value] if isinstance(value, list) else value


LIST_SEPARATOR = Text(", ")
