"""Typed text becomes ids, or a `DataError` with one sentence; never another exception."""

from __future__ import annotations

import pytest
import torch

import core
from core import InputError
from core.config.families import CONFIGS
from core.errors import ConfigError
from core.tasks import DataError, tasks
from core.translatable import Text
from tests.words import chinese

HOSTILE = [
    "", "   ", "</script><script>alert(1)</script>", "😀😀", "x" * 10_000, "\x00\x01", "·", "<s>", "</s>",
    "\u202eabc", "a" * 10_000 + " b", "{person1.en}", "'s 's", "[CLS] [SEP] [MASK]", "999999999999999999999", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("name", tasks())
def test_own_problems_are_read_back(name):
    task = core.task(name)
    for seed in range(20):
        example = task.draw(1, torch.Generator().manual_seed(seed))
        row = example.target if name == "characters" else example.source
        ids = [i for i in row[0].tolist() if i]
        assert task.read(task.say(ids)) == ids


@pytest.mark.parametrize("name", tasks())
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text(name, text):
    task = core.task(name)
    try:
        ids = task.read(text)
    except InputError as error:
        assert isinstance(error, DataError)
        for message in (str(error), chinese(error)):
            assert 0 < len(message) < 300
        return
    assert ids and all(2 < i < task.vocab_size or name == "parity" for i in ids)
    task.solve(ids)


@pytest.mark.parametrize("name", tasks())
def test_help_in_both_languages(name):
    task = core.task(name)
    assert str(task.help) and chinese(task.help)
    for option in task.options():
        assert str(option.help).endswith(".") and chinese(option.help).endswith("。")
    assert all(isinstance(label, Text) and str(label) and chinese(label) for label in task.label_names)


@pytest.mark.parametrize("name", tasks())
def test_worked_examples(name):
    task = core.task(name)
    example = task.example(3)
    assert example.answer and (example.problem or name == "characters")
    assert task.example(3) == task.example(3) and task.example(3) != task.example(4)


def test_a_worked_example_in_each_language():
    brackets = core.task("brackets")
    example = brackets.draw(1, torch.Generator().manual_seed(0))
    assert chinese(brackets.answer_text(example.source[0].tolist(), example)) in ("平衡", "不平衡")
    problem, answer = core.task("addition").example(0)
    assert eval(problem) == int(answer)


def test_which_families_learn_which_task():
    assert core.task("copy").default_head("t5") == "lm" and core.task("copy").default_head("bert") is None
    assert core.task("parity").default_head("lstm") == "classifier"
    assert core.task("entities").heads("bert") == ["tagger", "crf"]
    assert core.task("masked words").families == core.task("next sentence").families == ["bert", "roformer"]
    assert (
        core.task("questions").default_head("roformer") == "qa"
        and core.task("nested names").default_head("gru") == "pointer"
    )
    assert (
        core.task("characters").default_head("transformer") is None
        and core.task("characters").default_head("gpt") == "lm"
    )


@pytest.mark.parametrize("name", tasks())
def test_options_are_the_family_s_own(name):
    task = core.task(name)
    assert task.families
    for family in CONFIGS:
        if task.default_head(family):
            known = {option.name for option in CONFIGS[family].options()}
            assert set(task.model_options(family)) <= known
        else:
            with pytest.raises(ConfigError):
                task.model_options(family)


def test_a_head_the_task_does_not_have_is_refused():
    with pytest.raises(ConfigError, match="does not ask"):
        core.task("parity").model_options("bert", "mlm")
