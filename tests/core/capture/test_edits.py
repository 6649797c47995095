"""Edits do what they say, are felt by everything computed later, and refuse what cannot be."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import core
from core.capture.edits import add, at, patch, scale, set_to, set_units, uniform_heads, zero_heads, zero_units
from tests.core.examples import ATTENTIVE, RECURRENT, batch, small

ATTENTION = "blocks.0.attn"
FORGET = "layers.0.fwd.forget"


def run(model, inputs, edits=None):
    """The tape of one run."""
    with core.capture(model) as tape:
        if edits:
            with core.edit(model, edits):
                model(**inputs)
        else:
            model(**inputs)
    return tape


def prefix(family):
    return "decoder." if family in ("transformer", "t5") else ""


def changed_positions(before, after):
    """Which positions differ in any row, (time,)"""
    return (before != after).any(-1).any(0).tolist()


@pytest.mark.parametrize("heads", [(0,), (1, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("family", ATTENTIVE)
def test_zeroed_heads_have_no_part_in_the_output(family, heads):
    """As if their columns of the output projection were not there."""
    model = small(family, n_heads=4)
    name = f"{prefix(family)}{ATTENTION}"
    plain, edited = run(model, batch(model)), run(model, batch(model), {f"{name}.context": zero_heads(*heads)})
    projection, width = model.get_submodule(name).out_proj, 2
    remaining = [head for head in range(4) if head not in heads]
    by_hand = torch.zeros_like(plain[f"{name}.out"])
    for head in remaining:
        columns = projection.weight[:, head * width : (head + 1) * width]
        by_hand += plain[f"{name}.context"][:, head] @ columns.T
    if projection.bias is not None:
        by_hand += projection.bias
    assert_close(edited[f"{name}.out"], by_hand, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(edited["logits"], plain["logits"])

    with torch.no_grad():  # the same surgery on the weights themselves
        for head in heads:
            projection.weight[:, head * width : (head + 1) * width] = 0
    assert_close(run(model, batch(model))["logits"], edited["logits"], atol=1e-6, rtol=1e-5)


def test_uniform_heads_look_everywhere_equally():
    model = small("gpt", n_heads=4)
    inputs = batch(model)
    name = f"{ATTENTION}.weights"
    plain, edited = run(model, inputs), run(model, inputs, {f"{ATTENTION}.scores": uniform_heads(1, 2)})
    lengths = inputs["lengths"]
    for row, query in torch.cartesian_prod(torch.arange(3), torch.arange(7)).tolist():
        visible = min(query + 1, int(lengths[row]))
        expected = torch.tensor([1 / visible] * visible + [0.0] * (7 - visible))
        assert_close(edited[name][row, 1:3, query], expected.expand(2, 7))
    assert edited[name][:, [0, 3]].equal(plain[name][:, [0, 3]])
    assert_close(edited[f"{ATTENTION}.context"], edited[name] @ edited[f"{ATTENTION}.v"], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("family", "options"),
    [("gpt", {}), ("bert", {"attention": "local"}), ("bert", {"position": "alibi"}), ("gpt", {"position": "t5"})],
)
def test_uniform_heads_also_look_where_the_weight_was_rounded_to_nothing(family, options):
    model = small(family, **options)
    with torch.no_grad():
        model.blocks[0].attn.q_proj.weight.mul_(1e4)  # every query sees one key alone
    plain = run(model, batch(model))
    allowed = plain[f"{ATTENTION}.mask"].expand_as(plain[f"{ATTENTION}.weights"])
    assert (plain[f"{ATTENTION}.weights"][allowed] == 0).any()
    edited = run(model, batch(model), {f"{ATTENTION}.scores": uniform_heads(0, 1)})[f"{ATTENTION}.weights"]
    assert_close(edited, allowed / allowed.sum(-1, keepdim=True).clamp(min=1))


def test_edited_scores_and_masks_enter_the_softmax():
    model = small("bert")
    inputs = batch(model)
    flat = run(model, inputs, {f"{ATTENTION}.scores": set_to(0.0)})
    assert_close(flat[f"{ATTENTION}.weights"][1, 0, 0], torch.tensor([1 / 3] * 3 + [0.0] * 4))
    blind = run(model, inputs, {f"{ATTENTION}.mask": set_to(0.0)})
    assert not blind[f"{ATTENTION}.weights"].any() and not blind[f"{ATTENTION}.context"].any()


@pytest.mark.parametrize("point", [f"{ATTENTION}.q", "blocks.0.resid_in", "blocks.1.ff.post", "embed"])
def test_arithmetic_on_transformer_points(point):
    model = small("gpt")
    inputs = batch(model)
    plain = run(model, inputs)[point]
    vector = torch.randn(plain.shape[-1])
    clamped = plain.clone()
    clamped[..., [0, 2]] = 5.0
    expected = {
        "scale": (scale(-2.0), plain * -2), "add": (add(vector), plain + vector), "set_to": (set_to(3.0), plain * 0 + 3),
        "zero_units": (zero_units(1), plain * (torch.arange(plain.shape[-1]) != 1)), "set_units": (set_units(5.0, 0, 2), clamped),
        "patch": (patch(plain.flip(0)), plain.flip(0)), "function": (torch.relu, plain.clamp(min=0)),
    }  # fmt: skip
    for edit, value in expected.values():
        assert_close(run(model, inputs, {point: edit})[point], value)


@pytest.mark.parametrize("family", RECURRENT)
def test_arithmetic_on_recurrent_points(family):
    """A value set holds at every position; scaling and adding repeat at each, so only the first is compared."""
    model = small(family)
    inputs, point = {"ids": batch(model)["ids"]}, "layers.0.fwd.hidden"
    plain = run(model, inputs)[point]
    vector = torch.randn(4)
    assert_close(run(model, inputs, {point: set_to(0.5)})[point], torch.full((3, 7, 4), 0.5))
    clamped = run(model, inputs, {point: set_units(0.25, 1, 3)})[point]
    assert (clamped[..., [1, 3]] == 0.25).all() and clamped[:, 0, [0, 2]].equal(plain[:, 0, [0, 2]])
    assert not run(model, inputs, {point: zero_units(2)})[point][..., 2].any()
    assert_close(run(model, inputs, {point: scale(2.0)})[point][:, 0], plain[:, 0] * 2)
    assert_close(run(model, inputs, {point: add(vector)})[point][:, 0], plain[:, 0] + vector)
    assert_close(run(model, inputs, {point: at(0, add(vector))})[point][:, 0], plain[:, 0] + vector)


@pytest.mark.parametrize(("direction", "changed"), [("fwd", range(3, 7)), ("bwd", range(0, 4))])
def test_a_gate_edited_at_one_step_is_felt_later_only(direction, changed):
    model = small("lstm", bidirectional=True, n_layers=1)
    inputs = {"ids": batch(model)["ids"]}
    name = f"layers.0.{direction}"
    plain = run(model, inputs)
    edited = run(model, inputs, {f"{name}.forget": at(3, set_to(0.0))})
    for point in ("cell", "hidden"):
        moved = changed_positions(plain[f"{name}.{point}"], edited[f"{name}.{point}"])
        assert moved == [t in changed for t in range(7)]
    assert changed_positions(plain[f"{name}.forget"], edited[f"{name}.forget"])[3]
    forgotten = edited[f"{name}.input"][:, 3] * edited[f"{name}.candidate"][:, 3]
    assert_close(edited[f"{name}.cell"][:, 3], forgotten)
    other = "bwd" if direction == "fwd" else "fwd"
    assert edited[f"layers.0.{other}.hidden"].equal(plain[f"layers.0.{other}.hidden"])


def test_a_forget_gate_held_at_one_remembers():
    model = small("lstm", n_layers=1)
    edits = {FORGET: set_to(1.0), "layers.0.fwd.input": at(range(1, 7), set_to(0.0))}
    cell = run(model, {"ids": batch(model)["ids"]}, edits)["layers.0.fwd.cell"]
    assert cell[:, 0].any() and cell.equal(cell[:, :1].expand_as(cell))


def test_edits_do_not_wake_sequences_that_have_ended():
    model = small("gru", n_layers=1)
    inputs = batch(model)
    states = run(model, inputs, {"layers.0.fwd.hidden": at([4, 5], set_to(9.0))})["layers.0.fwd.hidden"]
    plain = run(model, inputs)["layers.0.fwd.hidden"]
    assert (states[0, 4:6] == 9).all() and states[1:].equal(plain[1:])


def test_at_on_attention_chooses_queries():
    model = small("gpt")
    plain = run(model, batch(model))[f"{ATTENTION}.context"]
    edited = run(model, batch(model), {f"{ATTENTION}.context": at([1, 4], zero_heads(0))})[f"{ATTENTION}.context"]
    assert not edited[:, 0, [1, 4]].any()
    rest = [0, 2, 3, 5, 6]
    assert edited[:, :, rest].equal(plain[:, :, rest]) and edited[:, 1].equal(plain[:, 1])


def test_edits_of_stepwise_attention():
    """Bahdanau's decoder attends position by position: heads, positions and patches mean the same as elsewhere."""
    model = small("seq2seq")
    inputs = batch(model)
    name = "decoder.cross.weights"
    plain = run(model, inputs)
    assert not run(model, inputs, {"decoder.cross.context": zero_heads(0)})["decoder.cross.context"].any()
    even = run(model, inputs, {"decoder.cross.scores": at(2, uniform_heads(0))})[name]
    assert_close(even[1, 0, 2], torch.tensor([1 / 3] * 3 + [0.0] * 4))
    assert even[:, :, :2].equal(plain[name][:, :, :2])
    first = torch.zeros(3, 1, 5, 7)
    first[..., 0] = 1  # hard attention to the first source token
    patched = run(model, inputs, {name: patch(first)})
    assert patched[name].equal(first)
    encoded = torch.cat([plain[f"encoder.layers.1.{side}.hidden"][:, :1] for side in ("fwd", "bwd")], dim=-1)
    assert_close(patched["decoder.cross.context"][:, 0], encoded.expand(3, 5, 4), atol=1e-6, rtol=1e-5)


PATCHED = [
    ("rnn", "layers.0.fwd.hidden"), ("gru", "layers.0.fwd.hidden"), ("lstm", "layers.0.fwd.hidden"),
    ("seq2seq", "encoder.layers.*"), ("gpt", "blocks.0.resid_out"), ("bert", "blocks.0.resid_out"),
    ("roformer", "blocks.1.resid_mid"), ("transformer", "encoder.blocks.1.resid_out"), ("t5", "encoder.blocks.1.resid_out"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "pattern"), PATCHED)
def test_patching_a_run_reproduces_what_follows(family, pattern):
    """The state after a layer is all that the layers above know: patched from another run, they answer as in it."""
    model = small(family)
    inputs = batch(model)
    other = {**inputs, "src" if "src" in inputs else "ids": batch(model, seed=5)["src" if "src" in inputs else "ids"]}
    donor, own = run(model, other), run(model, inputs)
    names = [name for name in donor if name.startswith(pattern.removesuffix("*"))]
    patched = run(model, inputs, {name: patch(donor[name]) for name in names})
    after = list(donor)[list(donor).index(names[-1]) :]
    assert len(after) > 1 and not own["logits"].allclose(donor["logits"])
    for name in after:
        assert_close(patched[name], donor[name], atol=1e-6, rtol=1e-5)
    embedded = next(iter(own))
    assert patched[embedded].equal(own[embedded])  # comes before


REFUSED = [
    ("gpt", {"blocks.9.attn.context": zero_heads(0)}, r"No point is named 'blocks\.9\.attn\.context'"),
    ("gpt", {"*.context": scale(1.0), "*.kontext": scale(0.0)}, r"No point is named '\*\.kontext'"),
    ("gpt", {"*.bias": scale(0.0)}, "nothing was edited"),  # learned positions have no bias
    ("lstm", {"*.reset": set_to(0.0)}, "No point is named"),
    ("gpt", {"*.context": zero_heads(2)}, "no head 2: they are numbered 0 to 1"),
    ("gpt", {"*.scores": uniform_heads(0, -1)}, "no head -1"),
    ("gpt", {"*.weights": uniform_heads(0)}, r"only be one of 'blocks\.0\.attn\.scores'"),
    ("seq2seq", {"*.weights": at(1, uniform_heads(0))}, r"only be one of 'decoder\.cross\.scores'"),
    ("gpt", {"*.context": zero_units(4)}, "no unit 4: they are numbered 0 to 3"),
    ("lstm", {"*.forget": set_units(1.0, 4)}, "no unit 4"),
    ("gpt", {"*.resid_in": at(7, scale(0.0))}, "no step 7: they are numbered 0 to 6"),
    ("gpt", {"*.context": lambda x: x[..., :2]}, r"returned shape \(3, 2, 7, 2\); it must keep \(3, 2, 7, 4\)"),
    ("gru", {"*.hidden": lambda x: x[:1]}, r"returned shape \(1, 4\); it must keep \(3, 4\)"),
    ("gpt", {"*.resid_in": add(torch.zeros(2, 3, 7, 8))}, "returned shape"),
    ("gpt", {"*.resid_in": add(torch.zeros(5))}, r"'blocks\.0\.resid_in'"),
    ("gpt", {"*.resid_in": patch(torch.zeros(3, 6, 8))}, r"'blocks\.0\.resid_in'"),
    ("gru", {"*.hidden": patch(torch.zeros(3, 6, 4))}, r"'layers\.0\.fwd\.hidden'"),
    ("gru", {"*.hidden": patch(torch.zeros(2, 7, 4))}, r"'layers\.0\.fwd\.hidden'"),
    ("gru", {"*.hidden": at(7, scale(0.0))}, "no step 7: they are numbered 0 to 6"),
    ("gpt", {"*.resid_in": lambda x: None}, r"'blocks\.0\.resid_in'"),
    ("gru", {"*.hidden": zero_heads(0)}, "head"),
]


@pytest.mark.parametrize(("family", "edits", "sentence"), REFUSED)
def test_what_cannot_be_edited(family, edits, sentence):
    model = small(family)
    before = model(**batch(model)).logits
    with pytest.raises(core.TapError, match=sentence), core.edit(model, edits):
        model(**batch(model))
    assert model(**batch(model)).logits.equal(before)


def test_a_model_that_did_not_run_was_not_edited():
    """A copy is another model: its knock-out would silently do nothing."""
    model = small("gpt")
    with pytest.warns(UserWarning, match="did not run"), core.edit(model, {"*.context": zero_heads(0)}):
        deepcopy(model)(**batch(model))
    with core.edit(model, {}):
        pass  # nothing was to be edited


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (zero_heads, "No head was named"),
        (uniform_heads, "No head was named"),
        (zero_units, "No unit was named"),
        (lambda: set_units(1.0), "No unit was named"),
        (lambda: zero_heads([]), "No head was named"),
        (lambda: at([], scale(0.0)), "No step was named"),
        (lambda: zero_heads([True, False]), "Each head is given by its number, not as True"),
        (lambda: zero_units("1"), "Each unit is given by its number, not as '1'"),
        (lambda: at(1.5, scale(0.0)), "Each step is given by its number, not as 1.5"),
        (lambda: at(1, 0.0), "is an edit"),
        (lambda: add("x"), "not str"),
        (lambda: patch(None), "not NoneType"),
    ],
)
def test_edits_that_cannot_be_made(make, sentence):
    with pytest.raises(core.TapError, match=sentence):
        make()


@pytest.mark.parametrize("edits", ["x", None, [zero_heads(0)], {"logits": 0}, {0: scale(0.0)}])
def test_what_is_no_edit(edits):
    model = small("gpt")
    with pytest.raises(core.TapError) as caught, core.edit(model, edits):
        model(**batch(model))
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("model", [None, "gpt", core.build])
def test_what_is_no_model_cannot_be_watched(model):
    with pytest.raises(core.TapError, match="Only a model can be watched"), core.capture(model):
        pass
    with pytest.raises(core.TapError, match="Only a model can be watched"), core.edit(model, {"logits": scale(0.0)}):
        pass


def test_numbers_may_come_in_any_form():
    model = small("gpt", n_heads=4)
    inputs = batch(model)
    same = [
        (f"{ATTENTION}.context", zero_heads(1, 2), [zero_heads([1, 2]), zero_heads(np.array([1, 2])), zero_heads(range(1, 3))]),
        ("blocks.0.ff.post", zero_units(3), [zero_units(np.int64(3)), zero_units(torch.tensor(3)), zero_units([3])]),
        ("embed", at(2, scale(0.0)), [at(np.int64(2), scale(0.0)), at(torch.tensor([2]), scale(0.0)), at([2], scale(0.0))]),
        ("logits", add(torch.arange(11)), [add(range(11)), add(list(range(11))), add(np.arange(11))]),
    ]  # fmt: skip
    for point, usual, others in same:
        expected = run(model, inputs, {point: usual})["logits"]
        for other in others:
            assert run(model, inputs, {point: other})["logits"].equal(expected)


def test_one_wrong_name_does_not_hide_an_error_of_the_block():
    with pytest.raises(ZeroDivisionError), core.edit(small("gpt"), {"no.such.point": scale(0.0)}):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("edits", "sentence"),
    [
        ({"pooled": at(0, scale(0.0))}, "has no time steps"),
        ({"*.context": lambda tensor: tensor.double()}, "returned dtype torch.float64; it must keep torch.float32"),
        ({"*.context": lambda tensor: tensor.to("meta")}, "returned device meta; it must keep cpu"),
    ],
)
def test_edits_that_do_not_fit_their_point(edits, sentence):
    model = small("bert", head="classifier")
    with pytest.raises(core.TapError, match=sentence), core.edit(model, edits):
        model(**batch(model))
