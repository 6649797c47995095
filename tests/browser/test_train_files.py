"""Files dropped on the Train tab: unusable ones are refused with a sentence beside the box, others uploaded once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Response, expect

from tests.browser.page_driver import page_state, wait_until
from tests.browser.train_tab import open_train

PAIRS = "".join(f'{{"source": "a b {i}", "target": "b a {i}"}}\n' for i in range(40))
INVALID = {  # file → its content, and the sentence in either language
    "empty.txt": (b"", r"empty|空"),
    "binary.txt": (bytes(range(256)) * 40, r"line 2\b|第 2 行"),  # the tenth byte is a newline
    "program.exe": (b"MZ" + b"\0" * 500, r"zero byte|零字节"),
    "latin.txt": (("so\nwie für\n" * 200).encode("latin-1"), r"line 2\b|第 2 行"),
    "chinese.txt": (("你好\n" * 400).encode("gb18030"), r"line 1\b|第 1 行"),
    "one_column.csv": (b"word\n" * 60, r"column|列"),
    "broken.jsonl": ((PAIRS + '{"source": "a", "target"\n').encode(), r"line 41\b|第 41 行"),
    "picture.png": (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, r"line 1\b|第 1 行"),
    "huge.txt": (b"a b c d e f\n" * (50_000_000 // 12 + 1), r"50(\.0)? MB"),
}


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_a_bad_file_is_answered_where_it_was_dropped(new_page, locale, tmp_path):
    page = open_train(new_page, locale=locale)
    problem = page.locator(".train-aside .drop + .problem")
    before = page_state(page, "JSON.stringify(s.state.recipe)")
    column, hero = (page.locator(place) for place in (".train-recipe", ".train-hero"))
    texts = column.inner_text(), hero.inner_text()
    for name, (data, sentence) in INVALID.items():
        path = tmp_path / name
        path.write_bytes(data)
        page.locator("#train-file").set_input_files(path)
        expect(problem).to_contain_text(name)
        expect(problem).to_contain_text(re.compile(sentence))
        sentence = problem.inner_text()
        assert bool(re.search("[\u4e00-\u9fff]", sentence)) == (locale == "zh-CN"), sentence
        assert page_state(page, "JSON.stringify(s.state.recipe)") == before and page_state(page, "!s.shown.file")
        assert column.inner_text().replace(sentence, "").split() == texts[0].split() and hero.inner_text() == texts[1]
        expect(page.locator(".problem:visible")).to_have_count(1)


def test_one_file_replaces_another_of_any_kind(new_page):
    page = open_train(new_page)
    text = "the cat sat on the mat and the dog lay by the door\n" * 60
    table = "text,label\n" + "".join(f"sunny {i},good\nrainy {i},bad\n" for i in range(30))
    longer = text + "a bird sang in the tree\n" * 30
    files = [("own.txt", text, "own text"), ("own.csv", table, "own labels"), ("b.txt", text, "own text"), ("c.txt", longer, "own text")]  # fmt: skip
    keys = []
    for name, content, task in files:
        page.locator("#train-file").set_input_files(
            {"name": name, "mimeType": "text/plain", "buffer": content.encode()}
        )
        expect(page.locator(".file-report")).to_contain_text(name)
        wait_until(page, f"s.state.recipe.task === '{task}' && s.shown.check && !s.shown.checking")
        keys.append(page_state(page, "s.shown.check.key"))
    assert keys[0] == keys[2] and len(set(keys)) == 3, "another file of the same kind is another run"
    assert "␣" in page.locator(".train-hero .answer-token").all_inner_texts()
    page.locator(".train-recipe .chip[data-value=copy]").click()
    expect(page.locator(".file-report")).to_be_hidden()
    page.locator(".train-recipe .chip[data-value='own text']").click()
    expect(page.locator(".file-report")).to_contain_text("c.txt")
    page.reload()  # the file is not stored
    expect(page.locator(".train")).to_be_visible(timeout=40_000)
    wait_until(page, "s.state.recipe.task === 'parity' && s.shown.check && !s.shown.checking")


def test_a_file_is_sent_once_and_again_only_if_it_was_forgotten(new_page, tmp_path):
    page, path = open_train(new_page), tmp_path / "mine.jsonl"
    path.write_text(PAIRS)

    def checked_by(answer: Response, part: str) -> bool:
        return "/train/check" in answer.url and part in answer.request.post_data_json.get("file", {})

    with page.expect_response(lambda answer: checked_by(answer, "digest")) as known:
        page.locator("#train-file").set_input_files(path)
    assert "x-refused" not in known.value.headers and "text" not in known.value.request.post_data_json["file"]
    page.evaluate("async () => { (await import('/ours/js/store.js')).shown.file.task.digest = '0'.repeat(24); }")
    with page.expect_response(lambda answer: checked_by(answer, "text")) as whole:
        page.locator("#train-seed").fill("3")
    assert "x-refused" not in whole.value.headers
