"""Recurrent layers, both engines, against torch's own on packed sequences."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import core
from core.layers.recurrent import engine as recurrent_engine
from core.layers.recurrent.cells import RecurrentStack
from core.layers.recurrent.engine import State
from core.pretrained.key_map import KeyMap, rules
from tests.core.reference.equality import assert_equal, assert_equal_gradients, copy_weights, padded_batch, randomise

WITHIN = 1e-5
TORCH_RECURRENT = KeyMap(
    rules(
        ("*_ih_l{i}", "layers.{i}.fwd.*_ih_l0"),
        ("*_hh_l{i}", "layers.{i}.fwd.*_hh_l0"),
        ("*_ih_l{i}_reverse", "layers.{i}.bwd.*_ih_l0"),
        ("*_hh_l{i}_reverse", "layers.{i}.bwd.*_hh_l0"),
    )
)
CELLS = {
    "tanh": ("rnn", nn.RNN, {"nonlinearity": "tanh"}),
    "relu": ("rnn", nn.RNN, {"nonlinearity": "relu"}),
    "gru": ("gru", nn.GRU, {}),
    "lstm": ("lstm", nn.LSTM, {}),
}
ENGINES = {"own kernels": ("fused", 1), "torch's kernels": ("fused", 1000), "stepwise": ("stepwise", 1)}
each_cell = pytest.mark.parametrize("cell", CELLS)
each_size = pytest.mark.parametrize(
    "n_layers, bidirectional, d_in, unit, batch, time",
    [
        (1, False, 3, 5, 4, 7),
        (1, True, 6, 4, 5, 9),
        (2, True, 4, 8, 3, 12),
        (3, False, 7, 6, 6, 10),
        (3, True, 2, 3, 4, 6),
    ],
)


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch) -> str:
    """Both engines; the fused one with its own kernels at any length, and never."""
    name, min_length = ENGINES[request.param]
    monkeypatch.setattr(recurrent_engine, "MIN_KERNEL_LENGTH", min_length)
    return name


def pair(
    cell: str, d_in: int, unit: int, n_layers: int, bidirectional: bool, engine: str
) -> tuple[RecurrentStack, nn.RNNBase]:
    """Ours and torch's, with the same weights."""
    name, torch_class, options = CELLS[cell]
    theirs = torch_class(d_in, unit, n_layers, batch_first=True, bidirectional=bidirectional, **options)
    randomise(theirs, std=0.2 if cell == "relu" else 0.4)  # relu must not explode
    ours = RecurrentStack(name, d_in, unit, n_layers, bidirectional=bidirectional, engine=engine, **options)
    copy_weights(theirs, ours, TORCH_RECURRENT)
    return ours, theirs


def run_torch(
    theirs: nn.RNNBase, x: Tensor, lengths: Tensor | None, first: tuple[Tensor, ...] | None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Outputs (batch, time, directions · unit); hidden and, for the LSTM, cell (layer · directions, batch, unit)"""
    if first is not None and not isinstance(theirs, nn.LSTM):
        first = first[0]
    if lengths is None:
        outputs, last = theirs(x, first)
    else:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = theirs(packed, first)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
    return outputs, last if isinstance(last, tuple) else (last,)


def as_torch(states: list[State], which: int, directions: int) -> Tensor:
    """Our states of all layers, each (batch, directions · unit) → (layer · directions, batch, unit)"""
    stacked = torch.stack([state[which] for state in states])  # (layer, batch, directions · unit)
    return stacked.unflatten(-1, (directions, -1)).transpose(1, 2).flatten(0, 1)


@each_cell
@each_size
@pytest.mark.parametrize("padded", [True, False], ids=["padded", "full"])
@pytest.mark.parametrize("start", ["zero", "random"])
def test_outputs_states_and_gradients(engine, cell, n_layers, bidirectional, d_in, unit, batch, time, padded, start):
    ours, theirs = pair(cell, d_in, unit, n_layers, bidirectional, engine)
    directions = 2 if bidirectional else 1
    random = torch.Generator().manual_seed(1)
    lengths = padded_batch(batch, time, 10)[1] if padded else None
    x = torch.randn(batch, time, d_in, generator=random)
    our_x, their_x = x.clone().requires_grad_(), x.clone().requires_grad_()

    n_states = 2 if cell == "lstm" else 1
    states = their_first = None
    if start == "random":  # forwards only: reading backwards starts from zero
        states = [
            tuple(torch.randn(batch, unit, generator=random).requires_grad_() for _ in range(n_states))
            for _ in range(n_layers)
        ]
        zeros = [torch.zeros(batch, unit)] * (directions - 1)
        theirs_of = [torch.stack([s for layer in states for s in (layer[n], *zeros)]) for n in range(n_states)]
        their_first = tuple(first.detach().requires_grad_() for first in theirs_of)

    our_out, our_last = ours.run(our_x, lengths, states, need_state=True)
    their_out, their_last = run_torch(theirs, their_x, lengths, their_first)
    assert_equal(our_out, their_out, WITHIN, "outputs")
    our_last = [as_torch(our_last, n, directions) for n in range(n_states)]
    for n, name in enumerate(["hidden", "cell"][:n_states]):
        assert_equal(our_last[n], their_last[n], WITHIN, f"last {name}")

    coefficients = torch.randn(their_out.shape, generator=random)
    for out, last in [(our_out, our_last), (their_out, their_last)]:
        loss = (out * coefficients).sum() / batch + sum(state.square().mean() for state in last)
        loss.backward()
    assert_equal(our_x.grad, their_x.grad, WITHIN, "gradient of the input")
    assert_equal_gradients(ours, theirs, TORCH_RECURRENT, WITHIN)
    if start == "random":
        for n, first in enumerate(their_first):
            ours_of = torch.stack([layer[n].grad for layer in states])
            assert_equal(ours_of, first.grad[::directions], WITHIN, "gradient of the first states")


@pytest.mark.parametrize("bidirectional", [False, True])
def test_hidden_states_without_asking_for_the_cell(engine, bidirectional):
    ours, theirs = pair("lstm", 4, 5, 2, bidirectional, engine)
    lengths, x = padded_batch(6, 9, 10)[1], torch.randn(6, 9, 4)
    _, our_last = ours.run(x, lengths)
    _, their_last = run_torch(theirs, x, lengths, None)
    assert_equal(as_torch(our_last, 0, 2 if bidirectional else 1), their_last[0], WITHIN, "last hidden")


@each_cell
@pytest.mark.parametrize("n_layers, bidirectional", [(1, False), (2, True), (3, True)])
def test_whole_model(engine, cell, n_layers, bidirectional):
    """core.build: ids → embedding → layers → classifier reading the last valid states of both directions."""
    family, torch_class, options = CELLS[cell]
    options = {"activation": options["nonlinearity"]} if options else {}
    sizes = {"vocab_size": 20, "d_embed": 6, "d_hidden": 7, "n_layers": n_layers, "n_labels": 3}
    model = randomise(core.build(family, bidirectional=bidirectional, engine=engine, **sizes, **options), 0.3)
    theirs = torch_class(6, 7, n_layers, batch_first=True, bidirectional=bidirectional, **CELLS[cell][2])
    layers = {name: w for name, w in model.state_dict().items() if name.startswith("layers.")}
    theirs.load_state_dict({_torch_name(name): weight for name, weight in layers.items()})

    ids, lengths, valid = padded_batch(5, 8, 20)
    out = model(ids, lengths)
    expected, last = run_torch(theirs, model.token_embedding(ids), lengths, None)
    assert_equal(out.hidden, expected, WITHIN, "hidden")
    assert not out.hidden[~valid].any(), "padding has no output"
    directions = 2 if bidirectional else 1
    pooled = torch.cat(list(last[0][-directions:]), dim=-1)  # (batch, directions · unit)
    assert_equal(out.pooled, pooled, WITHIN, "pooled")
    assert_equal(out.logits, model.head.proj(pooled), WITHIN, "logits")


def _torch_name(name: str) -> str:
    """layers.1.bwd.weight_ih_l0 → weight_ih_l1_reverse"""
    _, i, direction, weight = name.split(".")
    return weight.replace("_l0", f"_l{i}") + ("_reverse" if direction == "bwd" else "")
