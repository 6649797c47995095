"""Every task in every form it names can be trained on, by every kind of model that suits it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch

import core
from core.config.families import CONFIGS
from core.tasks import Task, tasks
from core.tasks.base import ENCODER_DECODERS, FORMS
from core.tasks.custom.custom_task import custom_task
from core.training import train
from core.training.loop import count_correct
from core.translatable import Text
from tests.words import chinese

SIZES = {"n_layers": 1, "d_embed": 8, "d_hidden": 8, "d_model": 16, "n_heads": 2, "d_ff": 16}
CASES = [
    (name, family, head)
    for name in tasks()
    for family in ("gru", "seq2seq", "bert", "gpt", "t5")
    for head in core.task(name).heads(family)
]


def small_model(task: Task, family: str, head: str | None = None) -> torch.nn.Module:
    torch.manual_seed(0)
    known = {option.name for option in CONFIGS[family].options()}
    sizes = {name: size for name, size in SIZES.items() if name in known}
    return core.build(family, **sizes, **task.model_options(family, head))


def test_all_forms_are_covered():
    covered = {"pairs" if family in ENCODER_DECODERS else FORMS[head] for _, family, head in CASES}
    assert covered == {form for name in tasks() for form in core.task(name).forms}
    for name in tasks():
        forms = {"pairs" if f in ENCODER_DECODERS else FORMS[h] for n, f, h in CASES if n == name}
        assert forms == set(core.task(name).forms)


@pytest.mark.parametrize(("name", "family", "head"), CASES)
def test_three_steps(name, family, head):
    task = core.task(name)
    model = small_model(task, family, head)
    for step in train(model, task, steps=3, batch_size=8):
        assert math.isfinite(step.loss) and 0 <= step.accuracy <= 1
    batch = task.lay_out(task.evaluation(16), task.form(model))
    with torch.no_grad():
        correct, total = count_correct(model, model(*batch.inputs).logits, batch)
    assert 0 <= correct <= total


def test_a_tasks_name_is_as_good_as_the_task():
    by_name, by_task = (
        list(train(small_model(core.task("parity"), "gru"), task, steps=2))
        for task in ("parity", core.task("parity"))
    )
    assert by_name == by_task
    with pytest.raises(core.ConfigError, match="Did you mean parity"):
        train(small_model(core.task("parity"), "gru"), "paritty")
    with pytest.raises(core.ConfigError, match=r"task = None.*not a task"):
        train(small_model(core.task("parity"), "gru"), None)


@pytest.mark.parametrize("samples", [None, 16])
def test_one_example_at_a_time(samples):
    for name in tasks():
        task = core.task(name)
        model = small_model(task, task.families[0])
        assert all(math.isfinite(step.loss) for step in train(model, task, steps=4, batch_size=1, samples=samples))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "".join(f"Line {i}.\n" for i in range(200))),
        ("a.csv", "source,target\n" + "".join(f"n {i},m {i}\n" for i in range(40))),
        ("a.csv", "text,label\n" + "".join(f"n {i},{i % 3}\n" for i in range(40))),
        ("a.csv", "tokens,tags\n" + "".join(f"n w{i},O T{i % 3}\n" for i in range(40))),
    ],
)
def test_custom_files(name, content):
    task = custom_task(name, content.encode())
    for family in task.families:
        for head in task.heads(family):
            model = small_model(task, family, head)
            steps = list(train(model, task, steps=3, batch_size=8, curriculum=True))
            assert all(math.isfinite(step.loss) for step in steps)


def test_scores_of_heads_with_answers_of_their_own():
    """A perfect answer scores fully: CRF paths, spans, and start and end."""
    task = core.task("nested names")
    model, batch = small_model(task, "bert"), task.lay_out(task.evaluation(8), "spans")
    correct, total = count_correct(model, torch.where(batch.target, 1.0, -1.0), batch)
    assert correct == total == int(batch.target.sum())
    assert count_correct(model, torch.full(batch.target.shape, -1.0), batch) == (0.0, total)

    task = core.task("questions")
    model, batch = small_model(task, "bert"), task.lay_out(task.evaluation(8), "answer")
    perfect = torch.nn.functional.one_hot(batch.target, batch.inputs[0].shape[1]).float() * 9
    assert count_correct(model, perfect, batch) == (16.0, 16)

    task = core.task("entities")
    model, batch = small_model(task, "bert", "crf"), task.lay_out(task.evaluation(8), "tags")
    perfect = torch.nn.functional.one_hot(batch.target.clamp(min=0), task.n_labels).float() * 99
    assert count_correct(model, perfect, batch) == (float(batch.lengths.sum()), int(batch.lengths.sum()))


def test_next_sentences_are_learnt_with_the_words():
    """The second loss reaches the pooler, which the masked words alone do not."""
    task = core.task("masked words")
    model = small_model(task, "bert")
    before = model.pooler.weight.detach().clone()
    list(train(model, task, steps=1, batch_size=8))
    assert not model.pooler.weight.equal(before)


def build_model(family: str, task: Task, **options) -> torch.nn.Module:
    known = {option.name for option in CONFIGS[family].options()}
    sizes = {name: size for name, size in SIZES.items() if name in known}
    required = task.model_options(family) if task.default_head(family) else {}
    return core.build(family, **{**sizes, **required, **options})


@pytest.mark.parametrize(
    ("name", "family", "options", "message"),
    [
        ("copy", "gpt", {"head": "none"}, "head = 'none'.*head='lm'"),
        ("copy", "bert", {}, "head = 'mlm'.*transformer"),
        ("parity", "t5", {}, "family = 't5'.*lstm"),
        ("masked words", "bert", {"pooler": "none"}, "pooler = 'none'.*follows"),
        ("masked words", "bert", {"next_sentence": False}, "next_sentence = False.*follows"),
        ("masked words", "bert", {"n_segments": 1}, "n_segments = 1"),
        ("recall", "lstm", {"n_labels": 2}, "n_labels = 2"),
        ("entities", "gru", {"head": "crf", "n_labels": 2}, "n_labels = 2"),
        ("nested names", "bert", {"n_labels": 99}, "n_labels = 99"),
        ("copy", "t5", {"vocab_size": 18}, "vocab_size = 18.*19"),
        ("copy", "transformer", {"max_len": 12}, "max_len = 12.*13"),
        ("copy", "gpt", {"max_len": 24}, "max_len = 24.*25"),
        ("dates", "seq2seq", {"max_len": 28}, "max_len = 28.*29"),
    ],
)
def test_a_model_that_was_not_made_for_the_task_is_refused_before_the_first_step(name, family, options, message):
    task = core.task(name)
    model = build_model(family, task, **options)
    with pytest.raises(core.ConfigError, match=message) as caught:
        train(model, task)
    assert chinese(caught.value) != str(caught.value)
    if family in task.families:
        with pytest.raises(core.ConfigError):
            core.Run(core.Recipe(model.config, task, core.Training()))


def test_what_just_fits_is_taken():
    for name, family, options in [
        ("copy", "transformer", {"max_len": 13}), ("copy", "gpt", {"max_len": 25}), ("recall", "lstm", {"n_labels": 99}),
        ("dates", "seq2seq", {"max_len": 29}), ("entities", "gru", {"head": "crf", "n_labels": 30}),
        ("masked words", "bert", {"n_segments": 0}),
    ]:  # fmt: skip
        task = core.task(name)
        for step in train(build_model(family, task, **options), task, steps=3, batch_size=32):
            assert math.isfinite(step.loss)


@pytest.mark.parametrize("model", [core.build("gpt", device="meta"), torch.nn.Linear(2, 2)])
def test_a_model_without_numbers_or_not_of_ours_is_refused(model):
    with pytest.raises(core.InputError, match=r"meta|core\.build"):
        core.task("copy").form(model)


@dataclass(frozen=True, kw_only=True)
class Unfinished(Task):
    name = "unfinished"
    help = Text("Nothing yet.")
    forms = ("label",)


@pytest.mark.parametrize("missing", ["tokens", "longest", "draw"])
def test_a_task_says_what_it_must_define(missing):
    rest = {"tokens": ["·", "<s>", "a"], "longest": 4, "draw": None}
    task = type("Rest", (Unfinished,), {name: part for name, part in rest.items() if name != missing})()
    with pytest.raises(NotImplementedError, match=rf"task unfinished \(Rest\) must define `{missing}`: \w+"):
        task.draw(1, torch.Generator()) if missing == "draw" else task.model_options("gpt")
