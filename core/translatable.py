"""Text shown to people: an English message with named values, translated where it is shown (gettext).

    Text("The input has {tokens} tokens; the model takes {most}.", tokens=12, most=8)

The message is the key of the catalogues in `static/locales`. `core` has no catalogue: `str(text)` is English, and the
app passes its `gettext` translations to `translate`. Babel extracts messages from calls of `Text`, `plural_text` and the
error classes, so a message must be a literal in such a call.
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
        return template.format(**{name: _format_value(value, translations) for name, value in self.values.items()})

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
        """A form for JSON; `from_dict` is the inverse."""
        fields: dict[str, Any] = {"message": self.message}
        if self.plural is not None:
            fields["plural"] = self.plural
        if self.values:
            fields["values"] = {name: _to_json(value) for name, value in self.values.items()}
        return fields

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> Text:
        message, values = fields["message"], fields.get("values", {})
        values = {name: _from_json(value) for name, value in values.items()}
        return Text(message, plural=fields.get("plural"), **values)


def text_hook(fields: dict[str, Any]) -> Any:
    """For `json.loads(…, object_hook=text_hook)`: dictionaries written by `Text.to_dict` become texts again."""
    is_text = "message" in fields and set(fields) <= {"message", "plural", "values"}
    return Text.from_dict(fields) if is_text else fields


def plural_text(singular: str, plural: str, /, n: int, **values: Any) -> Text:
    """The singular or the plural message by the number `n`, as each language counts (ngettext)."""
    return Text(singular, plural=plural, n=n, **values)


def verbatim(text: str) -> Text:
    """A text that is data (a token, a label, a file's name): shown as it is in every language."""
    return Text(VERBATIM, verbatim=text)


def join_texts(texts: Iterable[Text], separator: str) -> Text:
    """Several texts in a row, each translated by itself."""
    values: dict[str, Any] = {f"text_{i}": text for i, text in enumerate(texts)}
    return Text(separator.join(f"{{{name}}}" for name in values), **values)


def _format_value(value: Any, translations: NullTranslations) -> Any:
    if isinstance(value, Text):
        return value.translate(translations)
    if isinstance(value, list):
        return translations.gettext(LIST_SEPARATOR.message).join(
            str(_format_value(item, translations)) for item in value
        )
    return value


def _to_json(value: Any) -> Any:
    if isinstance(value, Text):
        return value.to_dict()
    return [_to_json(item) for item in value] if isinstance(value, list) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict) and "message" in value:
        return Text.from_dict(value)
    return [_from_json(item) for item in value] if isinstance(value, list) else value


LIST_SEPARATOR = Text(", ")
