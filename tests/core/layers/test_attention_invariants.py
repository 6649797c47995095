"""Captured attention satisfies its definition: weights are a softmax over the visible keys only."""

import pytest
import torch
from torch.testing import assert_close

import core
from core.layers.masks import valid_mask
from tests.core.examples import ATTENTIVE, POSITIONS, batch, label, loss_of, small

KINDS = [
    *[(family, {}) for family in ATTENTIVE],
    *[(family, {"attention": "local"}) for family in ATTENTIVE],
    *[("gpt", {"position": position}) for position in POSITIONS],
    *[("transformer", {"position": position, "cross_position": True, "downsample": 2}) for position in POSITIONS],
    *[("roformer", {"n_heads": 4, "n_kv_heads": kv}) for kv in (1, 2)],
    ("gpt", {"causal": False, "attention": "local", "n_kv_heads": 1}),
]
ALIGNMENTS = ["bahdanau", "luong-dot", "luong-general", "luong-concat"]


def close(actual, expected):
    assert_close(actual, expected, atol=1e-6, rtol=1e-5)


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0]}-{label(kind[1])}")
def captured(request):
    family, options = request.param
    model = small(family, **options)
    with core.capture(model) as tape:
        model(**batch(model))
    return model, tape


def layers(tape):
    """Every attention on the tape, as a function from a point to its tensor."""
    for name in [name.removesuffix(".weights") for name in tape if name.endswith(".weights")]:
        yield name, lambda point, name=name: tape[f"{name}.{point}"]


def test_rows_sum_to_one_and_masked_cells_are_zero(captured):
    _, tape = captured
    attentions = list(layers(tape))
    assert attentions
    for _, point in attentions:
        weights, mask = point("weights"), point("mask").expand_as(point("weights"))
        visible = mask.any(-1)
        assert visible[:, :, 0].all()  # the first token sees at least one
        close(weights.sum(-1)[visible], torch.ones(int(visible.sum())))
        assert (weights[~visible] == 0).all()
        assert (weights[~mask] == 0).all()
        assert (weights[mask] > 0).all()


def test_masks_hide_what_they_should(captured):
    model, tape = captured
    inputs, config = batch(model), model.config
    for name, point in layers(tape):
        side = "src" if name.startswith("encoder") or ".cross" in name else "tgt"
        lengths = inputs[f"{side}_lengths"] if "src" in inputs else inputs["lengths"]
        if ".cross" in name:
            lengths = -(-lengths // config.downsample)
        queries, keys = point("scores").shape[-2:]
        i, j = torch.arange(queries)[:, None], torch.arange(keys)
        expected = (j < lengths[:, None, None]).expand(3, queries, keys)
        if (name.startswith("decoder") and ".cross" not in name) or getattr(config, "causal", False):
            expected = expected & (j <= i)
        if config.attention == "local" and ".cross" not in name:
            expected = expected & ((i - j).abs() <= config.window)
        assert point("mask").expand_as(point("scores"))[:, 0].equal(expected)


def test_the_formula(captured):
    """scores = q k / √d + bias, weights = softmax(scores where visible), context = weights v, out = W context"""
    model, tape = captured
    for name, point in layers(tape):
        module = model.get_submodule(name)
        groups = point("q").shape[1] // point("k").shape[1]
        k, v = (torch.stack([point(p)[:, head // groups] for head in range(module.n_heads)], 1) for p in ("k", "v"))
        products = torch.einsum("bhqd,bhkd->bhqk", point("q"), k)
        scale = 1.0 if model.config.family == "t5" else point("q").shape[-1] ** -0.5
        bias = tape.get(f"{name}.bias", 0.0)
        close(point("scores"), products * scale + bias)

        mask = point("mask")
        exponentials = torch.exp(point("scores") - point("scores").amax(-1, keepdim=True)) * mask
        close(point("weights"), exponentials / exponentials.sum(-1, keepdim=True).clamp(min=1e-30))
        close(point("context"), torch.einsum("bhqk,bhkd->bhqd", point("weights"), v))
        side_by_side = torch.cat(list(point("context").unbind(1)), dim=-1)
        out = side_by_side @ module.out_proj.weight.T
        close(point("out"), out if module.out_proj.bias is None else out + module.out_proj.bias)


@pytest.mark.parametrize("placement", ["pre", "none"])
@pytest.mark.parametrize("family", ATTENTIVE)
def test_the_residual_stream_adds_up(family, placement):
    """resid_out − resid_in is the sum of the sublayers' outputs, unless a norm follows the sum."""
    model = small(family, norm_placement=placement)
    with core.capture(model) as tape:
        model(**batch(model))
    for name in [name.removesuffix(".resid_in") for name in tape if name.endswith(".resid_in")]:
        outputs = sum(tape[f"{name}.{part}.out"] for part in ("attn", "cross", "ff") if f"{name}.{part}.out" in tape)
        assert_close(tape[f"{name}.resid_out"], tape[f"{name}.resid_in"] + outputs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("attention", ALIGNMENTS)
def test_alignment_between_recurrent_networks(attention):
    model = small("seq2seq", attention=attention)
    inputs = batch(model)
    with core.capture(model) as tape:
        output = model(**inputs)
    scores, weights, context = (tape[f"decoder.cross.{point}"] for point in ("scores", "weights", "context"))
    visible = valid_mask(inputs["src_lengths"], 7)[:, None, None]
    encoded = torch.cat([tape[f"encoder.layers.1.{side}.hidden"] for side in ("fwd", "bwd")], dim=-1)
    exponentials = torch.exp(scores) * visible
    close(weights, exponentials / exponentials.sum(-1, keepdim=True))
    assert (weights[~visible.expand_as(weights)] == 0).all()
    close(context, weights @ (encoded * visible[:, 0, 0, :, None])[:, None])

    states, cross = tape["decoder.layers.1.fwd.hidden"], model.decoder.cross
    queries = states
    if attention == "bahdanau":  # queries before its position: the first query is where the encoder ended
        ends = [encoded[range(3), inputs["src_lengths"] - 1, :2], encoded[:, 0, 2:]]
        queries = torch.cat([torch.cat(ends, dim=-1)[:, None], states[:, :-1]], dim=1)
    expected = torch.zeros(3, 1, 5, 7)
    for t, s in torch.cartesian_prod(torch.arange(5), torch.arange(7)).tolist():
        query, key = queries[:, t], encoded[:, s]
        if attention == "luong-dot":
            score = (query * key).sum(-1)
        elif attention == "luong-general":
            score = (query * (key @ cross.key_proj.weight.T)).sum(-1)
        else:
            mixed = torch.tanh(query @ cross.query_proj.weight.T + key @ cross.key_proj.weight.T)
            score = mixed @ cross.v.weight[0]
        expected[:, 0, t, s] = score
    valid_pairs = (valid_mask(inputs["tgt_lengths"], 5)[:, None, :, None] & visible).expand_as(scores)
    close(scores[valid_pairs], expected[valid_pairs])
    mixed = torch.tanh(torch.cat([context[:, 0], states], dim=-1) @ model.decoder.mix.weight.T)
    valid = valid_mask(inputs["tgt_lengths"], 5)
    close(output.hidden[valid], mixed[valid])


@pytest.mark.parametrize("family", ATTENTIVE)
def test_a_condition_sets_gain_and_shift(family):
    """(γ + Γ[c]) (x − mean) / √(var + ε) + β + B[c], after the last block of a pre-norm model."""
    model = small(family, norm="conditional", norm_placement="pre")
    inputs = batch(model)
    with core.capture(model) as tape:
        output = model(**inputs)
    prefix, stack = ("decoder.", model.decoder) if "src" in inputs else ("", model)
    x, norm, c = tape[f"{prefix}blocks.1.resid_out"], stack.final_norm, inputs["condition"]
    centred = x - x.mean(-1, keepdim=True)
    standard = centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()
    gain, shift = norm.weight + norm.gain[c], norm.bias + norm.shift[c]
    assert_close(output.hidden, standard * gain[:, None] + shift[:, None], atol=1e-5, rtol=1e-5)
    assert len(set(c.tolist())) == 2


POINTS = [
    "blocks.0.attn.weights",
    "blocks.1.attn.q",
    "blocks.0.attn.scores",
    "blocks.0.ff.post",
    "blocks.1.resid_mid",
]


@pytest.mark.parametrize("name", POINTS)
def test_gradients_agree_with_finite_differences(name):
    """Nudge one number at a time by an edit; the loss moves as much as the captured gradient says."""
    model = small("gpt").double()
    inputs = batch(model)

    def loss():
        return loss_of(model, model(**inputs), inputs)

    with core.capture(model, name, gradients=True) as tape:
        loss().backward()
    gradient = tape.grad(name)
    assert gradient.shape == tape[name].shape
    largest = gradient.flatten().abs().topk(3).indices.tolist()
    for place in [*largest, 0, gradient.numel() - 1]:
        nudge = torch.zeros_like(gradient)
        nudge.view(-1)[place] = 1e-6
        with core.edit(model, {name: core.edits.add(nudge)}):
            up = loss()
        with core.edit(model, {name: core.edits.add(-nudge)}):
            down = loss()
        assert_close((up - down) / 2e-6, gradient.flatten()[place], atol=1e-8, rtol=1e-5)


def test_gradients_when_there_are_none():
    model = small("gpt")
    with core.capture(model, "*.q") as tape:
        model(**batch(model))
    with pytest.raises(core.TapError, match="gradients=True"):
        tape.grad("blocks.0.attn.q")
    with core.capture(model, "*.q", gradients=True) as tape:
        model(**batch(model))
    with pytest.raises(core.TapError, match=r"call backward\(\)"):
        tape.grad("blocks.0.attn.q")
