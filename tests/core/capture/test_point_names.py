"""Point names of real models are taken apart as their modules are nested."""

import pytest
import torch

import core
from core.capture.point_names import ATTENTION_WEIGHTS, INPUT_SELF_ATTENTION_WEIGHTS, RECURRENT_POINT


@pytest.mark.parametrize(
    ("name", "stack", "layer", "kind"),
    [
        ("blocks.0.attn.weights", "", "0", "attn"),
        ("encoder.blocks.3.attn.weights", "encoder.", "3", "attn"),
        ("decoder.blocks.12.cross.weights", "decoder.", "12", "cross"),
        ("decoder.cross.weights", "decoder.", None, "cross"),
    ],
)
def test_attention(name, stack, layer, kind):
    match = ATTENTION_WEIGHTS.fullmatch(name)
    assert (match["stack"], match["layer"], match["kind"]) == (stack, layer, kind)
    assert f"{match['module']}.weights" == name
    reads_input = stack in ("", "encoder.") and kind == "attn"
    assert (INPUT_SELF_ATTENTION_WEIGHTS.fullmatch(name) is not None) == reads_input


def test_gates_and_states():
    match = RECURRENT_POINT.fullmatch("encoder.layers.1.bwd.forget")
    assert match.groupdict() == {
        "module": "encoder.layers.1.bwd", "stack": "encoder.", "layer": "1", "direction": "bwd", "point": "forget"
    }  # fmt: skip


@pytest.mark.parametrize(("family", "attention", "recurrent"), [("lstm", 0, 1), ("gpt", 1, 0), ("seq2seq", 1, 1)])
def test_the_points_of_real_models(family, attention, recurrent):
    model, ids = core.build(family, vocab_size=10), torch.tensor([[3, 4, 5]])
    with core.capture(model) as tape:
        model(*[ids] * (2 if family == "seq2seq" else 1))
    assert any(map(ATTENTION_WEIGHTS.fullmatch, tape.names())) == bool(attention)
    assert any(map(RECURRENT_POINT.fullmatch, tape.names())) == bool(recurrent)
