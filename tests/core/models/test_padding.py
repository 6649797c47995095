"""Padding and neighbours do not matter: a sequence's answer depends on its own tokens only."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

import core
from tests.core.examples import ATTENTIVE, FAMILIES, POSITIONS, RECURRENT, batch, label, predicted_lengths, small

KINDS = [
    *[(family, {}) for family in FAMILIES],
    *[(family, {"attention": "local", "position": p}) for family in ("gpt", "bert") for p in POSITIONS],
    *[(family, {"position": position}) for family in ATTENTIVE for position in POSITIONS],
    *[(family, {"norm": norm}) for family in ATTENTIVE for norm in ("rmsnorm", "conditional")],
    *[(family, {"head": head}) for family in ("gpt", "bert") for head in ("classifier", "crf", "pointer", "qa")],
    *[(family, {"downsample": factor}) for family in ("transformer", "t5") for factor in (2, 3, 16)],
    *[(family, {"bidirectional": True, "head": h}) for family in RECURRENT for h in ("classifier", "tagger", "qa")],
    *[("seq2seq", {"cell": cell, "attention": a}) for cell in RECURRENT for a in ("none", "luong-dot", "bahdanau")],
    *[(family, {"engine": "stepwise", "bidirectional": True}) for family in (*RECURRENT, "seq2seq")],
    ("seq2seq", {"bidirectional": False, "cell": "lstm"}),
    ("gpt", {"causal": False}),
]
LENGTHS = {"ids": "lengths", "src": "src_lengths", "tgt": "tgt_lengths", "segments": "lengths"}


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}-{label(kind[1])}")
def model(request):
    family, options = request.param
    return small(family, **options)


@torch.no_grad()
def answer(model, inputs):
    """The model's outputs at each sequence's own positions, without padding."""
    output = model(**inputs)
    lengths, kind = predicted_lengths(inputs).tolist(), getattr(model.config, "head", "lm")
    rows = list(zip(output.logits, lengths, strict=True))
    if kind in ("pointer", "qa"):
        logits = [row[..., :n] if kind == "qa" else row[:, :n, :n] for row, n in rows]
    else:
        logits = [row if kind == "classifier" else row[:n] for row, n in rows]
    hidden = [row[:n] for row, n in zip(output.hidden, lengths, strict=True)]
    extra = [list(each) for each in (output.pooled, output.next_sentence) if each is not None]
    return [logits, hidden, *extra]


def same(first, second):
    assert_close(first, second, atol=1e-5, rtol=1e-5)


def test_other_tokens_in_the_padding(model):
    inputs = batch(model)
    changed = {}
    for name, value in inputs.items():
        if name in LENGTHS:
            valid = torch.arange(value.shape[1]) < inputs[LENGTHS[name]][:, None]
            highest = model.config.n_segments if name == "segments" else model.config.vocab_size
            value = torch.where(valid, value, (value + 1) % highest)
            assert not value.equal(inputs[name])
        changed[name] = value
    same(answer(model, changed), answer(model, inputs))


def test_more_padding(model):
    inputs = batch(model)
    longer = {name: F.pad(value, (0, 4), value=1) if name in LENGTHS else value for name, value in inputs.items()}
    same(answer(model, longer), answer(model, inputs))


def test_every_row_by_itself(model):
    """Alone and without padding, each sequence gets the same answer as in the batch."""
    inputs = batch(model)
    together = answer(model, inputs)
    for row in range(3):
        alone = {name: value[row : row + 1] for name, value in inputs.items()}
        alone = {n: v[:, : alone[LENGTHS[n]]] if n in LENGTHS else v for n, v in alone.items()}
        same(answer(model, alone), [each[row : row + 1] for each in together])


def test_rows_in_another_order(model):
    inputs = batch(model)
    turned = {name: value.flip(0) for name, value in inputs.items()}
    same(answer(model, turned), [each[::-1] for each in answer(model, inputs)])


@pytest.mark.parametrize("family", FAMILIES)
def test_no_gradient_reaches_the_padding(family):
    """The embeddings of a padded row get exactly the gradient they get without the padding."""
    model = small(family)
    inputs = batch(model)
    prefix = "encoder." if "src" in inputs else ""
    name, lengths = f"{prefix}embed", inputs["src_lengths" if "src" in inputs else "lengths"]
    with core.capture(model, name, gradients=True) as tape:
        output = model(**inputs)
    valid = torch.arange(output.hidden.shape[1]) < predicted_lengths(inputs)[:, None]
    (output.hidden[valid].sum() + output.hidden[valid].square().sum()).backward()
    padding = torch.arange(7) >= lengths[:, None]
    assert (tape.grad(name)[padding] == 0).all()
    assert tape.grad(name)[~padding].abs().sum(-1).min() > 0


@pytest.mark.parametrize("first", [3, 4])  # inside a block of local attention and at its edge
@pytest.mark.parametrize("options", [{}, {"attention": "local"}, {"position": "rope"}, {"position": "t5"}], ids=label)
def test_a_causal_model_does_not_see_the_future(options, first):
    model = small("gpt", **options)
    ids = batch(model)["ids"]
    changed = ids.clone()
    changed[:, first:] = (ids[:, first:] + 1) % 11
    before, after = model(ids).logits, model(changed).logits
    same(after[:, :first], before[:, :first])
    assert (after[:, first:] - before[:, first:]).abs().amax((0, 2)).min() > 1e-3
    free = small("gpt", **options, causal=False)
    assert not torch.allclose(free(ids).logits[:, first - 1], free(changed).logits[:, first - 1])


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("family", ["transformer", "t5"])
def test_pooled_memory_is_the_mean_of_what_is_no_padding(family, factor):
    model, plain = small(family, downsample=factor), small(family)
    src, lengths = batch(model)["src"], batch(model)["src_lengths"]
    pooled, whole = model.encode(src, lengths), plain.encode(src, lengths)
    for row, length in enumerate(lengths.tolist()):
        groups = whole.hidden[row, :length].split(factor)
        assert pooled.lengths[row] == len(groups)
        same(pooled.hidden[row, : len(groups)], torch.stack([group.mean(0) for group in groups]))


@torch.no_grad()
@pytest.mark.parametrize("engine", ["fused", "stepwise"])
def test_a_state_that_grows_without_end_over_padding_leaves_it_blank(engine):
    """∞ · 0 would not be 0."""
    model = core.build("rnn", vocab_size=3, d_embed=2, d_hidden=2, activation="relu", head="tagger", engine=engine)
    layer = model.layers[0].fwd
    layer.weight_hh_l0.copy_(1.5 * torch.eye(2))
    layer.bias_hh_l0.fill_(1.0)
    ids, lengths = torch.ones(2, 300, dtype=torch.long), torch.tensor([3, 300])
    layer.weight_ih_l0.zero_()
    outputs, _ = model.run(model.token_embedding(ids), lengths)
    assert outputs[1].isinf().any() and (outputs[0, 3:] == 0).all()
