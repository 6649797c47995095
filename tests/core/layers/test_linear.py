"""The oneDNN product gives torch's numbers, gradients and second derivatives, and is left out where it must be."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.utils.flop_counter import FlopCounterMode

import core
from core.layers import linear as module
from core.layers.linear import MIN_MULTIPLICATIONS, Linear, OneDnnLinear, linear

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")
ROWS, IN, OUT = 64, 256, 512
assert ROWS * IN * OUT >= MIN_MULTIPLICATIONS


@pytest.fixture(autouse=True)
def quicker(monkeypatch) -> None:
    """Whatever processor the tests run on."""
    monkeypatch.setattr(module, "onednn_is_faster", lambda: True)


@pytest.fixture
def onednn_calls(monkeypatch) -> list[torch.Size]:
    """The shapes of x in the products that oneDNN computed."""
    shapes, apply = [], OneDnnLinear.apply
    monkeypatch.setattr(module.OneDnnLinear, "apply", lambda x, *rest: (shapes.append(x.shape), apply(x, *rest))[1])
    return shapes


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5 * max(1.0, theirs.abs().max().item()), rtol=0)


def arguments(shape: tuple[int, ...] = (ROWS,), bias: bool = True, columns: bool = False) -> list[Tensor]:
    torch.manual_seed(0)
    weight = torch.randn(IN, OUT).T if columns else torch.randn(OUT, IN)
    tensors = [torch.randn(*shape, IN), weight * IN**-0.5, *([torch.randn(OUT)] if bias else [])]
    return [tensor.requires_grad_() for tensor in tensors]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("shape", [(ROWS,), (4, ROWS), (2, 3, ROWS), (1, ROWS)])
def test_values_and_gradients_are_those_of_torch(shape, bias, columns, onednn_calls):
    tensors = arguments(shape, bias, columns)
    ours, theirs = linear(*tensors), F.linear(*tensors)
    assert onednn_calls
    close(ours, theirs)
    upstream = torch.randn_like(theirs)
    gradients = zip(
        torch.autograd.grad(ours, tensors, upstream), torch.autograd.grad(theirs, tensors, upstream), strict=True
    )
    for own, other in gradients:
        close(own, other)


@pytest.mark.parametrize("x", [torch.randn(ROWS, 2 * IN)[:, ::2], torch.randn(ROWS, 3, IN).transpose(0, 1)])
def test_inputs_may_lie_anyhow(x, onednn_calls):
    x, weight = x.requires_grad_(), torch.randn(OUT, IN)
    ours, theirs = linear(x, weight), F.linear(x, weight)
    assert onednn_calls
    close(ours, theirs)
    close(*(torch.autograd.grad(y.sin().sum(), x)[0] for y in (ours, theirs)))


def test_one_vector_is_a_row(onednn_calls):
    x, weight = torch.randn(4096, requires_grad=True), torch.randn(1024, 4096, requires_grad=True)
    ours, theirs = linear(x, weight), F.linear(x, weight)
    assert onednn_calls == [(4096,)]
    close(ours, theirs)
    own, other = (torch.autograd.grad(y.sum(), [x, weight]) for y in (ours, theirs))
    close(own[0], other[0])
    close(own[1], other[1])


def test_it_may_be_differentiated_twice(onednn_calls):
    tensors = arguments((2, ROWS))

    def twice(product) -> tuple[Tensor, ...]:
        first = torch.autograd.grad(product(*tensors).tanh().sum(), tensors, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), tensors)

    for own, other in zip(twice(linear), twice(F.linear), strict=True):
        close(own, other)
    assert onednn_calls


@pytest.mark.parametrize("frozen", range(3))
def test_what_is_frozen_gets_no_gradient(frozen):
    tensors = arguments()
    tensors[frozen].requires_grad_(False)
    linear(*tensors).sum().backward()
    for i, tensor in enumerate(tensors):
        assert (tensor.grad is None) == (i == frozen)


def test_small_products_and_weights_with_gaps_are_left_to_torch(onednn_calls):
    linear(torch.randn(8, 32), torch.randn(32, 32))
    linear(torch.randn(ROWS, IN), torch.randn(IN, 3 * OUT)[:, OUT : 2 * OUT].T)  # a third of one table of q, k and v
    linear(torch.randn(ROWS, IN).double(), torch.randn(OUT, IN).double())
    linear(torch.randn(ROWS, IN, device="meta"), torch.randn(OUT, IN, device="meta"))
    linear(torch.randn(0, IN), torch.randn(OUT, IN))
    assert not onednn_calls


def test_a_bias_with_gaps_is_left_to_torch(onednn_calls):
    x, weight = torch.randn(ROWS, IN), torch.randn(OUT, IN)
    for bias in (torch.randn(OUT, 2)[:, 0], torch.randn(1).expand(OUT), torch.randn(1)):
        close(linear(x, weight, bias), F.linear(x, weight, bias))
    assert not onednn_calls


@pytest.mark.parametrize(
    ("x", "bias"),
    [
        (torch.randn(ROWS, IN + 1), None),
        (torch.randn(ROWS, IN), torch.randn(OUT + 1)),
        (torch.randn(ROWS, IN), torch.randn(OUT).double()),
    ],
)
def test_what_does_not_fit_is_refused_in_the_words_of_torch(x, bias):
    weight = torch.randn(OUT, IN)
    with pytest.raises(RuntimeError) as theirs:
        F.linear(x, weight, bias)
    with pytest.raises(RuntimeError) as ours:
        linear(x, weight, bias)
    assert str(ours.value) == str(theirs.value)


def test_only_what_a_gradient_needs_is_kept():
    """As with torch's own: the other argument may be written over before the backward pass."""
    x, weight, _ = arguments()
    read, frozen = x * 1, weight.detach().clone()
    y = linear(read, frozen)
    read.zero_()
    y.sum().backward()
    close(x.grad, frozen.sum(0).expand_as(x))

    fixed, grown = x.detach().clone(), weight * 1
    y = linear(fixed, grown)
    grown.zero_()
    y.sum().backward()
    close(weight.grad, fixed.sum(0).expand_as(weight))


def test_who_follows_the_operations_of_torch_sees_them(onednn_calls):
    layer, x = Linear(IN, OUT), torch.randn(ROWS, IN)
    with FlopCounterMode(display=False) as counter:
        layer(x)
    assert counter.get_total_flops() == 2 * ROWS * IN * OUT
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    with torch.backends.mkldnn.flags(enabled=False):
        layer(x)
    with forward_ad.dual_level():
        pushed = forward_ad.unpack_dual(layer(forward_ad.make_dual(x, torch.ones_like(x)))).tangent
    close(pushed, F.linear(torch.ones_like(x), layer.weight))
    assert torch.jit.trace(layer, x, check_trace=False)(x).shape == (ROWS, OUT)
    assert torch.func.vmap(layer)(x[None]).shape == (1, ROWS, OUT)
    assert torch.func.jvp(layer, (x,), (x,))[1].shape == (ROWS, OUT)
    assert not onednn_calls


def test_only_a_wide_processor_of_another_maker_is_quicker(monkeypatch):
    monkeypatch.undo()
    cases = [("AMD EPYC", True, True), ("AMD EPYC", False, False), ("Intel(R) Xeon(R)", True, False)]
    for name, wide, expected in cases:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda n=name, w=wide: {"cpu_name": n, "avx512_f": w})
        assert module.onednn_is_faster.__wrapped__() is expected
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"architecture": "aarch64"})
    assert module.onednn_is_faster.__wrapped__() is False


@pytest.mark.parametrize("family", ["rnn", "gru", "lstm", "seq2seq", "transformer", "bert", "roformer", "gpt", "t5"])
def test_whole_models_agree_with_torchs_own_product(family, onednn_calls, monkeypatch):
    """Captured or not, with gradients; and every layer of a model is of this kind."""
    recurrent = family in ("rnn", "gru", "lstm", "seq2seq")
    options = {"d_hidden": 128, "d_embed": 128} if recurrent else {"d_model": 128}
    model = core.build(
        family, vocab_size=500, **options, **({"head": "lm"} if family in ("rnn", "gru", "lstm") else {})
    )
    assert all(isinstance(m, Linear) for m in model.modules() if isinstance(m, nn.Linear))
    other = copy.deepcopy(model)
    torch.manual_seed(0)
    ids = torch.randint(1, 500, (16, 24))
    inputs = (ids, ids) if family in ("seq2seq", "transformer", "t5") else (ids,)
    logits = model(*inputs).logits
    logits.square().mean().backward()
    with core.capture(model), torch.no_grad():
        captured = model(*inputs).logits
    assert onednn_calls
    monkeypatch.setattr(module, "onednn_is_faster", lambda: False)
    plain = other(*inputs).logits
    plain.square().mean().backward()
    close(logits, plain)
    close(captured, plain)
    for own, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert (own.grad is None) == (theirs.grad is None)
        if own.grad is not None:
            close(own.grad, theirs.grad)
