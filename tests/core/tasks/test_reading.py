"""Text in, ids out: what people type is read or refused in a sentence, never a crash."""

from __future__ import annotations

import pytest
import torch

from core import InputError
from core.config.families import CONFIGS
from core.errors import ConfigError
from core.messages import Text
from core.tasks import DataError, task, tasks
from tests.words import chinese

HOSTILE = [
    "", "   ", "</script><script>alert(1)</script>", "😀😀", "x" * 10_000, "\x00\x01", "·", "<s>", "</s>",
    "\u202eabc", "a" * 10_000 + " b", "{person1.en}", "'s 's", "[CLS] [SEP] [MASK]", "999999999999999999999", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("name", tasks())
def test_own_problems_are_read_back(name):
    which = task(name)
    for seed in range(20):
        one = which.draw(1, torch.Generator().manual_seed(seed))
        row = one.target if name == "characters" else one.source
        ids = [i for i in row[0].tolist() if i]
        assert which.read(which.say(ids)) == ids


@pytest.mark.parametrize("name", tasks())
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_is_typed(name, text):
    which = task(name)
    try:
        ids = which.read(text)
    except InputError as error:
        assert isinstance(error, DataError)
        for said in (str(error), chinese(error)):
            assert 0 < len(said) < 300
        return
    assert ids and all(2 < i < which.vocab_size or name == "parity" for i in ids)
    which.solve(ids)


@pytest.mark.parametrize("name", tasks())
def test_help_in_both_languages(name):
    which = task(name)
    assert str(which.help) and chinese(which.help)
    for task_option in which.options():
        assert str(task_option.help).endswith(".") and chinese(task_option.help).endswith("。")
    assert all(isinstance(label, Text) and str(label) and chinese(label) for label in which.label_names)


@pytest.mark.parametrize("name", tasks())
def test_worked_examples(name):
    which = task(name)
    worked = which.example(3)
    assert worked.answer and (worked.problem or name == "characters")
    assert which.example(3) == which.example(3) and which.example(3) != which.example(4)


def test_a_worked_example_in_each_language():
    brackets = task("brackets")
    one = brackets.draw(1, torch.Generator().manual_seed(0))
    assert chinese(brackets.say_answer(one.source[0].tolist(), one)) in ("平衡", "不平衡")
    problem, answer = task("addition").example(0)
    assert eval(problem) == int(answer)


def test_who_meets_what():
    assert task("copy").suits("t5") == "lm" and task("copy").suits("bert") is None
    assert task("parity").suits("lstm") == "classifier"
    assert task("entities").heads("bert") == ["tagger", "crf"]
    assert task("masked words").families == task("next sentence").families == ["bert", "roformer"]
    assert task("questions").suits("roformer") == "qa" and task("nested names").suits("gru") == "pointer"
    assert task("characters").suits("transformer") is None and task("characters").suits("gpt") == "lm"


@pytest.mark.parametrize("name", tasks())
def test_options_are_the_family_s_own(name):
    which = task(name)
    assert which.families
    for family in CONFIGS:
        if which.suits(family):
            known = {option.name for option in CONFIGS[family].options()}
            assert set(which.model_options(family)) <= known
        else:
            with pytest.raises(ConfigError):
                which.model_options(family)


def test_a_head_the_task_does_not_have_is_refused():
    with pytest.raises(ConfigError, match="does not ask"):
        task("parity").model_options("bert", "mlm")
