"""Structured predictions: tag sequences under transition constraints (CRF), and nested spans (GlobalPointer)."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torchcrf import CRF

import core
from core.layers.task_heads.crf import Crf
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.tasks.layouts import decode_spans

NEVER = -1e6


def bio(before: int | None, tag: int) -> bool:
    return core.task("entities").may_follow(before, tag)


def test_i_tags_go_on_from_their_own_kind_only():
    names = [str(name) for name in core.task("entities").label_names]
    for tag, name in enumerate(names):
        for before, old in [(None, "O"), *enumerate(names)]:
            assert bio(before, tag) == (not name.startswith("I-") or old in (name, f"B-{name[2:]}")), (old, name)


def test_no_right_answer_is_ruled_out():
    task = core.task("entities")
    examples = task.draw(3000, torch.Generator().manual_seed(0))
    for tags, length in zip(examples.target.tolist(), examples.source_lengths.tolist(), strict=True):
        assert all(bio(a, b) for a, b in pairwise([None, *tags[:length]]))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_allowed_path_is_pytorch_crfs_with_the_rest_made_impossible(seed):
    torch.manual_seed(seed)
    ours, theirs = Crf(9), CRF(9, batch_first=True)
    emissions, mask = 3 * torch.randn(20, 8, 9), torch.arange(8) < torch.randint(1, 9, (20, 1))
    with torch.no_grad():
        for name in ("start", "end", "transition"):
            getattr(ours, name).normal_()
        forbidden = torch.tensor([[NEVER * (not bio(b, t)) for t in range(9)] for b in (None, *range(9))])
        theirs.start_transitions.copy_(ours.start + forbidden[0])
        theirs.transitions.copy_(ours.transition + forbidden[1:])
        theirs.end_transitions.copy_(ours.end)
    free = ours.decode(emissions, mask)
    likelihood = ours.log_likelihood(emissions, torch.zeros(20, 8, dtype=torch.long), mask)
    ours.constrain(bio)
    paths = ours.decode(emissions, mask)
    assert paths == theirs.decode(emissions, mask) != free
    assert all(bio(a, b) for path in paths for a, b in pairwise([None, *path]))
    same = ours.log_likelihood(emissions, torch.zeros(20, 8, dtype=torch.long), mask)
    assert torch.equal(likelihood, same), "the likelihood is not constrained"


@pytest.mark.parametrize("family", ["lstm", "bert", "gpt"])
def test_even_an_untrained_crf_answers_nothing_impossible(family):
    """The trainer sets the constraints of any model with such a head."""
    run = Run(make_recipe(family, "entities", model={"head": "crf"}, training={"steps": 1}))
    batch = run.task.lay_out(run.task.evaluation(200), "tags")
    with torch.no_grad():
        logits = 10 * torch.randn(*batch.target.shape, 9)
    paths = run.model.head.predict(logits, batch.lengths)
    assert all(bio(a, b) for path in paths for a, b in pairwise([None, *path]))
    assert {tag for path in paths for tag in path} == set(range(9))


def test_the_constraints_are_part_of_the_state():
    run = Run(make_recipe("lstm", "entities", model={"head": "crf"}, training={"steps": 1}))
    logits, state = 10 * torch.randn(50, 8, 9), run.model.state_dict()
    copy = core.build(run.model.config)
    copy.load_state_dict(state)
    assert copy.head.predict(logits) == run.model.head.predict(logits)
    copy.load_state_dict(core.build(run.model.config).state_dict())  # of a model without constraints
    assert not copy.head.crf.first.any() and not copy.head.crf.next.any()


def test_a_state_without_constraints_leaves_them_alone():
    run = Run(make_recipe("lstm", "entities", model={"head": "crf"}, training={"steps": 1}))
    earlier = {name: value for name, value in run.model.state_dict().items() if "first" not in name}
    del earlier["head.crf.next"]
    free, forbidden = core.build(run.model.config), run.model.head.crf.next.clone()
    for model in (free, run.model):
        model.load_state_dict(earlier)
    assert not free.head.crf.next.any() and run.model.head.crf.next.equal(forbidden) and forbidden.isneginf().any()


def spans_of(numbers: torch.Tensor) -> set[tuple[int, int, int]]:
    return set(zip(*(part.tolist() for part in decode_spans(numbers[numbers > 0])), strict=True))


def most_disjoint(spans: set[tuple[int, int, int]]) -> int:
    """The greatest number of disjoint spans: a tagger, with one tag per word, can mark no more."""
    count, free_from = 0, 0
    for _, start, end in sorted(spans, key=lambda span: span[2]):
        if start >= free_from:
            count, free_from = count + 1, end + 1
    return count


def test_most_disjoint_on_cases_done_by_hand():
    assert most_disjoint({(0, 0, 4), (1, 1, 3), (2, 2, 2), (0, 6, 7)}) == 2
    assert most_disjoint(set()) == 0 and most_disjoint({(0, 0, 1), (1, 2, 3), (0, 3, 5)}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_global_pointer_finds_nested_names_that_no_tagger_could(seed):
    run = Run(core.recipe("bert", "nested names"), seed)
    for _ in run.train():
        pass
    run.model.eval()
    examples = run.task.evaluation(500)
    batch = run.task.lay_out(examples, "spans")
    with torch.no_grad():
        answers = run.model.head.predict(run.model(*batch.inputs).logits, batch.lengths)
    total, correct, reachable, exact, nested = 0, 0, 0, 0, 0
    for target, answer in zip(examples.target, answers, strict=True):
        spans = spans_of(target)
        total, correct = total + len(spans), correct + len(spans & set(answer))
        reachable += most_disjoint(spans)
        if most_disjoint(spans) < len(spans):
            nested, exact = nested + 1, exact + (set(answer) == spans)
    assert nested > 200, "most sentences have names within names"
    assert reachable / total < 0.75 and correct / total > 0.95
    assert exact / nested > 0.85, "all names of a sentence and nothing else, where a tagger gets none right"
