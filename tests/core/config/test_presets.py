"""Presets: their options pass, and on the meta device even the largest costs nothing."""

import resource

import pytest
import torch

import core
from tests.core.examples import small_config
from tests.words import chinese

PRESETS = list(core.PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_options_pass_and_can_be_changed(name):
    preset = core.PRESETS[name]
    config = core.configure(name)
    assert config.family == preset.family
    assert {option: getattr(config, option) for option in preset.options} == preset.options
    assert core.configure(name, n_layers=3, dropout=0.25) == core.configure(
        preset.family, **{**preset.options, "n_layers": 3, "dropout": 0.25}
    )
    assert str(preset.help) and chinese(preset.help)
    with pytest.raises(core.ConfigError):
        core.configure(name, n_layers=0)


@pytest.mark.parametrize("name", PRESETS)
def test_meta_models_have_no_memory(name):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = core.build(name, device="meta")
    tensors = [*model.parameters(), *model.buffers()]
    assert tensors and all(tensor.is_meta for tensor in tensors)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    assert grown < max(size / 4, 256e6)  # what torch loads on first use counts too


@pytest.mark.parametrize("name", PRESETS)
def test_meta_models_run(name):
    """Shapes of everything inside, without a single number."""
    model = core.build(name, device="meta").eval()
    ids = torch.zeros(2, 5, dtype=torch.long, device="meta")
    with torch.no_grad(), core.capture(model) as tape:
        logits = model(ids, ids[:, :3]).logits if hasattr(model, "encode") else model(ids).logits
    assert logits.is_meta and len(logits) == 2 and all(value.is_meta for value in tape.values())
    weights = [tape[point] for point in tape if point.endswith("attn.weights")]
    assert all(each.shape[:2] == (2, model.config.n_heads) for each in weights)


PUBLISHED = {  # millions of parameters of the released models
    "transformer-base": 65, "transformer-big": 213, "bert-base": 110, "bert-large": 340, "gpt2-small": 124,
    "gpt2-medium": 355, "gpt2-large": 774, "gpt2-xl": 1558, "t5-small": 60, "t5-base": 223, "t5-large": 738,
    "flan-t5-small": 77, "bert-tiny": 4.4,
}  # fmt: skip


@pytest.mark.parametrize(("name", "millions"), PUBLISHED.items())
def test_sizes_are_the_published_ones(name, millions):
    model = core.build(name, device="meta")
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count / 1e6 == pytest.approx(millions, rel=0.04)


def test_a_meta_model_can_be_given_memory_later():
    real = core.build(small_config("gpt"))
    meta = core.build(small_config("gpt"), device="meta")
    assert meta.state_dict().keys() == real.state_dict().keys()
    assert {n: p.shape for n, p in meta.named_parameters()} == {n: p.shape for n, p in real.named_parameters()}
