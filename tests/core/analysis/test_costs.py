"""Cost formulas against torch's own counter, captured tensors of real passes, and the table of Vaswani et al. 2017."""

import pytest
import torch

import core
from core.analysis import costs
from core.analysis.layer_costs import compare_layers
from core.models import is_encoder_decoder
from tests.core.examples import FAMILIES, label, small_config

CASES = [
    *[(family, {}) for family in FAMILIES],
    ("gpt", {"attention": "local", "window": 3}), ("gpt", {"activation": "geglu"}), ("gpt", {"n_kv_heads": 1}),
    ("gpt", {"d_head": 3, "position": "none"}), ("bert", {"attention": "local", "window": 2}),
    ("transformer", {"downsample": 2}), ("transformer", {"n_decoder_layers": 3}), ("t5", {"activation": "swiglu"}),
    ("lstm", {"bidirectional": True, "head": "tagger"}), ("rnn", {"head": "lm"}),
    *[("seq2seq", {"attention": kind}) for kind in ("none", "luong-dot", "luong-general", "luong-concat")],
    ("seq2seq", {"cell": "lstm", "n_layers": 3, "bidirectional": False}),
    *[("bert", {"head": head}) for head in ("classifier", "tagger", "crf", "pointer", "qa")],
    *[("gru", {"head": head}) for head in ("crf", "pointer", "qa")],
]  # fmt: skip


@pytest.mark.parametrize(
    ("family", "options"), CASES, ids=lambda value: value if isinstance(value, str) else label(value)
)
def test_flops_are_those_torch_counts(family, options):
    config = small_config(family, **options)
    model = core.build(config).eval()
    for n in (4, 10):
        assert sum(costs.flops(config, n).values()) == costs.count_flops(model, n)


@pytest.mark.parametrize(
    ("family", "options"), CASES, ids=lambda value: value if isinstance(value, str) else label(value)
)
def test_parameters_and_recurrent_updates_are_the_models_own(family, options):
    config = small_config(family, **options)
    model = core.build(config).eval()
    assert costs.parameter_count(config) == sum(weight.numel() for weight in model.parameters())
    ids = torch.ones(1, 6, dtype=torch.long)
    with torch.no_grad(), core.capture(model, "*layers.*.hidden") as tape:
        model(ids, ids) if is_encoder_decoder(model) else model(ids)
    assert costs.recurrent_updates(config, 6) == sum(states.shape[1] for states in tape.values())


@pytest.mark.parametrize(
    ("family", "options"), CASES[::3], ids=lambda value: value if isinstance(value, str) else label(value)
)
def test_activations_are_those_of_a_real_pass(family, options):
    config = small_config(family, **options)
    measured = costs.measure(core.build(config).eval(), 8)
    assert measured.activation_bytes == costs.activation_bytes(config, 8)
    assert measured.flops == sum(costs.flops(config, 8).values())
    assert measured.saved_bytes > 0 and measured.seconds > 0


def test_only_attention_grows_quadratically():
    config = core.configure("gpt", max_len=4_096)
    short, long = costs.flops(config, 1_024), costs.flops(config, 2_048)
    assert long["attention"] == 4 * short["attention"]
    assert all(long[part] == 2 * short[part] for part in short if part != "attention")
    local = core.configure("gpt", max_len=4_096, attention="local", window=64)
    assert costs.flops(local, 2_048)["attention"] == 2 * costs.flops(local, 1_024)["attention"]


def test_state_while_generating():
    gpt = core.configure("gpt2-small")
    assert costs.state_bytes(gpt, 1_024) == 4 * 2 * 12 * 768 * 1_024
    assert (
        costs.state_bytes(core.configure("gpt", n_kv_heads=1), 100)
        == costs.state_bytes(core.configure("gpt"), 100) / 4
    )
    lstm = core.configure("lstm", n_layers=3, d_hidden=50)
    assert costs.state_bytes(lstm, 10) == costs.state_bytes(lstm, 10_000) == 4 * 2 * 3 * 50
    assert costs.state_bytes(core.configure("bert"), 10) is None


def test_bert_large_costs_what_its_size_suggests():
    """Two operations per parameter and token that is multiplied, and the comparisons besides (Kaplan et al. 2020)."""
    config, n = core.configure("bert-large"), 128
    flops = costs.flops(config, n)
    blocks = core.build(config, device="meta").blocks
    matrices = sum(weight.numel() for weight in blocks.parameters() if weight.dim() == 2)
    assert flops["projections"] + flops["feed-forward"] == 2 * n * matrices


def test_the_table_of_layers():
    rnn, cnn, attention = compare_layers(n=16, width=32)
    assert [layer.name for layer in (rnn, cnn, attention)] == ["rnn", "cnn", "attention"]
    assert rnn.flops == (16 * 4 * 32**2, 32 * 4 * 32**2)
    assert cnn.flops == (3 * 16 * 2 * 32**2, 3 * 32 * 2 * 32**2)
    assert attention.flops == tuple(8 * n * 32**2 + 4 * n * n * 32 for n in (16, 32))
    assert rnn.chain[1] - rnn.chain[0] == 16 * 3, "each token waits for the one before: product, sum, tanh"
    assert cnn.chain[0] == cnn.chain[1] and attention.chain[0] == attention.chain[1]
    assert (rnn.hops, cnn.hops, attention.hops) == ((16, 32), (15, 31), (1, 1))
    assert all(seconds > 0 for layer in (rnn, cnn, attention) for seconds in layer.seconds)
