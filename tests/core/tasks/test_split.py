"""Same seed, same batches; and nothing that is evaluated was ever trained on."""

from __future__ import annotations

import pytest
import torch

from core.errors import ConfigError
from core.tasks import Task, task, tasks
from core.tasks.language.dates import recognise
from core.tasks.language.masked_words import SEP, original
from core.tasks.synthetic import copying
from tests.words import chinese

CASES = [(name, form) for name in tasks() for form in task(name).forms]


def problems(which: Task, examples) -> set[tuple[int, ...]]:
    """What identifies each problem, without padding."""
    if which.name == "masked words":
        rows = [row[: row.index(SEP)] for row in original(examples).tolist()]
    elif which.name == "next sentence":
        rows = [row[: row.index(SEP)] for row in examples.source.tolist()]
    elif which.name == "characters":
        rows = examples.target.tolist()
    else:
        rows = examples.source.tolist()
    return {tuple(token for token in row if token) for row in rows}


@pytest.mark.parametrize(("name", "form"), CASES)
def test_same_seed_same_batch(name, form):
    def two(seed):
        rng = torch.Generator().manual_seed(seed)
        return [task(name).batch(16, rng, form) for _ in range(2)]

    first, again, other = two(1), two(1), two(2)
    for a, b in zip(first, again, strict=True):
        assert all(x.equal(y) for x, y in zip(a.inputs, b.inputs, strict=True)) and a.target.equal(b.target)
    assert not all(x.equal(y) for x, y in zip(first[0].inputs, other[0].inputs, strict=True))
    assert not all(x.equal(y) for x, y in zip(first[0].inputs, first[1].inputs, strict=True))


@pytest.mark.parametrize("name", tasks())
def test_nothing_evaluated_was_trained_on(name):
    which = task(name)
    rng = torch.Generator().manual_seed(3)
    trained = set()
    for _ in range(40):
        trained |= problems(which, which.gather(256, rng, held_out=False))
    evaluated = problems(which, which.evaluation(512))
    assert evaluated and not evaluated & trained


@pytest.mark.parametrize("name", tasks())
def test_evaluation_is_always_the_same(name):
    first, again, other = task(name).evaluation(64), task(name).evaluation(64), task(name).evaluation(64, seed=1)
    assert first.source.equal(again.source) and first.target.equal(again.target)
    assert problems(task(name), first) != problems(task(name), other)


@pytest.mark.parametrize("name", tasks())
def test_the_curriculum_can_start_at_length_two(name):
    assert len(task(name).batch(32, torch.Generator().manual_seed(0), task(name).forms[0], limit=2).lengths) == 32


@pytest.mark.parametrize("name", ["parity", "copy", "reverse", "sort", "recall", "addition", "brackets"])
@pytest.mark.parametrize("stretch", [1, 4])
def test_evaluation_at_a_chosen_length(name, stretch):
    which = task(name)
    length = stretch * which.longest
    lengths = which.evaluation(32, length=length).source_lengths
    whole = {"recall": length + 2, "addition": 2 * length + 1}.get(name, length)
    assert lengths.eq(whole).all()
    for form in which.forms:
        batch = which.lay_out(which.evaluation(8, length=length), form)
        family = next(f for f in which.families if (f in ("t5", "seq2seq")) == (form == "pairs"))
        assert max(x.shape[1] for x in batch.inputs if x.dim() == 2) <= which.model_options(family)["max_len"]


def test_every_date_is_held_out_in_all_styles():
    which = task("dates")
    trained = which.gather(4000, torch.Generator().manual_seed(0), held_out=False)
    kept = which.evaluation(500)
    assert not {tuple(r) for r in trained.target.tolist()} & {tuple(r) for r in kept.target.tolist()}
    assert all(recognise(which.say([i for i in row if i])) for row in kept.source.tolist())


def test_modular_table_is_split_whole_and_without_mirror_images():
    which = task("modular addition", modulus=31, train_share=0.7)
    table = which.table()
    held = which.held_out(table)
    assert len(table) == 31 * 31
    assert held.view(31, 31).equal(held.view(31, 31).T)
    assert abs(held.float().mean() - 0.3) < 0.06


def test_too_few_problems_are_refused():
    with pytest.raises(ConfigError, match="too few"):
        task("copy", min_len=1, max_len=1, n_symbols=2).evaluation(4)


def test_a_length_without_held_out_problems_is_named():
    with pytest.raises(ConfigError, match=r"length = 1: .*kept for evaluation.* 12") as refused:
        task("copy", min_len=4, max_len=12).evaluation(4, length=1)
    assert "长度" in chinese(refused.value)


@pytest.mark.parametrize(
    ("n", "length", "named"),
    [
        (0, None, "n = 0"),
        (-1, None, "n = -1"),
        (True, None, "n = True"),
        (4, 0, "length = 0"),
        (4, -3, "length = -3"),
        (4, 2.5, "length = 2.5"),
    ],
)
def test_how_many_and_how_long_are_whole_numbers(n, length, named):
    with pytest.raises(ConfigError, match=named):
        task("copy").evaluation(n, length=length)


def test_lengths_the_wrong_way_round_are_refused():
    with pytest.raises(ConfigError, match="min_len"):
        task("copy", min_len=9, max_len=5)


def test_problems_shuffled_a_few_at_a_time_are_the_same(monkeypatch):
    which = task("sort", unique=True, n_symbols=40)
    whole, parts = torch.Generator().manual_seed(0), torch.Generator().manual_seed(0)
    drawn = which.draw(100, whole)
    monkeypatch.setattr(copying, "SHUFFLED", 7)
    again = which.draw(100, parts)
    assert torch.equal(drawn.source, again.source) and torch.equal(drawn.target, again.target)
    assert torch.equal(whole.get_state(), parts.get_state())
