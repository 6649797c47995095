"""The CRF against pytorch-crf."""

from __future__ import annotations

import pytest
import torch
from torchcrf import CRF

from core.layers.task_heads.crf import Crf
from core.pretrained.key_map import KeyMap, rules
from tests.core.reference.equality import assert_equal, assert_equal_gradients, copy_weights, padded_batch, randomise

TORCHCRF = KeyMap(
    rules(("start_transitions", "start"), ("end_transitions", "end"), ("transitions", "transition")),
    ours_only=("first", "next"),
)


SIZES = [(1, 1, 1), (1, 1, 4), (3, 2, 2), (5, 9, 4), (8, 20, 7)]


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize(
    "batch, time, n_tags, dtype, within",
    [(*size, torch.float32, 1e-5) for size in SIZES]
    + [(*size, torch.float64, 1e-10) for size in [*SIZES, (2, 60, 15)]],  # float32 blurs sums of 60 steps
)
def test_likelihood_gradients_and_best_paths(batch, time, n_tags, dtype, within, seed):
    theirs, ours = randomise(CRF(n_tags, batch_first=True), std=1.0, seed=seed).to(dtype), Crf(n_tags).to(dtype)
    with torch.no_grad():
        theirs.start_transitions.normal_()
        theirs.end_transitions.normal_()
    copy_weights(theirs, ours, TORCHCRF)
    _, _, mask = padded_batch(batch, time, 10, seed)
    tags = torch.randint(0, n_tags, (batch, time))
    emissions = 2 * torch.randn(batch, time, n_tags, dtype=dtype)
    our_emissions, their_emissions = emissions.clone().requires_grad_(), emissions.clone().requires_grad_()

    actual = ours.log_likelihood(our_emissions, tags, mask)  # (batch,)
    expected = theirs(their_emissions, tags, mask, reduction="none")
    assert_equal(actual / time, expected / time, within, "log-likelihood per step")
    actual.mean().backward()
    expected.mean().backward()
    assert_equal(our_emissions.grad, their_emissions.grad, within, "gradient of the emissions")
    if n_tags > 1 and time > 1:
        assert_equal_gradients(ours, theirs, TORCHCRF, within)
    assert ours.decode(emissions, mask) == theirs.decode(emissions, mask)
