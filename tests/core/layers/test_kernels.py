"""Our own recurrent kernels: gradients by finite differences, and everything torch's kernels can do around them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

import core
from core.layers.recurrent import engine
from core.layers.recurrent.cells import GruLayer, RnnLayer
from core.layers.recurrent.kernels import GruKernel, RnnKernel
from core.layers.recurrent.packing import PackedBatch

LAYERS = {
    "tanh": lambda *sizes: RnnLayer(*sizes, nonlinearity="tanh"),
    "relu": lambda *sizes: RnnLayer(*sizes, nonlinearity="relu"),
    "gru": GruLayer,
}
BATCH, TIME, D_IN, UNIT = 4, 6, 3, 5
LENGTHS = torch.tensor([3, 5, 1, 3])  # none fills the row, two are equal
each_cell = pytest.mark.parametrize("cell", LAYERS)
each_lengths = pytest.mark.parametrize("lengths", [LENGTHS, None], ids=["padded", "full"])
each_direction = pytest.mark.parametrize("backward", [False, True], ids=["forwards", "backwards"])


@pytest.fixture(autouse=True)
def at_any_length(monkeypatch):
    monkeypatch.setattr(engine, "MIN_KERNEL_LENGTH", 1)


@pytest.fixture
def calls(monkeypatch) -> list[str]:
    """Which of our own kernels ran."""
    ran = []
    for kernel in (RnnKernel, GruKernel):
        apply = kernel.apply
        monkeypatch.setattr(kernel, "apply", lambda *a, k=kernel, apply=apply: ran.append(k.__name__) or apply(*a))
    return ran


def make(cell: str, dtype: torch.dtype = torch.float32) -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(0)
    layer = LAYERS[cell](D_IN, UNIT).to(dtype)
    return layer, torch.randn(BATCH, TIME, D_IN, dtype=dtype), torch.randn(BATCH, UNIT, dtype=dtype)


def run(layer: nn.Module, x: Tensor, h: Tensor, lengths=None, backward=False) -> tuple[Tensor, Tensor]:
    outputs, (last,) = layer(x, lengths, (h,), backward=backward, engine="fused", need_state=False)
    return outputs, last


@each_cell
@each_lengths
@each_direction
def test_gradients_by_finite_differences(cell, lengths, backward, calls):
    layer, x, h = make(cell, torch.float64)
    weights = dict(layer.named_parameters())

    def function(x: Tensor, h: Tensor, *values: Tensor) -> tuple[Tensor, Tensor]:
        named, how = (
            dict(zip(weights, values, strict=True)),
            dict(backward=backward, engine="fused", need_state=False),
        )
        outputs, (last,) = torch.func.functional_call(layer, named, (x, lengths, (h,)), how)
        return outputs, last

    inputs = [value.detach().clone().requires_grad_() for value in (x, h, *weights.values())]
    assert torch.autograd.gradcheck(function, inputs)
    assert calls


@each_cell
@each_lengths
@each_direction
def test_without_gradients_it_is_torchs_kernel_and_the_same(cell, lengths, backward, calls):
    layer, x, h = make(cell)
    with torch.no_grad():
        expected = run(layer, x, h, lengths, backward)
    assert not calls
    actual = run(layer, x, h, lengths, backward)
    assert calls
    for ours, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


@each_cell
@pytest.mark.parametrize("frozen", ["weight_hh_l0", "bias_hh_l0", "weight_ih_l0", "all"])
def test_what_is_frozen_gets_no_gradient_and_the_rest_the_same(cell, frozen):
    layer, x, h = make(cell)
    run(layer, x, h, LENGTHS)[0].sum().backward()
    expected = {name: weight.grad for name, weight in layer.named_parameters()}
    layer.zero_grad()
    for name, weight in layer.named_parameters():
        weight.requires_grad_(frozen not in (name, "all"))
    outputs, _ = run(layer, x.requires_grad_(), h, LENGTHS)
    outputs.sum().backward()
    assert x.grad[0, :3].any() and not x.grad[0, 3:].any(), "padding has no part in it"
    for name, weight in layer.named_parameters():
        if frozen in (name, "all"):
            assert weight.grad is None
        else:
            torch.testing.assert_close(weight.grad, expected[name], rtol=0, atol=0)


@each_cell
def test_the_same_again_to_the_last_bit(cell):
    layer, x, h = make(cell)
    results = []
    for _ in range(2):
        layer.zero_grad()
        outputs, last = run(layer, x, h, LENGTHS)
        (outputs.square().sum() + last.sum()).backward()
        results.append([outputs, *(weight.grad for weight in layer.parameters())])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@each_cell
def test_a_graph_that_is_kept_can_be_gone_back_through_twice(cell):
    layer, x, h = make(cell)
    loss = run(layer, x, h, LENGTHS)[0].square().sum()
    first, second = (torch.autograd.grad(loss, list(layer.parameters()), retain_graph=True) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@each_cell
@pytest.mark.parametrize("loss", [torch.sum, torch.norm])
def test_a_second_derivative_is_refused(cell, loss):
    """Also where the gradient that comes in is a constant, and what lies behind it would be left out of a sum."""
    layer, x, h = make(cell)
    weights = list(layer.parameters())
    gradients = torch.autograd.grad(loss(run(layer, x, h)[0]), weights, create_graph=True)
    with pytest.raises(RuntimeError, match="engine='stepwise'"):
        sum(grad.square().sum() for grad in (*gradients, *weights)).backward()


@each_cell
def test_gradients_taken_forwards_are_torchs(cell, calls):
    layer, x, h = make(cell)
    with forward_ad.dual_level():
        pushed = forward_ad.unpack_dual(run(layer, forward_ad.make_dual(x, torch.ones_like(x)), h)[0]).tangent
    small = 1e-3
    differences = (run(layer, x + small, h)[0] - run(layer, x - small, h)[0]) / (2 * small)
    torch.testing.assert_close(pushed, differences, atol=2e-3, rtol=0)


@each_cell
def test_many_gradients_at_once_are_refused(cell):
    layer, x, h = make(cell)
    with pytest.raises(RuntimeError, match="engine='stepwise'"):
        torch.autograd.functional.jacobian(lambda x: run(layer, x, h)[0].sum((0, 1)), x, vectorize=True)


@each_cell
def test_a_graph_of_gradients_holds_the_same_gradients(cell):
    layer, x, h = make(cell)
    loss = run(layer, x, h, LENGTHS)[0].square().sum()
    plain, graph = (
        torch.autograd.grad(loss, list(layer.parameters()), retain_graph=True, create_graph=twice)
        for twice in (False, True)
    )
    assert all(grad.equal(other) and not grad.requires_grad for grad, other in zip(plain, graph, strict=True))


@pytest.mark.parametrize("family", ["rnn", "gru"])
def test_torchs_kernel_runs_where_functions_are_transformed(family, calls):
    model = core.build(family, vocab_size=9, d_hidden=UNIT).double()
    ids, weights = torch.randint(1, 9, (BATCH, TIME)), dict(model.named_parameters())

    def loss(values: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(model, values, (ids, LENGTHS)).logits.square().sum()

    gradients = torch.func.grad(loss)({name: weight.detach() for name, weight in weights.items()})
    assert not calls
    loss(weights).backward()
    assert calls
    for name, weight in weights.items():
        torch.testing.assert_close(gradients[name], weight.grad)


@each_cell
def test_autocast_does_not_reach_it(cell):
    layer, x, h = make(cell)
    expected = run(layer, x, h, LENGTHS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = run(layer, x, h, LENGTHS)
    assert all(torch.equal(a, b) for a, b in zip(actual, expected, strict=True))


@pytest.mark.parametrize("family", ["rnn", "gru"])
def test_the_same_noise_between_layers(family, calls, monkeypatch):
    model = core.build(family, vocab_size=9, d_hidden=UNIT, n_layers=2, bidirectional=True, dropout=0.5).train()
    ids, logits = torch.randint(1, 9, (BATCH, TIME)), []
    for min_length in (1, 1000):
        monkeypatch.setattr(engine, "MIN_KERNEL_LENGTH", min_length)
        torch.manual_seed(3)
        logits.append(model(ids, LENGTHS).logits)
    assert len(calls) == 4  # two layers, two directions, once
    torch.testing.assert_close(*logits, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["rnn", "gru"])
def test_on_a_device_without_numbers(family, calls):
    model = core.build(family, vocab_size=9, device="meta")
    assert model(torch.ones(2, 5, dtype=torch.long, device="meta")).logits.is_meta
    assert not calls


def test_rows_of_a_padded_batch():
    """Three sequences, 1 2 3, 4 and 5 6."""
    tokens = torch.tensor([[1, 2, 3], [4, 0, 0], [5, 6, 0]])[..., None]
    lengths = torch.tensor([3, 1, 2])
    for backward, expected, ends in [(False, [1, 5, 4, 2, 6, 3], [3, 4, 6]), (True, [3, 6, 4, 2, 5, 1], [1, 4, 5])]:
        packed = PackedBatch(3, 3, lengths, backward)
        assert packed.sizes == [3, 2, 1]
        rows = packed.pack(tokens)
        assert rows.flatten().tolist() == expected
        assert torch.equal(packed.unpack(rows), tokens)
        assert packed.last(rows).flatten().tolist() == ends
    assert packed.sort(tokens[:, 0]).flatten().tolist() == [1, 5, 4]
