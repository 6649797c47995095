"""The model that comes with the app is what the page says it is."""

import numpy as np
import pytest
import torch

from app import shipped
from app.figures import attention
from app.i18n import WORDS
from app.looking import look
from app.main import FIRST_HEAD, FIRST_INPUT
from core import InputError


def test_its_accuracy_is_what_its_file_says():
    ready = shipped.load()
    accuracy = shipped.held_out_accuracy(ready.model, ready.task)
    assert accuracy >= 0.99
    assert accuracy == pytest.approx(ready.accuracy, abs=1e-3)


def test_the_first_screen_shows_an_induction_head_fed_by_a_previous_token_head():
    seen = look(shipped.load(), FIRST_INPUT)
    layer, head = map(int, FIRST_HEAD.split("."))
    role, share = seen.role(layer, head)
    assert role == "induction" and share > 0.85
    assert any(seen.role(0, h)[0] == "previous" for h in range(4))


def test_the_model_it_was_trained_as_really_goes_on_with_a_repetition():
    ready = shipped.load()
    ids = torch.tensor(ready.task.read("q k d f m x a r q k d f m"))
    assert ready.task.show([int(ready.model(ids[None]).logits[0, -1].argmax())]) == ["x"]


def test_both_languages_have_the_same_words_with_the_same_blanks():
    assert WORDS["en"].keys() == WORDS["zh"].keys()
    blanks = {
        "head": "1.0",
        "share": 0.5,
        "layers": 2,
        "heads": 4,
        "parameters": 5,
        "accuracy": 1.0,
        "repeats": 8,
        "length": 16,
        "longest": 64,
    }
    for key in WORDS["en"]:
        assert WORDS["en"][key].format(**blanks) != WORDS["zh"][key].format(**blanks)


def test_figures_carry_the_numbers_and_the_tokens():
    seen = look(shipped.load(), "abcabc")
    figure = attention.one_head(seen.weights[1, 0], seen.tokens, WORDS["en"])
    np.testing.assert_array_equal(figure.data[0].z, seen.weights[1, 0])
    assert list(figure.layout.xaxis.ticktext) == list("abcabc")
    assert figure.layout.xaxis.title.text == WORDS["en"]["key"]
    assert len(attention.all_heads(seen.weights, (1, 0)).data) == 8


@pytest.mark.parametrize("text", ["", "   ", "a", "a1", "</script>", "中", "a" * 65])
def test_what_the_model_cannot_read_is_an_input_error(text):
    with pytest.raises(InputError):
        look(shipped.load(), text)
