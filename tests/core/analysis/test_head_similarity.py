"""Similarity of heads: profiles of hand-made heads, the formula, and special tokens."""

import math

import pytest
import torch

from app.service.inputs import input_from_text
from app.service.runs import shipped
from core import capture
from core.analysis.head_similarity import FEATURE_WEIGHTS, SIMILAR, head_profile, head_similarity

TIME = 12
IDS = torch.tensor([5, 6, 7, 8, 9, 4] * 2)
NONE_SPECIAL = torch.zeros(TIME, dtype=torch.bool)
EYE = torch.eye(TIME)
PREVIOUS = torch.cat([EYE[:1], EYE[:-1]])
FIRST = EYE[:1].expand(TIME, TIME)
UNIFORM = torch.full((TIME, TIME), 1 / TIME)
INDUCTION = torch.cat([EYE[:1].expand(6, TIME), EYE[1:7]])  # the second half attends to what followed in the first


def profile(weights, ids=IDS, special=NONE_SPECIAL, allowed=None):
    return head_profile(weights, ids, special, allowed)


def test_profiles_of_hand_made_heads():
    assert profile(EYE)["own"] == 1 and profile(EYE)["entropy"] == 0 and profile(EYE)["distance"] == 0
    assert profile(PREVIOUS)["previous"] == 1 and profile(PREVIOUS)["own"] == pytest.approx(1 / TIME)
    assert profile(FIRST)["first"] == 1
    assert profile(INDUCTION)["induction"] == 1
    assert profile(UNIFORM)["entropy"] == pytest.approx(1, abs=1e-5)
    assert all(0 <= value <= 1 for value in profile(UNIFORM).values())


def test_distance_is_normalised_by_the_furthest_allowed_key():
    causal = torch.ones(TIME, TIME).tril().bool()
    assert profile(FIRST, allowed=causal)["distance"] == pytest.approx(1)
    furthest = [max(q, TIME - 1 - q) for q in range(TIME)]
    assert profile(FIRST)["distance"] == pytest.approx(sum(q / far for q, far in enumerate(furthest)) / TIME)
    uniform = torch.ones(TIME, TIME).tril()
    uniform /= uniform.sum(-1, keepdim=True)
    assert profile(uniform, allowed=causal)["entropy"] == pytest.approx(1, abs=1e-5), "uniform over the allowed keys"
    assert profile(uniform)["entropy"] < 0.8


def test_similarity_by_its_formula():
    assert head_similarity(profile(EYE), profile(EYE)) == 1
    a, b = profile(PREVIOUS), profile(UNIFORM)
    by_hand = 1 - sum(FEATURE_WEIGHTS[name] * abs(float(a[name]) - float(b[name])) for name in FEATURE_WEIGHTS) / sum(
        FEATURE_WEIGHTS.values()
    )
    assert head_similarity(a, b) == pytest.approx(by_hand) == head_similarity(b, a)
    roles = [EYE, PREVIOUS, FIRST, INDUCTION, UNIFORM]
    noisy = [0.9 * one + 0.1 * UNIFORM for one in roles]
    table = torch.stack([head_similarity(profile(one), profile(torch.stack(noisy))) for one in roles])
    assert table.argmax(-1).tolist() == list(range(len(roles))), "each is found again under a little noise"
    assert table.diagonal().min() > SIMILAR > table[~torch.eye(len(roles), dtype=torch.bool)].max()


def test_special_tokens_are_left_out_without_renormalising():
    ids = torch.cat([torch.tensor([1]), IDS, torch.tensor([2])])
    special = torch.zeros(TIME + 2, dtype=torch.bool)
    special[[0, -1]] = True
    framed = torch.zeros(TIME + 2, TIME + 2)
    framed[1:-1, 1:-1] = 0.25 * PREVIOUS
    framed[:, -1] = 0.75
    features = profile(framed, ids, special)
    assert features["previous"] == pytest.approx(0.25) and features["own"] == pytest.approx(0.25 / TIME)
    assert features["entropy"] == pytest.approx(-0.25 * math.log2(0.25) / math.log2(TIME))
    inner = profile(0.25 * PREVIOUS)
    for name, value in inner.items():
        assert features[name] == pytest.approx(float(value)), name


def test_without_repeated_tokens_there_is_no_induction():
    features = profile(EYE, ids=torch.arange(TIME))
    assert "induction" not in features
    assert head_similarity(features, profile(EYE)) == 1


def test_a_runs_own_head_is_found_first_when_the_same_run_is_searched():
    run = shipped.load("induction-gpt").run
    problem = input_from_text(run, "t g w b n h c s t g w b n h c s")
    with torch.no_grad(), capture(run.model, "*.weights", "*.mask") as tape:
        run.model(*problem.batch.inputs)
    ids, special = problem.ids, torch.zeros(len(problem.ids), dtype=torch.bool)
    allowed = tape["blocks.0.attn.mask"][0, 0]
    weights = torch.stack([tape[name][0] for name in tape.names() if name.endswith(".weights")])  # (layer, head, …)
    all_heads = head_profile(weights, ids, special, allowed)
    layers, heads = weights.shape[:2]
    for layer in range(layers):
        for head in range(heads):
            own = head_profile(weights[layer, head], ids, special, allowed)
            similarity = head_similarity(own, all_heads)
            assert similarity[layer, head] == pytest.approx(1) == similarity.max()
