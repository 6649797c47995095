"""Messages and their translations: `words.py` extracts and merges, `words.py --check` says what is missing or stale.

Messages are the literals in calls of `KEYWORDS` in core and app (Babel extracts them). Each catalogue
`static/locales/<language>/LC_MESSAGES/innerview.po` gets the new ones, untranslated, and loses those no longer used.
"""

from __future__ import annotations

import ast
import string
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parents[1]
ERRORS = ("InputError", "DataError", "PretrainedError", "KeyMapError", "HubUnreachable", "NotReadyError")
KEYWORDS: dict[str, tuple[Any, ...] | None] = {
    "Text": None,
    "Format": None,
    "Term": ((1, "c"), 2),
    "plural_text": (1, 2),
    "word": None,
    **dict.fromkeys(ERRORS),
}
HEADER = "# Translations of InnerView. Written by hand; `make words` adds new messages and removes unused ones.\n#"


def extract() -> Catalog:
    messages = Catalog(project="InnerView", header_comment=HEADER)
    for folder in ("core", "app"):
        found = extract_from_dir(ROOT / folder, [("**.py", "python")], keywords=KEYWORDS)
        for path, _, message, _, context in sorted(found, key=lambda one: (one[0], one[1])):
            messages.add(message, locations=[(f"{folder}/{path}", 0)], context=context)
    return messages


def catalogues() -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / "static/locales").glob("*/LC_MESSAGES/innerview.po")):
        yield path.parents[1].name, path


def read(path: Path, language: str) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=language)


def merged(messages: Catalog, known: Catalog, language: str) -> bytes:
    """The catalogue as the sources want it: no date, no line numbers, so that it changes only when a message does."""
    catalogue = Catalog(locale=language, project="InnerView", header_comment=HEADER, fuzzy=False)
    for message in messages:
        if message.id:
            old = known.get(message.id, message.context)
            files = sorted({(file, None) for file, _ in message.locations})
            catalogue.add(message.id, old.string if old else None, locations=files, context=message.context)
    out = BytesIO()
    write_po(out, catalogue, width=120, omit_header=True, include_lineno=False)
    plural = "nplurals=1; plural=0;" if language == "zh" else str(catalogue.plural_forms)
    head = (
        f'{HEADER}\nmsgid ""\nmsgstr ""\n"Language: {language}\\n"\n'
        f'"Content-Type: text/plain; charset=utf-8\\n"\n"Plural-Forms: {plural}\\n"\n\n'
    )
    return head.encode() + out.getvalue()


def problems(messages: Catalog) -> Iterator[str]:
    yield from not_extracted(messages)
    for language, path in catalogues():
        known = read(path, language)
        for message in messages:
            if message.id:
                yield from wrong(message, known.get(message.id, message.context), language)
        if path.read_bytes() != merged(messages, known, language):
            yield f"{path.relative_to(ROOT)} is out of date: run `make words`"


def wrong(message: Message, translated: Message | None, language: str) -> Iterator[str]:
    ids = message.id if isinstance(message.id, tuple) else (message.id,)
    strings = (translated.string if translated else None) or ""
    strings = strings if isinstance(strings, tuple) else (strings,)
    if not all(strings):
        yield f"{language}: no translation of {ids[0]!r} ({message.locations[0][0]})"
        return
    for text in strings:
        if fields(text) != fields(ids[-1]):
            yield f"{language}: {ids[0]!r} and its translation have other fields: {fields(ids[-1])}, {fields(text)}"


def fields(text: str) -> set[str]:
    """The names in `{named:.2f}` fields; a message without values may hold braces that are none."""
    try:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}
    except ValueError:
        return set()


def not_extracted(messages: Catalog) -> Iterator[str]:
    """Calls whose message Babel does not see: it is no literal, or it stands where Babel does not look."""
    for path in sorted([*ROOT.glob("core/**/*.py"), *ROOT.glob("app/**/*.py")]):
        where = path.relative_to(ROOT).as_posix()
        if where in ("core/translatable.py", "core/errors.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = ast.unparse(node.func).split(".")[-1] if isinstance(node, ast.Call) and node.args else None
            if name not in KEYWORDS or name == "Term":
                continue
            first = node.args[0]
            literal = isinstance(first, ast.Constant) and isinstance(first.value, str)
            if literal and first.value not in messages:
                yield f"{where}:{node.lineno}: {first.value!r} is not found by Babel; give it a line of its own"
            if not literal and name not in ERRORS:
                yield f"{where}:{node.lineno}: the message of {ast.unparse(node)[:60]} is no literal"


def main() -> None:
    messages = extract()
    if "--check" in sys.argv:
        found = list(problems(messages))
        print("\n".join(found) or f"{sum(bool(m.id) for m in messages)} messages, all translated")
        sys.exit(bool(found))
    for language, path in catalogues():
        path.write_bytes(merged(messages, read(path, language), language))
        missing = sum(bool(list(wrong(m, read(path, language).get(m.id), language))) for m in messages if m.id)
        print(f"{path.relative_to(ROOT)}: {missing} messages without translation")


if __name__ == "__main__":
    main()
