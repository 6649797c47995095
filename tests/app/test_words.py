"""The page's words exist in both languages, and every word the scripts use exists."""

import json
import re
import string
from pathlib import Path

from app.i18n import LOCALES, WORDS

JS = Path(__file__).resolve().parents[2] / "static/js"
USED = re.compile(r'(?<![.\w])(?:say|has)\("([\w.\-]+)"')


def fields(text: str) -> set[tuple[str, str]]:
    return {(name, mark) for _, name, mark, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_words_with_the_same_fields():
    assert WORDS["en"].keys() == WORDS["zh"].keys()
    for key, text in WORDS["en"].items():
        assert text.strip() and WORDS["zh"][key].strip(), key
        assert fields(text) == fields(WORDS["zh"][key]), key
        assert text.count("**") == WORDS["zh"][key].count("**"), key


def test_no_word_stands_in_two_files():
    for folder in LOCALES.iterdir():
        parts = [json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")]
        assert sum(map(len, parts)) == len(WORDS[folder.name]), folder.name


def test_every_word_the_scripts_use_exists():
    used = {key for path in JS.glob("*.js") for key in USED.findall(path.read_text("utf-8"))}
    assert used and used <= WORDS["en"].keys(), used - WORDS["en"].keys()
