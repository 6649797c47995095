"""Everything in the server that initialises a model waits for the lock of the global random generator."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import core
from app.service import gate_gradients, positions
from app.service.build import activations
from app.service.runs import shipped
from core.analysis import costs
from core.seeding import seeded

SMALL = core.configure("gpt", n_layers=1, n_heads=2, d_model=8, vocab_size=10)
INITIALISATIONS = {
    "shipped run": lambda: shipped.load("parity-rnn"),
    "untrained gradients": lambda: gate_gradients._untrained_model(core.configure("rnn", d_hidden=4), 0),
    "thumbnail": lambda: activations.point_activations(SMALL, "logits", None, None, 4, 4),
    "measured costs": lambda: costs.build_seeded(SMALL),
    "no positions": lambda: positions.no_positions("a b", "reverse", 0),
}


@pytest.mark.parametrize("initialise", INITIALISATIONS.values(), ids=INITIALISATIONS)
def test_it_waits_for_the_random_generator(initialise):
    with ThreadPoolExecutor(1) as pool:
        with seeded(1):
            waiting = pool.submit(initialise)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
        waiting.result()


def test_an_untrained_replacement_waits_too(monkeypatch):
    monkeypatch.setattr(shipped, "names", list)
    monkeypatch.setattr(positions.run_registry, "open_run", lambda name: shipped.load("parity-rnn"))
    test_it_waits_for_the_random_generator(lambda: positions.t5_trained("parity-rnn"))


def test_trained_positions_are_read_without_random_numbers():
    positions.t5_trained("reverse-t5")  # loads the run
    before = torch.get_rng_state()
    positions.t5_trained("reverse-t5")
    assert torch.equal(torch.get_rng_state(), before)
