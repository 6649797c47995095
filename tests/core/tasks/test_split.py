"""Same seed, same batches; and training and evaluation problems are disjoint."""

from __future__ import annotations

import pytest
import torch

import core
from core.errors import ConfigError
from core.tasks import Task, tasks
from core.tasks.language.dates import match_date
from core.tasks.language.masked_words import SEP, unmask
from core.tasks.synthetic import copying
from tests.words import chinese

CASES = [(name, form) for name in tasks() for form in core.task(name).forms]


def problems(task: Task, examples) -> set[tuple[int, ...]]:
    """The part of each problem that decides its side of the split, without padding."""
    if task.name == "masked words":
        rows = [row[: row.index(SEP)] for row in unmask(examples).tolist()]
    elif task.name == "next sentence":
        rows = [row[: row.index(SEP)] for row in examples.source.tolist()]
    elif task.name == "characters":
        rows = examples.target.tolist()
    else:
        rows = examples.source.tolist()
    return {tuple(token for token in row if token) for row in rows}


@pytest.mark.parametrize(("name", "form"), CASES)
def test_same_seed_same_batch(name, form):
    def two_batches(seed):
        rng = torch.Generator().manual_seed(seed)
        return [core.task(name).batch(16, rng, form) for _ in range(2)]

    first, again, other = two_batches(1), two_batches(1), two_batches(2)
    for a, b in zip(first, again, strict=True):
        assert all(x.equal(y) for x, y in zip(a.inputs, b.inputs, strict=True)) and a.target.equal(b.target)
    assert not all(x.equal(y) for x, y in zip(first[0].inputs, other[0].inputs, strict=True))
    assert not all(x.equal(y) for x, y in zip(first[0].inputs, first[1].inputs, strict=True))


@pytest.mark.parametrize("name", tasks())
def test_nothing_evaluated_was_trained_on(name):
    task = core.task(name)
    rng = torch.Generator().manual_seed(3)
    training = set()
    for _ in range(40):
        training |= problems(task, task.gather(256, rng, held_out=False))
    evaluation = problems(task, task.evaluation(512))
    assert evaluation and not evaluation & training


@pytest.mark.parametrize("name", tasks())
def test_evaluation_is_always_the_same(name):
    first, again, other = (
        core.task(name).evaluation(64),
        core.task(name).evaluation(64),
        core.task(name).evaluation(64, seed=1),
    )
    assert first.source.equal(again.source) and first.target.equal(again.target)
    assert problems(core.task(name), first) != problems(core.task(name), other)


@pytest.mark.parametrize("name", tasks())
def test_the_curriculum_can_start_at_length_two(name):
    assert (
        len(core.task(name).batch(32, torch.Generator().manual_seed(0), core.task(name).forms[0], limit=2).lengths)
        == 32
    )


@pytest.mark.parametrize("name", ["parity", "copy", "reverse", "sort", "recall", "addition", "brackets"])
@pytest.mark.parametrize("stretch", [1, 4])
def test_evaluation_at_a_chosen_length(name, stretch):
    task = core.task(name)
    length = stretch * task.longest
    lengths = task.evaluation(32, length=length).source_lengths
    tokens = {"recall": length + 2, "addition": 2 * length + 1}.get(name, length)
    assert lengths.eq(tokens).all()
    for form in task.forms:
        batch = task.lay_out(task.evaluation(8, length=length), form)
        family = next(f for f in task.families if (f in ("t5", "seq2seq")) == (form == "pairs"))
        assert max(x.shape[1] for x in batch.inputs if x.dim() == 2) <= task.model_options(family)["max_len"]


def test_every_date_is_held_out_in_all_styles():
    task = core.task("dates")
    training = task.gather(4000, torch.Generator().manual_seed(0), held_out=False)
    evaluation = task.evaluation(500)
    assert not {tuple(r) for r in training.target.tolist()} & {tuple(r) for r in evaluation.target.tolist()}
    assert all(match_date(task.say([i for i in row if i])) for row in evaluation.source.tolist())


def test_modular_table_is_split_whole_and_without_mirror_images():
    task = core.task("modular addition", modulus=31, train_share=0.7)
    table = task.table()
    held_out = task.held_out(table)
    assert len(table) == 31 * 31
    assert held_out.view(31, 31).equal(held_out.view(31, 31).T)
    assert abs(held_out.float().mean() - 0.3) < 0.06


def test_too_few_problems_are_refused():
    with pytest.raises(ConfigError, match="too few"):
        core.task("copy", min_len=1, max_len=1, n_symbols=2).evaluation(4)


def test_a_length_without_held_out_problems_is_named():
    with pytest.raises(ConfigError, match=r"length = 1: .*kept for evaluation.* 12") as caught:
        core.task("copy", min_len=4, max_len=12).evaluation(4, length=1)
    assert "长度" in chinese(caught.value)


@pytest.mark.parametrize(
    ("n", "length", "message"),
    [
        (0, None, "n = 0"),
        (-1, None, "n = -1"),
        (True, None, "n = True"),
        (4, 0, "length = 0"),
        (4, -3, "length = -3"),
        (4, 2.5, "length = 2.5"),
    ],
)
def test_number_and_length_are_positive_integers(n, length, message):
    with pytest.raises(ConfigError, match=message):
        core.task("copy").evaluation(n, length=length)


def test_lengths_the_wrong_way_round_are_refused():
    with pytest.raises(ConfigError, match="min_len"):
        core.task("copy", min_len=9, max_len=5)


def test_problems_shuffled_in_chunks_are_the_same(monkeypatch):
    task = core.task("sort", unique=True, n_symbols=40)
    at_once, chunked = torch.Generator().manual_seed(0), torch.Generator().manual_seed(0)
    expected = task.draw(100, at_once)
    monkeypatch.setattr(copying, "SHUFFLE_CHUNK", 7)
    examples = task.draw(100, chunked)
    assert torch.equal(expected.source, examples.source) and torch.equal(expected.target, examples.target)
    assert torch.equal(at_once.get_state(), chunked.get_state())
