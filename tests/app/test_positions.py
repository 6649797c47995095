"""The arrays of the Positions tab, compared with formulas, with transformers, and with core."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.roformer.modeling_roformer import (
    RoFormerSelfAttention,
    RoFormerSinusoidalPositionalEmbedding,
)
from transformers.models.t5.modeling_t5 import T5Attention

import core
from app import payload
from app.service import positions
from app.service.array_store import array_store
from app.service.experiments import extrapolation
from app.service.positions import SLIDERS
from app.service.runs import shipped
from app.service.runs.shipped_introductions import INTRODUCTIONS
from app.tabs.positions import fixed_schemes, scheme_of_run, trained_schemes
from core import InputError
from core.runs.run import Run, key_of
from tests.words import chinese


@pytest.mark.parametrize("d_model, length", [(4, 8), (32, 64), (128, 128)])
def test_sinusoidal_is_the_formula(d_model, length):
    _, arrays = positions.sinusoidal(d_model, length)
    position, pair = np.arange(length)[:, None], np.arange(d_model // 2)
    angle = position / 10_000 ** (2 * pair / d_model)
    np.testing.assert_allclose(arrays["table"][:, 0::2], np.sin(angle), atol=1e-6)
    np.testing.assert_allclose(arrays["table"][:, 1::2], np.cos(angle), atol=1e-6)
    # sin a sin b + cos a cos b = cos (a − b): the dot product depends on the offset only
    offset = (position - position.T)[..., None] / 10_000 ** (2 * pair / d_model)
    np.testing.assert_allclose(arrays["dots"], np.cos(offset).sum(-1), atol=2e-5)


@pytest.mark.parametrize("d_head, length, seed", [(2, 8, 0), (16, 64, 0), (64, 128, 7)])
def test_rope_rotates_as_roformer_does(d_head, length, seed):
    _, arrays = positions.rope(d_head, length, seed)
    waves = RoFormerSinusoidalPositionalEmbedding(length, d_head).create_weight()[None, None]
    q, k = torch.randn(2, d_head, generator=torch.Generator().manual_seed(seed)) / d_head**0.5
    unit_x = torch.tensor([1.0, 0.0]).repeat(d_head // 2)
    rows = [vector.expand(1, 1, length, d_head) for vector in (q, k, unit_x)]
    rotated_q, rotated_k = RoFormerSelfAttention.apply_rotary_position_embeddings(waves, rows[0], rows[1])
    rotated_x, _ = RoFormerSelfAttention.apply_rotary_position_embeddings(waves, rows[2], rows[2])
    np.testing.assert_allclose(arrays["turned"].reshape(length, d_head), rotated_x[0, 0], atol=1e-6)
    for key, score in zip((rotated_q, rotated_k), arrays["scores"], strict=True):
        np.testing.assert_allclose(score, (rotated_q @ key.mT)[0, 0], atol=1e-5)
    np.testing.assert_allclose(arrays["unturned"], [q @ q, k @ q], atol=1e-6)


def test_rope_scores_depend_on_the_offset_only():
    _, arrays = positions.rope(16, 64, 3)
    for score in arrays["scores"]:
        for offset in (-40, -3, 0, 5, 60):
            diagonal = np.diagonal(score, offset)
            assert np.ptp(diagonal) < 2e-6
        assert np.ptp(score[0]) > 0.1


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6, 8, 12, 16])
def test_alibi_is_blooms(n_heads):
    side = 12
    _, arrays = positions.alibi(n_heads, side)
    theirs = build_alibi_tensor(torch.ones(1, side), n_heads, torch.float32)  # (head, 1, key): slope · key
    np.testing.assert_allclose(arrays["slopes"], theirs[:, 0, 1], atol=1e-7)
    # Theirs differs from −slope · distance by a number per query, which softmax does not see.
    last = arrays["bias"][:, -1]
    np.testing.assert_allclose(last - last[:, :1], theirs[:, 0], atol=1e-5)
    np.testing.assert_array_equal(arrays["bias"], arrays["bias"].swapaxes(1, 2))
    np.testing.assert_array_equal(arrays["causal"], np.tril(np.ones((side, side))))


@pytest.mark.parametrize("n_buckets, max_distance", [(4, 4), (16, 20), (32, 128), (64, 256)])
def test_t5_buckets_are_t5s(n_buckets, max_distance):
    _, arrays = positions.t5(n_buckets, max_distance, 20)
    offsets = torch.tensor(arrays["offsets"]).long()
    between = torch.arange(20) - torch.arange(20)[:, None]
    for two_sided in (False, True):
        theirs = [
            T5Attention._relative_position_bucket(of, two_sided, n_buckets, max_distance) for of in (offsets, between)
        ]
        np.testing.assert_array_equal(arrays["buckets"][int(two_sided)], theirs[0])
        np.testing.assert_array_equal(arrays["matrix"][int(two_sided)], theirs[1])
    assert -offsets[0] > max_distance


def test_learned_tables_are_the_runs_own_at_every_snapshot():
    header, arrays = positions.learned("reverse-transformer")
    run = shipped.load("reverse-transformer").run
    assert header["asked"] and header["steps"] == [snapshot.step for snapshot in run.snapshots]
    for name in header["parts"]:
        table, cosines = arrays[f"{name}.table"], arrays[f"{name}.cosines"]
        rows = table.shape[1]
        for index, snapshot in enumerate(run.snapshots):
            np.testing.assert_array_equal(table[index], snapshot.weights[f"{name}.weight"][:rows].float())
        first, second = table[-1, 2], table[-1, 5]
        by_hand = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
        assert cosines[-1, 2, 5] == pytest.approx(by_hand, abs=1e-5)
        assert arrays[f"{name}.moved"][-1, 3] == pytest.approx(np.linalg.norm(table[-1, 3] - table[0, 3]), abs=1e-4)
        # Only positions that occur in training can be learned.
        assert arrays[f"{name}.moved"][-1, : header["trained"]].min() > 10 * arrays[f"{name}.moved"][-1, -1]


def test_a_run_without_learned_positions_shows_one_that_has_them_and_says_so():
    header, _ = positions.learned("parity-rnn")
    assert not header["asked"] and header["run"] == "reverse-transformer"
    assert header["title"]["zh"] == chinese(INTRODUCTIONS["reverse-transformer"].title)


def test_t5_bias_is_the_runs_own_at_every_snapshot(monkeypatch):
    run = Run(core.recipe("transformer", "copy", "t5"), seed=0)
    for _ in zip(range(3), run.train(), strict=False):
        pass
    monkeypatch.setattr(positions.run_registry, "open_run", lambda name: SimpleNamespace(run=run))
    header, arrays = positions.t5_trained("mine")
    assert (
        header["asked"]
        and header["steps"] == [snapshot.step for snapshot in run.snapshots]
        and len(run.snapshots) > 2
    )
    assert header["parts"] == ["encoder.position", "decoder.position", "decoder.cross_position"]
    assert header["one_sided"] == ["decoder.position"]
    offsets, config = torch.tensor(header["offsets"]), run.model.config
    for name in header["parts"]:
        two_sided = name not in header["one_sided"]
        bucket = T5Attention._relative_position_bucket(offsets, two_sided, config.n_buckets, config.max_distance)
        for bias, snapshot in zip(arrays[f"{name}.bias"], run.snapshots, strict=True):
            np.testing.assert_array_equal(bias, snapshot.weights[f"{name}.table.weight"].float()[bucket].T)


def test_a_run_without_buckets_shows_a_shipped_one_or_says_that_it_is_untrained():
    header, arrays = positions.t5_trained("parity-rnn")
    assert not header["asked"]
    fallback = "reverse-t5" if "reverse-t5" in shipped.names() else None
    assert header["run"] == fallback and (len(header["steps"]) > 1) == bool(fallback)
    for name in header["parts"]:
        assert np.ptp(arrays[f"{name}.bias"][-1]) > 0


@pytest.mark.parametrize("order", ["shuffle", "reverse"])
def test_only_without_positions_a_reordered_sentence_is_the_same_reordered(order):
    header, arrays = positions.no_positions("the old dog bites the man", order, 1)
    apart = dict(zip(header["schemes"], arrays["apart"], strict=True))
    assert apart["none"] < 1e-5
    order_blind = {"none", "alibi"} if order == "reverse" else {"none"}  # a mirror keeps all distances
    assert {scheme for scheme, value in apart.items() if value < 1e-4} == order_blind
    cosines = arrays["cosines"][header["schemes"].index("none")]
    for column, row in enumerate(header["places"]):
        assert cosines[row, column] == pytest.approx(1, abs=1e-5)
    assert cosines[0, header["places"].index(4)] == pytest.approx(1, abs=1e-5)  # the other "the"


@pytest.mark.parametrize(
    "call",
    [
        lambda: positions.sinusoidal(7, 64),
        lambda: positions.sinusoidal(32, 10**9),
        lambda: positions.rope(16, 64, -1),
        lambda: positions.alibi(0, 16),
        lambda: positions.t5(64, 32, 16),
        lambda: positions.no_positions("alone", "shuffle", 0),
        lambda: positions.no_positions("a " * 13, "shuffle", 0),
        lambda: positions.learned("../../etc/passwd"),
    ],
)
def test_invalid_options_are_refused_in_both_languages(call):
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value).endswith(".") and chinese(error.value).endswith("。")


@pytest.mark.parametrize(
    ("answer", "question", "compute", "options", "plots"),
    [
        (
            fixed_schemes.sinusoidal,
            {"position": 60, "pair": 1},
            positions.sinusoidal,
            {"d_model": 8, "length": 16},
            3,
        ),
        (fixed_schemes.rope, {"position": 5}, positions.rope, {"d_head": 8, "length": 16, "seed": 2}, 4),
        (fixed_schemes.alibi, {"biasHead": 0}, positions.alibi, {"n_heads": 6, "side": 9}, 3),
        (trained_schemes.t5_buckets, {}, positions.t5, {"n_buckets": 16, "max_distance": 40, "side": 9}, 2),
    ],
)
def test_events_show_what_the_functions_give(answer, question, compute, options, plots):
    keys = {"ropeSeed" if name == "seed" else name: value for name, value in options.items()}
    values = [value for value in answer({**question, **keys}) if value and "spec" in value]
    assert len(values) == plots
    _, sent = payload.unpack(array_store.get(values[0]["arrays"].removeprefix("api/arrays/")))
    _, arrays = compute(**options)
    same = [name for name in arrays if name in sent]
    assert same
    for name in same:
        np.testing.assert_array_equal(sent[name], arrays[name])


def test_a_place_stays_within_what_is_shown():
    question = {"d_model": 8, "length": 16, "position": 60, "pair": 9}
    controls, position, pair, *_ = fixed_schemes.sinusoidal(question)
    assert controls["state"] == {"position": 15, "pair": 3} and (position["maximum"], pair["maximum"]) == (15, 3)


def test_another_run_opens_with_its_own_scheme():
    question = {"run": "induction-gpt", "schemeRun": None}
    controls, sentence = scheme_of_run(question, None)
    assert controls["state"] == {"schemeRun": "induction-gpt", "scheme": "rope"} and sentence
    assert scheme_of_run({**question, "schemeRun": "induction-gpt"}, "t5")[0]["state"] == {}
    assert scheme_of_run({**question, "run": "parity-rnn"}, "t5")[0]["state"]["scheme"] == "t5"


def test_trained_schemes_name_the_run_that_stands_in():
    asked = {
        "run": "parity-rnn",
        "lastStep": 1,
        "positionPart": None,
        "biasHead": 9,
        "learnedSnapshot": None,
        "t5Snapshot": None,
    }
    controls, _, sentence, go, moment, *plots = trained_schemes.learned(asked)
    header, _ = positions.learned("parity-rnn")
    assert controls["state"] == {"positionPart": header["parts"][0], "learnedSnapshot": len(header["steps"]) - 1}
    assert go["visible"] and moment["visible"] and "stand" not in str(sentence)
    assert [list(plot["among"]) for plot in plots] == [header["parts"]] * 5
    _, heads, *_ = trained_schemes.t5_bias(asked)
    assert heads["state"]["biasHead"] == len(heads["choices"]["biasHead"]) - 1
    own = trained_schemes.learned({**asked, "run": "reverse-transformer"})
    assert not own[3]["visible"] and not own[4]["visible"]


def test_refusals_are_sentences():
    with pytest.raises(InputError) as error:
        fixed_schemes.sinusoidal({"d_model": 5, "length": 16, "position": 0, "pair": 0})
    assert str(error.value) == "d_model goes from 4 to 128 in steps of 2; 5 is not possible."


def test_every_default_is_in_its_range():
    positions.check_ranges(**{name: slider.default for name, slider in SLIDERS.items()})


def test_the_comparison_is_complete_and_of_todays_recipes():
    facts = extrapolation.comparison()
    assert [one["scheme"] for one in facts["schemes"]] == list(extrapolation.SCHEMES)
    assert facts["lengths"] == list(extrapolation.LENGTHS) and facts["lengths"][-1] == 2 * facts["trained_on"][1]
    for one in facts["schemes"]:
        recipe = extrapolation.recipe_for_scheme(one["scheme"])
        assert recipe.model.position == one["scheme"]
        assert one["keys"] == [key_of(recipe, seed) for seed in facts["seeds"]], (
            "run `python -m app.service.experiments.extrapolation`"
        )
        assert np.shape(one["accuracy"]) == (len(facts["seeds"]), len(facts["lengths"]))


@pytest.mark.slow
def test_training_one_scheme_again_gives_the_numbers_shown():
    facts = extrapolation.comparison()
    one = next(one for one in facts["schemes"] if one["scheme"] == "rope")
    torch.set_num_threads(1)
    run = extrapolation.train_run(extrapolation.recipe_for_scheme("rope"), facts["seeds"][0])
    assert run.key == one["keys"][0]
    picked = (4, 8, 12, 16, 24)
    shown = [one["accuracy"][0][facts["lengths"].index(length)] for length in picked]
    exactly = facts["torch"] == torch.__version__  # other kernels round otherwise
    np.testing.assert_allclose(extrapolation.accuracies(run, picked), shown, atol=1e-6 if exactly else 0.05)
