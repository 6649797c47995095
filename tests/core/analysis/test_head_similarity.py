"""Heads are alike when they do the same with the same text, whatever model they are of."""

import math

import pytest
import torch

from app.service.inputs import input_from_text
from app.service.runs import shipped
from core import capture
from core.analysis.head_similarity import ALIKE, COUNTS, head_similarity, profile

TIME = 12
IDS = torch.tensor([5, 6, 7, 8, 9, 4] * 2)
NOTHING = torch.zeros(TIME, dtype=torch.bool)
EYE = torch.eye(TIME)
PREVIOUS = torch.cat([EYE[:1], EYE[:-1]])
FIRST = EYE[:1].expand(TIME, TIME)
UNIFORM = torch.full((TIME, TIME), 1 / TIME)
INDUCTION = torch.cat(
    [EYE[:1].expand(6, TIME), EYE[1:7]]
)  # a token of the second half looks behind its first occurrence


def of(weights, ids=IDS, special=NOTHING, allowed=None):
    return profile(weights, ids, special, allowed)


def test_profiles_of_hand_made_heads():
    assert of(EYE)["own"] == 1 and of(EYE)["entropy"] == 0 and of(EYE)["distance"] == 0
    assert of(PREVIOUS)["previous"] == 1 and of(PREVIOUS)["own"] == pytest.approx(1 / TIME)
    assert of(FIRST)["first"] == 1
    assert of(INDUCTION)["induction"] == 1
    assert of(UNIFORM)["entropy"] == pytest.approx(1, abs=1e-5)
    assert all(0 <= value <= 1 for value in of(UNIFORM).values())


def test_relative_distance_is_of_the_furthest_key_that_may_be_seen():
    causal = torch.ones(TIME, TIME).tril().bool()
    assert of(FIRST, allowed=causal)["distance"] == pytest.approx(1)
    furthest = [max(q, TIME - 1 - q) for q in range(TIME)]
    assert of(FIRST)["distance"] == pytest.approx(sum(q / far for q, far in enumerate(furthest)) / TIME)
    even = torch.ones(TIME, TIME).tril()
    even /= even.sum(-1, keepdim=True)
    assert of(even, allowed=causal)["entropy"] == pytest.approx(1, abs=1e-5), "it spreads over all it may see"
    assert of(even)["entropy"] < 0.8


def test_likeness_by_its_formula():
    assert head_similarity(of(EYE), of(EYE)) == 1
    a, b = of(PREVIOUS), of(UNIFORM)
    by_hand = 1 - sum(COUNTS[name] * abs(float(a[name]) - float(b[name])) for name in COUNTS) / sum(COUNTS.values())
    assert head_similarity(a, b) == pytest.approx(by_hand) == head_similarity(b, a)
    roles = [EYE, PREVIOUS, FIRST, INDUCTION, UNIFORM]
    noisy = [0.9 * one + 0.1 * UNIFORM for one in roles]
    table = torch.stack([head_similarity(of(one), of(torch.stack(noisy))) for one in roles])
    assert table.argmax(-1).tolist() == list(range(len(roles))), "each is found again under a little noise"
    assert table.diagonal().min() > ALIKE > table[~torch.eye(len(roles), dtype=torch.bool)].max()


def test_special_tokens_are_left_out_and_their_weight_is_not_shared_out():
    ids = torch.cat([torch.tensor([1]), IDS, torch.tensor([2])])
    special = torch.zeros(TIME + 2, dtype=torch.bool)
    special[[0, -1]] = True
    framed = torch.zeros(TIME + 2, TIME + 2)
    framed[1:-1, 1:-1] = 0.25 * PREVIOUS
    framed[:, -1] = 0.75
    found = of(framed, ids, special)
    assert found["previous"] == pytest.approx(0.25) and found["own"] == pytest.approx(0.25 / TIME)
    assert found["entropy"] == pytest.approx(-0.25 * math.log2(0.25) / math.log2(TIME))
    inner = of(0.25 * PREVIOUS)
    for name, value in inner.items():
        assert found[name] == pytest.approx(float(value)), name


def test_where_nothing_repeats_induction_is_not_judged():
    found = of(EYE, ids=torch.arange(TIME))
    assert "induction" not in found
    assert head_similarity(found, of(EYE)) == 1


def test_a_runs_own_head_is_found_first_when_the_same_run_is_searched():
    run = shipped.load("induction-gpt").run
    problem = input_from_text(run, "t g w b n h c s t g w b n h c s")
    with torch.no_grad(), capture(run.model, "*.weights", "*.mask") as tape:
        run.model(*problem.batch.inputs)
    ids, special = problem.ids, torch.zeros(len(problem.ids), dtype=torch.bool)
    allowed = tape["blocks.0.attn.mask"][0, 0]
    weights = torch.stack([tape[name][0] for name in tape.names() if name.endswith(".weights")])  # (layer, head, …)
    everyone = profile(weights, ids, special, allowed)
    layers, heads = weights.shape[:2]
    for layer in range(layers):
        for head in range(heads):
            one = profile(weights[layer, head], ids, special, allowed)
            found = head_similarity(one, everyone)
            assert found[layer, head] == pytest.approx(1) == found.max()
