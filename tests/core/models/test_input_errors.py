"""Inputs that a model cannot read raise an `InputError` that names the problem, before anything is computed."""

import pickle

import pytest
import torch

import core
from core.models import FAMILIES as KINDS
from core.models import is_encoder_decoder
from tests.core.examples import FAMILIES, batch, small
from tests.words import chinese

TWO = [family for family, kind in KINDS.items() if is_encoder_decoder(kind)]
ONE = [family for family in FAMILIES if family not in TWO]
IDS = [(family, "ids") for family in ONE] + [(family, side) for family in TWO for side in ("src", "tgt")]


def refusal(model, **changes):
    """The error of a batch that is right but for some arguments."""
    with pytest.raises(core.InputError) as caught:
        model(**{**batch(model), **changes})
    error = caught.value
    assert str(error).endswith(".") and str(error)[0].isupper()
    return str(error)


def lengths_of(name):
    return "lengths" if name == "ids" else f"{name}_lengths"


@pytest.mark.parametrize(("family", "name"), IDS)
class TestEveryFamily:
    @pytest.mark.parametrize("wrong", [-1, 11, 1_000_000, -100])
    def test_ids_outside_the_vocabulary(self, family, name, wrong):
        model = small(family)
        ids = batch(model)[name].clone()
        ids[1, 2] = wrong
        sentence = refusal(model, **{name: ids})
        assert str(wrong) in sentence and "0 to 10" in sentence

    def test_too_long(self, family, name):
        model = small(family)
        inputs = {key: value for key, value in batch(model).items() if key != "segments"}
        model(**{**inputs, name: torch.ones(3, 12, dtype=torch.long)})
        with pytest.raises(core.InputError) as caught:
            model(**{**inputs, name: torch.ones(3, 13, dtype=torch.long)})
        sentence = str(caught.value)
        assert "13" in sentence and "max_len = 12" in sentence

    @pytest.mark.parametrize("shape", [(3, 0), (0, 5), (0, 0), (5,), (3, 5, 1)])
    @pytest.mark.parametrize("with_lengths", [True, False])
    def test_empty_or_misshapen(self, family, name, shape, with_lengths):
        model = small(family)
        changes = {name: torch.ones(shape, dtype=torch.long)}
        if not with_lengths:
            changes |= {other: None for other in batch(model) if other.endswith("lengths")}
        elif shape[0] == 0:
            changes |= {lengths_of(name): torch.ones(0, dtype=torch.long)}
        assert refusal(model, **changes)

    @pytest.mark.parametrize("wrong", [0, -1, 8])
    def test_lengths_out_of_range(self, family, name, wrong):
        model = small(family)
        time = batch(model)[name].shape[1]
        sentence = refusal(model, **{lengths_of(name): torch.tensor([time, wrong, 1])})
        assert str(wrong) in sentence and f"1 to {time}" in sentence

    @pytest.mark.parametrize("count", [1, 2, 4])
    def test_one_length_per_sequence(self, family, name, count):
        assert "3" in refusal(small(family), **{lengths_of(name): torch.ones(count, dtype=torch.long)})

    def test_ids_that_are_not_whole_numbers(self, family, name):
        model = small(family)
        assert refusal(model, **{name: batch(model)[name].float()})

    def test_lengths_that_are_not_whole_numbers(self, family, name):
        model = small(family)
        assert refusal(model, **{lengths_of(name): torch.tensor([batch(model)[name].shape[1], 1.5, 1.0])})


@pytest.mark.parametrize(("family", "name"), IDS)
def test_ids_that_are_no_tensor(family, name):
    for nothing in (None, [[1, 2]]):
        assert type(nothing).__name__ in refusal(small(family), **{name: nothing})


@pytest.mark.parametrize("family", TWO)
def test_source_and_target_of_different_batches(family):
    model = small(family)
    inputs = batch(model)
    assert refusal(model, tgt=inputs["tgt"][:2], tgt_lengths=torch.tensor([5, 1]))


@pytest.mark.parametrize("family", ["bert", "roformer"])
@pytest.mark.parametrize("wrong", [-1, 2])
def test_segments_out_of_range(family, wrong):
    model = small(family)
    assert str(wrong) in refusal(model, segments=torch.full((3, 7), wrong))


@pytest.mark.parametrize("family", ["bert", "gpt", "transformer"])
@pytest.mark.parametrize("wrong", [-3, 2])
def test_conditions_out_of_range(family, wrong):
    model = small(family, norm="conditional")
    assert str(wrong) in refusal(model, condition=torch.tensor([0, 1, wrong]))


@pytest.mark.parametrize("family", ["bert", "gpt", "transformer"])
@pytest.mark.parametrize("options", [{}, {"norm": "rmsnorm"}, {"norm": "conditional", "norm_placement": "none"}])
def test_conditions_that_nothing_takes(family, options):
    model = small(family, **options)
    with pytest.raises(core.InputError) as caught:
        model(**batch(model), condition=torch.tensor([0, 1, 0]))
    assert "norm='conditional'" in str(caught.value) and "norm='conditional'" in chinese(caught.value)


KINDS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.uint16]


@pytest.mark.parametrize("dtype", KINDS, ids=str)
@pytest.mark.parametrize(
    ("family", "options"),
    [
        *[(family, {}) for family in FAMILIES],
        *[(family, {"head": head}) for family in ("gru", "bert") for head in ("classifier", "crf", "pointer", "qa")],
        *[(family, {"norm": "conditional"}) for family in ("bert", "gpt", "transformer")],
        ("lstm", {"bidirectional": True}), ("transformer", {"downsample": 2}), ("gpt", {"head": "classifier"}),
        ("bert", {"attention": "local"}), ("gru", {"engine": "stepwise"}), ("seq2seq", {"cell": "lstm"}),
    ],
)  # fmt: skip
def test_whole_numbers_of_every_size_are_the_same(family, options, dtype):
    model = small(family, **options)
    inputs = batch(model)
    small_ones = {name: value.to(dtype) for name, value in inputs.items()}
    assert model(**small_ones).logits.equal(model(**inputs).logits)
    with core.capture(model), torch.no_grad():
        torch.testing.assert_close(model(**small_ones).logits, model(**inputs).logits)


@pytest.mark.parametrize("family", ONE)
def test_a_refused_input_leaves_no_trace(family):
    model = small(family)
    with pytest.raises(core.InputError), core.capture(model) as tape:
        model(**{**batch(model), "ids": torch.full((3, 7), 99)})
    assert not tape.names()
    model(**batch(model))


def test_errors_speak_both_languages_and_cross_process_boundaries():
    model = small("gpt")
    with pytest.raises(core.InputError) as caught:
        model(torch.full((1, 3), 99))
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error.text) == str(error) == str(caught.value)
    assert "99" in chinese(error) and "词表" in chinese(error)
