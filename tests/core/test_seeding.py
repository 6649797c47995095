"""The same seed, the same numbers, also while other threads draw theirs."""

from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest
import torch

import core
from core.analysis.layer_costs import compare_layers
from core.runs.run import Run
from core.seeding import seeded


def draw(seed: int) -> torch.Tensor:
    with seeded(seed):
        first = torch.rand(3)
        sleep(0.005)  # let the others in
        return torch.cat([first, torch.rand(3)])


def test_threads_draw_as_if_alone():
    alone = [draw(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(draw, range(4)))
    assert all(torch.equal(*pair) for pair in zip(alone, together, strict=True))
    torch.manual_seed(2)
    assert torch.equal(alone[2], torch.rand(6))


def test_the_generator_is_left_as_it_was_and_blocks_nest():
    before = torch.get_rng_state()
    with seeded(1), seeded(2):
        torch.rand(1)
    with pytest.raises(ZeroDivisionError), seeded(1):
        raise ZeroDivisionError
    assert torch.equal(torch.get_rng_state(), before)


def test_runs_that_begin_at_once_have_their_own_weights(monkeypatch):
    def hesitant(config: core.config.families.Config) -> torch.nn.Module:
        sleep(0.005)
        return core.build(config)

    recipe = core.recipe("rnn", "parity")
    alone = [Run(recipe, seed).snapshots[0].weights for seed in range(4)]
    monkeypatch.setattr("core.runs.run.build", hesitant)
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda seed: Run(recipe, seed).snapshots[0].weights, range(4))
        for expected, weights in zip(alone, together, strict=True):
            assert all(torch.equal(weight, weights[name]) for name, weight in expected.items())


def test_layers_that_are_compared_draw_from_nobody_else():
    before = torch.get_rng_state()
    compare_layers(n=8, width=8)
    assert torch.equal(torch.get_rng_state(), before)
