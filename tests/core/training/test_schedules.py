"""Learning-rate schedules against torch's own schedulers, and invalid points."""

from __future__ import annotations

import json
import math

import pytest
import torch
from torch.optim import lr_scheduler

import core
from core.training.options import Training
from core.training.schedules import learning_rate
from tests.words import chinese

STEPS, WARMUP, FLOOR = 30, 6, 0.2
FALL = STEPS - WARMUP


def rates(**options) -> list[float]:
    training = Training.make(**{"steps": STEPS, "lr": 0.5, **options})
    return [learning_rate(step, training) for step in range(training.steps)]


def torch_rates(make, steps: int = STEPS) -> list[float]:
    """The rates of a torch scheduler for an optimiser whose rate is 0.5."""
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    scheduler, rates = make(optimiser), []
    for _ in range(steps):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        scheduler.step()
    return rates


def after_warmup(optimiser, then) -> lr_scheduler.LRScheduler:
    rise = lr_scheduler.LinearLR(optimiser, 1 / (WARMUP + 1), 1.0, total_iters=WARMUP)
    return lr_scheduler.SequentialLR(optimiser, [rise, then], [WARMUP])


def test_linear():
    assert rates(schedule="linear", warmup=WARMUP, floor=FLOOR) == pytest.approx(
        torch_rates(lambda o: after_warmup(o, lr_scheduler.LinearLR(o, 1.0, FLOOR, total_iters=FALL)))
    )


def test_cosine():
    assert rates(schedule="cosine", warmup=WARMUP, floor=FLOOR) == pytest.approx(
        torch_rates(lambda o: after_warmup(o, lr_scheduler.CosineAnnealingLR(o, FALL, eta_min=0.5 * FLOOR)))
    )


def test_constant():
    assert rates(schedule="constant", warmup=WARMUP) == pytest.approx(
        torch_rates(lambda o: after_warmup(o, lr_scheduler.ConstantLR(o, 1.0)))
    )


def test_piecewise_is_linear_between_points():
    """Point n is the n-th update; torch counts from 0, so its lines begin one later."""

    def lines(optimiser):
        parts = [
            lr_scheduler.LinearLR(optimiser, 1 / 8, 1.0, total_iters=7),  # updates 1 … 8
            lr_scheduler.LinearLR(optimiser, 1.0, 0.1, total_iters=12),  # … 20
            lr_scheduler.LinearLR(optimiser, 0.1, 0.4, total_iters=5),  # … 25, then level
        ]
        return lr_scheduler.SequentialLR(optimiser, parts, [7, 19])

    assert rates(schedule="piecewise", points={25: 0.4, 8: 1, 20: 0.1}) == pytest.approx(torch_rates(lines))


def test_piecewise_by_hand():
    assert rates(schedule="piecewise", points={0: 1, 4: 0}, steps=6, lr=1.0) == pytest.approx(
        [0.75, 0.5, 0.25, 0, 0, 0]
    )
    assert rates(schedule="piecewise", points={0: 0.3}, steps=3, lr=1.0) == pytest.approx([0.3] * 3)
    assert rates(schedule="piecewise", points={100: 1}, steps=4, lr=1.0) == pytest.approx([0.01, 0.02, 0.03, 0.04])


def test_the_same_points_are_the_same_options():
    """Also in another order, as pairs, as whole numbers, and back from JSON."""
    first = Training.make(schedule="piecewise", points={8: 1, 20: 0.1})
    same = [{20: 0.1, 8: 1.0}, [[8, 1], [20, 0.1]], ((8, 1.0), (20, 0.1))]
    assert {Training.make(schedule="piecewise", points=points) for points in same} == {first}
    assert Training.make(**json.loads(json.dumps(first.to_dict()))) == first
    assert "points" not in Training.make().to_dict()


@pytest.mark.parametrize(
    "bad",
    [
        {"points": points, "schedule": "piecewise"}
        for points in (
            None, {}, 5, "1000", True, {1: 2}, {1: -0.1}, {1: math.nan}, {1: True}, {1: "1"}, {1.5: 1}, {"1": 1}, {-1: 1},
            {10**7: 1}, {5: 0, 9: 0}, [[1]], [1, 2], [[1, 1], [1, 0.5]], {n: 1 for n in range(200)},
        )
    ]
    + [
        {"points": {5: 1}},
        {"points": {5: 1}, "schedule": "linear"},
        {"points": {5: 1}, "schedule": "piecewise", "warmup": 5},
        {"points": {5: 1}, "schedule": "piecewise", "floor": 0.5},
    ],
    ids=str,
)  # fmt: skip
def test_invalid_points(bad):
    with pytest.raises(core.ConfigError) as error:
        Training.make(**bad)
    assert error.value.option in bad and len(str(error.value)) < 4000
    assert chinese(error.value) != str(error.value)


def test_the_options_are_told_in_both_languages():
    options = {option.name: option for option in Training.options()}
    assert str(options["points"].help) and chinese(options["points"].help) != str(options["points"].help)
    assert chinese(options["schedule"].choices["piecewise"])
