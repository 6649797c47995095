"""Capturing changes nothing: logits and gradients are the same, captured or not, whatever the options."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

import core
from core.config.families import CONFIGS
from tests.core.examples import (
    ATTENTIVE,
    FAMILIES,
    POSITIONS,
    RECURRENT,
    batch,
    label,
    loss_of,
    small,
    values,
    variants,
)

PAIRS = [
    *product(ATTENTIVE, [{"attention": "local", "position": position} for position in POSITIONS]),
    *product(ATTENTIVE, [{"n_kv_heads": 1, "position": position} for position in POSITIONS]),
    *product(ATTENTIVE, [{"norm": "conditional", "norm_placement": where} for where in ("pre", "post", "none")]),
    *product(ATTENTIVE, [{"checkpointing": True, "attention": "local"}, {"checkpointing": True, "position": "t5"}]),
    *product(["transformer", "t5"], [{"downsample": 2, "cross_position": True, "position": p} for p in POSITIONS]),
    *product(["gpt"], [{"attention": "local", "causal": False, "position": position} for position in POSITIONS]),
    *product(RECURRENT, [{"bidirectional": True, "head": head} for head in ("classifier", "tagger", "pointer")]),
    *product(["seq2seq"], [{"cell": c, "attention": a} for c in RECURRENT for a in ("none", "luong-dot", "bahdanau")]),
]  # fmt: skip
EVERYTHING = ("*",)
CASES = [(family, options) for family in FAMILIES for options in variants(family)]
IDS = [f"{family}-{label(options)}" for family, options in CASES]


def run(model, inputs, patterns=None):
    """Logits and, in one vector, the gradients of all parameters; with the same noise each time."""
    torch.manual_seed(7)
    if patterns is None:
        output = model(**inputs)
    else:
        with core.capture(model, *patterns) as tape:
            output = model(**inputs)
        assert tape.names()
    loss = loss_of(model, output, inputs)
    gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)
    return output.logits.detach(), torch.cat([gradient.flatten() for gradient in gradients])


def check_same(model, inputs, patterns=EVERYTHING):
    logits, gradients = run(model, inputs)
    captured_logits, captured_gradients = run(model, inputs, patterns)
    assert_equal_to_rounding(captured_logits, logits)
    assert_equal_to_rounding(captured_gradients, gradients)


def assert_equal_to_rounding(captured, plain):
    """Within 1e-5, of the largest number where that is above 1; spans and answers that cannot be are −∞ in both."""
    size = plain[plain != -torch.inf].abs().max()
    assert size < 1e4  # neither NaN nor so large that rounding would decide
    assert_close(captured, plain, atol=1e-5 * max(1.0, float(size)), rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_cases_below_cover_every_option_value(family):
    covered = [change for name, options in CASES if name == family for change in options.items()]
    for option in CONFIGS[family].options():
        tested = [value for name, value in covered if name == option.name]
        if option.kind in (str, bool):
            assert tested == values(option)
        assert len(set(tested)) >= 2
        assert not option.optional or None in tested


@pytest.mark.parametrize(("family", "options"), CASES, ids=IDS)
def test_every_option_value(family, options):
    """In eval mode, and in train mode, where both ways of computing draw the same noise when seeded alike."""
    model = small(family, **options)
    check_same(model, batch(model))
    check_same(model.train(), batch(model, seed=1))


@pytest.mark.parametrize(
    ("family", "options"), PAIRS, ids=lambda case: label(case) if isinstance(case, dict) else case
)
def test_pairs_of_options(family, options):
    model = small(family, **options)
    check_same(model, batch(model))
    check_same(model.train(), batch(model, seed=1))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_full_rows_need_no_lengths(family, training):
    model = small(family).train(training)
    inputs = {name: value for name, value in batch(model, lengths=(5, 5)).items() if "lengths" not in name}
    reference = model(**inputs).logits
    with core.capture(model):
        assert_close(model(**inputs).logits, reference, atol=1e-5, rtol=1e-5)
    full = {
        name: torch.tensor([5, 5]) for name in (["src_lengths", "tgt_lengths"] if "src" in inputs else ["lengths"])
    }
    assert_close(model(**inputs, **full).logits, reference, atol=0, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_dropout_only_acts_in_training(family, dropout):
    model, plain = small(family, dropout=dropout), small(family)
    inputs = batch(model)
    assert_close(model(**inputs).logits, plain(**inputs).logits, atol=0, rtol=0)
    moved = (model.train()(**inputs).logits - plain(**inputs).logits).nan_to_num().abs().max()
    assert (moved > 1e-3) == (dropout > 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_dropout_with_the_same_seed(family):
    model = small(family, dropout=0.1).train()
    check_same(model, batch(model))


@pytest.mark.parametrize("family", ATTENTIVE)
def test_dropout_in_local_attention_draws_per_block(family):
    """The one exception: the kernel of local attention never makes the n² cells that the formula drops from.

    Everything else of the block still draws alike, so a capture that does not ask for the weights changes nothing.
    """
    model = small(family, attention="local", dropout=0.1).train()
    inputs = batch(model)
    check_same(model, inputs, patterns=["*.resid_out", "*.context"])
    assert not torch.allclose(run(model, inputs)[0], run(model, inputs, EVERYTHING)[0])


RECURRENT_PATTERNS = ["*.hidden", "layers.0.fwd.*", "layers.1.bwd.hidden", "embed", "logits"]
ATTENTIVE_PATTERNS = [
    "*.weights",
    "*blocks.1.attn.scores",
    "*.mask",
    "*.context",
    "*.resid_mid",
    "*.ff.post",
    "logits",
]
SEQ2SEQ_PATTERNS = ["*.weights", "encoder.*.fwd.hidden", "encoder.layers.0.bwd.*", "decoder.layers.1.*", "*.context"]
PARTIAL = [
    *product(RECURRENT, [{"bidirectional": True}], RECURRENT_PATTERNS),
    *product(ATTENTIVE, [{}, {"attention": "local"}], ATTENTIVE_PATTERNS),
    *product(["seq2seq"], [{"cell": "lstm"}, {"attention": "luong-dot"}], SEQ2SEQ_PATTERNS),
]


@pytest.mark.parametrize(("family", "options", "pattern"), PARTIAL)
def test_partial_captures(family, options, pattern):
    model = small(family, **options)
    check_same(model, batch(model), [pattern])
