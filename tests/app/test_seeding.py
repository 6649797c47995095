"""Whatever in the server begins a model draws its weights in turn."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import core
from app.service import gates, positions
from app.service.build import activations
from app.service.runs import shipped
from core.analysis import costs
from core.seeding import seeded

SMALL = core.configure("gpt", n_layers=1, n_heads=2, d_model=8, vocab_size=10)
BEGINNINGS = {
    "a shipped run": lambda: shipped.load("parity-rnn"),
    "one for its gradients": lambda: gates._untrained_model(core.configure("rnn", d_hidden=4), 0),
    "one for a thumbnail": lambda: activations.flow(SMALL, "logits", None, None, 4, 4),
    "one to be measured": lambda: costs.fresh(SMALL),
    "one without positions": lambda: positions.no_positions("a b", "reverse", 0),
}


@pytest.mark.parametrize("begin", BEGINNINGS.values(), ids=BEGINNINGS)
def test_it_waits_until_nobody_else_draws(begin):
    with ThreadPoolExecutor(1) as pool:
        with seeded(1):
            waiting = pool.submit(begin)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
        waiting.result()


def test_an_untrained_stand_in_waits_too(monkeypatch):
    monkeypatch.setattr(shipped, "names", list)
    monkeypatch.setattr(positions.run_registry, "open_run", lambda name: shipped.load("parity-rnn"))
    test_it_waits_until_nobody_else_draws(lambda: positions.t5_trained("parity-rnn"))


def test_trained_positions_are_read_without_drawing():
    positions.t5_trained("reverse-t5")  # is open from now on
    before = torch.get_rng_state()
    positions.t5_trained("reverse-t5")
    assert torch.equal(torch.get_rng_state(), before)
