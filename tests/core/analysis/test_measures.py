"""Measures of attention on hand-made patterns, and parameter counts."""

import math

import numpy as np
import pytest
import torch

import core
from core.analysis import measures


def attending_to(keys: list[int], n: int) -> torch.Tensor:
    """(1, query, key): query i puts all its weight on keys[i]"""
    return torch.eye(n)[torch.tensor(keys)][None]


def test_heads_with_one_role():
    previous = attending_to([0, 0, 1, 2, 3], 5)
    assert measures.previous_token(previous).item() == 1
    assert measures.entropy(previous).item() == pytest.approx(0, abs=1e-6)
    assert measures.distance(previous).item() == pytest.approx(4 / 5)
    assert measures.first_token(attending_to([0] * 5, 5)).item() == 1
    assert measures.own_token(attending_to([0, 1, 2, 3, 4], 5)).item() == 1


def test_entropy_of_a_uniform_head_is_the_logarithm():
    assert measures.entropy(torch.full((2, 4, 8), 1 / 8)).tolist() == pytest.approx([3, 3])


def test_normalised_entropy_is_relative_to_the_allowed_keys():
    allowed = torch.ones(4, 4).tril().bool()
    uniform = allowed / allowed.sum(-1, keepdim=True)
    assert measures.normalised_entropy(uniform, allowed)[1:].tolist() == pytest.approx([1, 1, 1])
    assert measures.normalised_entropy(torch.eye(4), allowed)[1:].tolist() == pytest.approx([0, 0, 0], abs=1e-6)
    assert measures.normalised_entropy(uniform, allowed)[0].isnan(), "one key: no choice"


def test_induction_is_the_weight_on_what_followed_before():
    ids = torch.tensor([7, 5, 9, 7, 5, 9])  # queries 3, 4, 5 have an earlier self at 0, 1, 2
    perfect = attending_to([0, 0, 0, 1, 2, 3], 6)
    assert measures.induction(perfect, ids).item() == 1
    half = perfect.clone()
    half[0, 4] = 0
    half[0, 4, 0] = 1
    assert measures.induction(half, ids).item() == pytest.approx(2 / 3)
    assert measures.induction(perfect, torch.arange(6)).item() == 0  # nothing repeats


def test_induction_counts_every_earlier_occurrence():
    ids = torch.tensor([0, 1, 2, 3] * 3)
    after = [[k for k in range(q) if k and ids[k - 1] == ids[q]] for q in range(12)]  # by hand: what followed before
    assert after[:5] == [[], [], [], [], [1]] and after[9] == [2, 6]
    spread = torch.zeros(1, 12, 12)
    for query, keys in enumerate(after):
        spread[0, query, keys or [0]] = 1 / max(1, len(keys))
    assert measures.induction(spread, ids).item() == pytest.approx(1)
    last = attending_to([max(keys, default=0) for keys in after], 12)
    first = attending_to([min(keys, default=0) for keys in after], 12)
    assert measures.induction(last, ids).item() == measures.induction(first, ids).item() == 1
    marks = measures.induction_targets(ids)
    assert [row.nonzero().squeeze(1).tolist() for row in marks] == after


def test_induction_leaves_a_token_that_repeats_at_once_to_itself():
    ids = torch.tensor([5, 5, 5])  # the 5s before query 2 were followed by key 1, and by query 2 itself: not counted
    assert measures.induction_targets(ids).nonzero().tolist() == [[2, 1]]
    assert measures.induction(torch.eye(3)[None], ids).item() == 0


def test_agreement_with_an_ideal_alignment():
    weights = attending_to([0, 1, 2], 4)
    assert measures.agreement(weights, [[0], [1], [2]]).item() == 1
    assert measures.agreement(weights, [[0], [3], [1, 2]]).item() == pytest.approx(2 / 3)
    assert measures.agreement(weights, [[0], [], [0]]).item() == pytest.approx(1 / 2)  # the second has no target


def test_without_any_key_to_attend_to_the_measure_is_0():
    alone = torch.ones(2, 3, 1, 1)  # one token, which sees itself
    assert measures.previous_token(alone).equal(torch.zeros(2, 3))
    assert measures.first_token(alone).equal(torch.zeros(2, 3))
    assert measures.induction(alone, torch.tensor([4])).equal(torch.zeros(2, 3))
    assert measures.agreement(alone, [[]]).equal(torch.zeros(2, 3))
    assert measures.own_token(alone).equal(torch.ones(2, 3))


def test_parameters_are_counted_by_module_and_shared_ones_once():
    counts = measures.count_parameters(core.build("gpt", vocab_size=50, d_model=8, n_heads=2, n_layers=3, max_len=16))
    assert counts["token_embedding"] == 50 * 8 and "head" not in counts
    assert counts["blocks"] == 3 * (4 * (8 * 8 + 8) + 8 * 32 + 32 + 32 * 8 + 8 + 2 * 16)
    assert math.fsum(counts.values()) == sum(
        p.numel() for p in core.build("gpt", vocab_size=50, d_model=8, n_heads=2, n_layers=3, max_len=16).parameters()
    )


def test_rollout_is_the_product_of_half_attention_half_identity():
    rng = np.random.default_rng(0)
    weights = rng.random((3, 2, 4, 4))  # (layer, head, time, time)
    weights /= weights.sum(-1, keepdims=True)
    expected = np.eye(4)
    for layer, product in zip(weights, measures.rollout(torch.tensor(weights)), strict=True):
        mixed = 0.5 * (layer[0] + layer[1]) / 2 + 0.5 * np.eye(4)
        expected = (mixed / mixed.sum(1)[:, None]) @ expected
        np.testing.assert_allclose(product, expected, atol=1e-12)
        assert product.sum(-1).tolist() == pytest.approx([1] * 4)


def test_rollout_of_a_row_that_sees_nothing_stays_with_itself():
    empty = torch.zeros(2, 1, 3, 3)
    torch.testing.assert_close(measures.rollout(empty), torch.eye(3).expand(2, 3, 3))
    torch.testing.assert_close(measures.rollout(empty.expand(5, 2, 1, 3, 3)), torch.eye(3).expand(5, 2, 3, 3))
