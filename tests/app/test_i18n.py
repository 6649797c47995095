"""Translations: a language is one catalogue file, and the check that `make lint` runs finds what is wrong in one."""

import importlib.util
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

import core
from app import i18n
from core.translatable import Text, join_texts, plural_text, text_hook, verbatim

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("words", ROOT / ".ci/words.py")
words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(words)


def pseudo(message: str) -> str:
    """⟦Ţhé ínput⟧: every letter outside of {fields} changed, as no real language would."""
    accented = str.maketrans("aeiouAEIOUT", "áéíóúÁÉÍÓÚŢ")
    try:
        parts = list(string.Formatter().parse(message))
    except ValueError:  # braces that are no fields
        return f"⟦{message}⟧"
    field = lambda name, mark, cast: f"{{{name}{'!' + cast if cast else ''}{':' + mark if mark else ''}}}"  # noqa: E731
    plain = lambda text: text.replace("{", "{{").replace("}", "}}").translate(accented)  # noqa: E731
    return (
        "⟦"
        + "".join(plain(text) + (field(name, mark, cast) if name else "") for text, name, mark, cast in parts)
        + "⟧"
    )


@pytest.fixture(scope="module")
def messages() -> Catalog:
    """All messages in the code."""
    return words.extract()


@pytest.fixture(scope="module")
def locales(messages, tmp_path_factory) -> Path:
    """A folder of locales with one file more: a pseudo-language that has every message."""
    folder = tmp_path_factory.mktemp("locales")
    for language, path in words.catalogues():
        copied = folder / language / i18n.CATALOGUE
        copied.parent.mkdir(parents=True)
        copied.write_bytes(path.read_bytes())
    catalogue = Catalog(locale="eo", header_comment="")
    for message in messages:
        if message.id:
            ids = message.id if isinstance(message.id, tuple) else (message.id,)
            strings = tuple(map(pseudo, ids))
            catalogue.add(message.id, strings if len(strings) > 1 else strings[0])
    path = folder / "eo" / i18n.CATALOGUE
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        write_po(file, catalogue)
    return folder


def test_a_language_is_one_file(locales, monkeypatch):
    translations = i18n.load_translations(locales)
    assert list(translations) == ["en", "eo", "zh"]
    monkeypatch.setattr(i18n, "TRANSLATIONS", translations)
    with pytest.raises(core.ConfigError) as refused:
        core.build("gpt", n_heads=3, d_model=64)
    said = i18n.in_all_languages(refused.value.text)
    assert set(said) == {"en", "eo", "zh"} and len(set(said.values())) == 3
    assert said["eo"].startswith("⟦n_heads = 3: ⟦d_módél = 64")
    for option in core.configure("gpt").options():
        assert i18n.translate(option.help, "eo").startswith("⟦")


def test_texts_are_translated_with_all_that_is_in_them():
    heads = Text("head"), Text("decoder cross-attention head")
    listed = Text("Choose one of: {known}.", known=["a", heads[0]])
    assert str(listed) == "Choose one of: a, head."
    assert i18n.translate(listed, "zh") == f"请选择其一：a、{i18n.translate(heads[0], 'zh')}。"
    assert i18n.translate(verbatim("Text {x} & <b>"), "zh") == "Text {x} & <b>"
    assert str(join_texts(heads, " | ")) == "head | decoder cross-attention head"
    message = "there is only {n} different example; at least {most} are needed."
    messages = "there are {n} different examples; at least {most} are needed."
    few = [plural_text(message, messages, n=n, most=10) for n in (1, 2)]
    assert ["is only 1 different example;" in str(few[0]), "are 2 different examples;" in str(few[1])] == [True, True]
    assert "1" in i18n.translate(few[0], "zh") and i18n.translate(few[0], "zh") != str(few[0])
    for text in (listed, *few, heads[0]):
        assert text_hook(text.to_dict()) == text and str(text_hook(text.to_dict())) == str(text)


@pytest.fixture
def problems_of(messages, monkeypatch, tmp_path) -> Callable[[Callable[[str], str]], list[str]]:
    """The problems of the Chinese catalogue after a change of its text."""
    path = tmp_path / "static/locales/zh" / i18n.CATALOGUE
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(words, "ROOT", tmp_path)

    def check(change: Callable[[str], str]) -> list[str]:
        path.write_text(change((ROOT / "static/locales/zh" / i18n.CATALOGUE).read_text("utf-8")), "utf-8")
        return list(words.problems(messages))

    return check


def test_the_catalogue_is_complete(problems_of):
    assert problems_of(str) == []


def test_a_missing_translation_is_found(problems_of):
    found = problems_of(lambda text: text.replace('msgstr "请裁剪梯度：clip = 1。"', 'msgstr ""'))
    assert len(found) == 1 and "no translation of 'Clip it: clip = 1.'" in found[0]


def test_a_stale_catalogue_is_found(problems_of):
    stale = problems_of(lambda text: text + '\nmsgid "Nothing says this."\nmsgstr "没有人说。"\n')
    assert len(stale) == 1 and "out of date" in stale[0]


def test_other_fields_are_found(problems_of):
    wrong = problems_of(
        lambda text: text.replace("请在 {low} 到 {high} 之间选择。", "请在 {low} 到 {top} 之间选择。"),
    )
    assert len(wrong) == 1 and "other fields" in wrong[0]
