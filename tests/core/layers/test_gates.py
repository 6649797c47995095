"""Captured states and gates satisfy the published equations, recomputed here from the weights."""

import pytest
import torch
from torch.testing import assert_close

import core
from tests.core.examples import RECURRENT, batch, loss_of, small

LENGTHS = torch.tensor([7, 3, 1])
VALID = torch.arange(7) < LENGTHS[:, None]  # (batch, time)
DIRECTIONS = [("fwd", 0), ("bwd", 0), ("fwd", 1), ("bwd", 1)]


@pytest.fixture(params=["fused", "stepwise"])
def engine(request):
    return request.param


def captured(family, **options):
    model = small(family, bidirectional=True, **options)
    with core.capture(model) as tape:
        model(**batch(model))
    return model, tape


def layer_of(model, tape, direction, depth):
    """A layer's input, its points, and each point's value one step earlier in reading order."""
    below = tape["embed"]
    if depth:
        below = torch.cat([tape[f"layers.0.{d}.hidden"] for d in ("fwd", "bwd")], dim=-1)
    prefix = f"layers.{depth}.{direction}."
    points = {name.removeprefix(prefix): tape[name] for name in tape if name.startswith(prefix)}
    before = {name: previous(points[name], direction) for name in ("hidden", "cell") if name in points}
    return getattr(model.layers[depth], direction), below, points, before


def previous(states, direction):
    """h_{t-1} for a forward reader, h_{t+1} for a backward one, 0 where a sequence begins."""
    nothing = torch.zeros_like(states[:, :1])
    if direction == "fwd":
        return torch.cat([nothing, states[:, :-1]], dim=1)
    return torch.cat([states[:, 1:], nothing], dim=1) * (torch.arange(7) < LENGTHS[:, None] - 1)[..., None]


def parts(layer, x, h, count):
    """W_x x + b_x and W_h h + b_h, one pair for each gate in torch's order."""
    of_x = x @ layer.weight_ih_l0.T + layer.bias_ih_l0
    of_h = h @ layer.weight_hh_l0.T + layer.bias_hh_l0
    return list(zip(of_x.chunk(count, -1), of_h.chunk(count, -1), strict=True))


def agree(points, name, expected):
    assert_close(points[name][VALID], expected[VALID], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("direction", "depth"), DIRECTIONS)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_rnn_equation(activation, direction, depth, engine):
    model, tape = captured("rnn", activation=activation, engine=engine)
    layer, x, points, before = layer_of(model, tape, direction, depth)
    [(of_x, of_h)] = parts(layer, x, before["hidden"], 1)
    agree(points, "hidden", torch.tanh(of_x + of_h) if activation == "tanh" else (of_x + of_h).clamp(min=0))


@pytest.mark.parametrize(("direction", "depth"), DIRECTIONS)
def test_gru_equations(direction, depth, engine):
    model, tape = captured("gru", engine=engine)
    layer, x, points, before = layer_of(model, tape, direction, depth)
    (xr, hr), (xz, hz), (xn, hn) = parts(layer, x, before["hidden"], 3)
    reset, update = 1 / (1 + torch.exp(-xr - hr)), 1 / (1 + torch.exp(-xz - hz))
    candidate = torch.tanh(xn + reset * hn)
    agree(points, "reset", reset)
    agree(points, "update", update)
    agree(points, "candidate", candidate)
    agree(points, "hidden", candidate + update * (before["hidden"] - candidate))


@pytest.mark.parametrize(("direction", "depth"), DIRECTIONS)
def test_lstm_equations(direction, depth, engine):
    model, tape = captured("lstm", engine=engine, forget_bias=1.5)
    layer, x, points, before = layer_of(model, tape, direction, depth)
    (xi, hi), (xf, hf), (xg, hg), (xo, ho) = parts(layer, x, before["hidden"], 4)
    agree(points, "input", 1 / (1 + torch.exp(-xi - hi)))
    agree(points, "forget", 1 / (1 + torch.exp(-xf - hf)))
    agree(points, "candidate", torch.tanh(xg + hg))
    agree(points, "output", 1 / (1 + torch.exp(-xo - ho)))
    agree(points, "cell", points["forget"] * before["cell"] + points["input"] * points["candidate"])
    agree(points, "hidden", points["output"] * torch.tanh(points["cell"]))


def test_forget_bias_moves_the_forget_gate_only():
    torch.manual_seed(0)
    plain = core.build("lstm", d_hidden=4, forget_bias=0.0).layers[0].fwd
    torch.manual_seed(0)
    shifted = core.build("lstm", d_hidden=4, forget_bias=3.0).layers[0].fwd
    moved = shifted.bias_ih_l0 + shifted.bias_hh_l0 - plain.bias_ih_l0 - plain.bias_hh_l0
    assert_close(moved, torch.tensor([0.0] * 4 + [3.0] * 4 + [0.0] * 8))


@pytest.mark.parametrize("family", RECURRENT)
def test_states_rest_on_padding(family):
    """Read forwards, the last state stays; read backwards, a state begins (at 0) only where the sequence does."""
    _, tape = captured(family)
    for name in [name for name in tape if name.endswith(("hidden", "cell"))]:
        states = tape[name]
        for row, length in enumerate(LENGTHS.tolist()):
            resting = states[row, length - 1] if ".fwd." in name else torch.zeros(4)
            assert (states[row, length:] == resting).all()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("family", RECURRENT)
def test_outputs_are_the_states_and_zero_on_padding(family, bidirectional):
    """`hidden` joins both directions' states; `pooled` is what each has read last."""
    model = small(family, bidirectional=bidirectional)
    plain = model(**batch(model))
    with core.capture(model) as tape:
        output = model(**batch(model))
    sides = [tape[f"layers.1.{side}.hidden"] for side in (["fwd", "bwd"] if bidirectional else ["fwd"])]
    ends = [side[range(3), LENGTHS - 1] if i == 0 else side[:, 0] for i, side in enumerate(sides)]
    for answer in (plain, output):
        assert_close(answer.hidden, torch.cat(sides, dim=-1) * VALID[..., None], atol=1e-6, rtol=1e-5)
        assert_close(answer.pooled, torch.cat(ends, dim=-1), atol=1e-6, rtol=1e-5)


def step(cell, layer, x, h, c):
    """One step by hand: the new hidden state and, for the LSTM, the new cell."""
    gates = parts(layer, x, h, {"rnn": 1, "gru": 3, "lstm": 4}[cell])
    if cell == "rnn":
        return torch.tanh(sum(gates[0])), c
    if cell == "gru":
        r, z = torch.sigmoid(sum(gates[0])), torch.sigmoid(sum(gates[1]))
        return (1 - z) * torch.tanh(gates[2][0] + r * gates[2][1]) + z * h, c
    i, f, o = (torch.sigmoid(sum(gates[k])) for k in (0, 1, 3))
    c = f * c + i * torch.tanh(sum(gates[2]))
    return o * torch.tanh(c), c


@pytest.mark.parametrize("attention", ["none", "luong-general", "bahdanau"])
@pytest.mark.parametrize("cell", RECURRENT)
def test_a_decoder_starts_where_its_encoder_ended(cell, attention):
    """Its first state is one step from what the encoder's two directions had read last, layer by layer."""
    model = small("seq2seq", cell=cell, attention=attention)
    with core.capture(model) as tape:
        model(**batch(model))

    def encoder_end(depth, point):
        forwards, backwards = (tape[f"encoder.layers.{depth}.{side}.{point}"] for side in ("fwd", "bwd"))
        return torch.cat([forwards[range(3), LENGTHS - 1], backwards[:, 0]], dim=-1)

    x = tape["decoder.embed"][:, 0]
    if attention == "bahdanau":  # the context enters with the token
        x = torch.cat([x, tape["decoder.cross.context"][:, 0, 0]], dim=-1)
    for depth in (0, 1):
        c = encoder_end(depth, "cell") if cell == "lstm" else None
        x, _ = step(cell, model.decoder.layers[depth].fwd, x, encoder_end(depth, "hidden"), c)
        assert_close(tape[f"decoder.layers.{depth}.fwd.hidden"][:, 0], x, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("family", RECURRENT)
def test_gradient_of_a_state_reaches_through_time(family):
    """d loss / d h_t as in a recurrence written by hand, where a nudge is added to every h_t."""
    model = small(family, n_layers=1, head="tagger")
    inputs = batch(model)
    with core.capture(model, gradients=True) as tape:
        output = model(**inputs)
    loss_of(model, output, inputs).backward()

    x, h, c = tape["embed"].detach(), torch.zeros(3, 4), torch.zeros(3, 4)
    nudges, states = torch.zeros(7, 3, 4, requires_grad=True), []
    for t in range(7):
        new_h, new_c = step(family, model.layers[0].fwd, x[:, t], h, c)
        h, c = (torch.where(VALID[:, t, None], new, old) for new, old in ((new_h, h), (new_c, c)))
        h = h + nudges[t]
        states.append(h)
    logits = model.head.proj(torch.stack(states, dim=1) * VALID[..., None])
    assert_close(logits, output.logits, atol=1e-5, rtol=1e-5)
    loss_of(model, type(output)(logits=logits), inputs).backward()
    assert nudges.grad[:, 0].abs().min() > 0  # row 0 is full: all of its states matter
    assert_close(tape.grad("layers.0.fwd.hidden"), nudges.grad.transpose(0, 1), atol=1e-6, rtol=1e-4)
