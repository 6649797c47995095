"""The routes of the Attention tab return what core captures, for every kind of attention."""

import numpy as np
import pytest
import torch
from fastapi import FastAPI
from fastapi.testclient import TestClient

import core
from app import payload
from app.figures.attention import one_head
from app.i18n import WORDS, in_all_languages
from app.routes import router
from app.routes.errors import add_error_handlers
from app.service import attention_arithmetic
from app.service.array_store import array_store
from app.service.attention_figures import stack_views
from app.service.attention_stack import GRID_SIDE, allocate_weights, tile_side, unit
from app.service.inputs import held_out_input, input_from_text
from app.service.runs import shipped
from app.service.runs.input_arrays import input_arrays
from app.service.snapshot_arrays import collect_arrays
from app.tabs import attention_answers
from app.tabs.attention_plots import attention_plots
from core import InputError
from core.analysis import measures
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.training.optimisers import load_parameters
from tests.app.sent_arrays import sent_arrays

SMALL = {"n_layers": 2, "n_heads": 2, "d_model": 16, "d_ff": 16}
RECURRENT = {"n_layers": 2, "d_embed": 8, "d_hidden": 12}
KINDS = {
    "gpt-rope": ("gpt", "induction", {**SMALL, "position": "rope"}),
    "gpt-alibi": ("gpt", "induction", {**SMALL, "position": "alibi"}),
    "gpt-shared-keys": ("gpt", "induction", {**SMALL, "n_heads": 4, "n_kv_heads": 2}),
    "gpt-local": ("gpt", "induction", {**SMALL, "attention": "local", "window": 3}),
    "bert": ("bert", "parity", SMALL),
    "roformer": ("roformer", "parity", SMALL),
    "transformer": ("transformer", "copy", SMALL),
    "t5": ("t5", "copy", SMALL),
    "bahdanau": ("seq2seq", "copy", {**RECURRENT, "attention": "bahdanau"}),
    "bahdanau-one-way": ("seq2seq", "copy", {**RECURRENT, "attention": "bahdanau", "bidirectional": False}),
    "luong-dot": ("seq2seq", "copy", {**RECURRENT, "attention": "luong-dot"}),
    "luong-general": ("seq2seq", "copy", {**RECURRENT, "attention": "luong-general"}),
    "luong-concat": ("seq2seq", "reverse", {**RECURRENT, "attention": "luong-concat"}),
}


def short_run(kind: str) -> Run:
    family, task, model = KINDS[kind]
    run = Run(make_recipe(family, task, model=model, training={"steps": 3, "lr": 0.05}))
    list(run.train())
    return run


def capture_snapshot(run: Run, model_input, index: int):
    """The tape of everything, at one snapshot."""
    load_parameters(run.model, run.snapshots[index].weights)
    with torch.no_grad(), core.capture(run.model.eval()) as tape:
        run.model(*model_input.batch.inputs)
    return tape


@pytest.mark.parametrize("kind", KINDS)
def test_every_term_of_a_weights_arithmetic_is_captured_and_adds_up(kind):
    run = short_run(kind)
    model_input = held_out_input(run, 1)
    for index in (0, -1):
        tape, step = capture_snapshot(run, model_input, index), run.snapshots[index].step
        points = [name.removesuffix(".weights") for name in tape.names() if name.endswith(".weights")]
        assert points
        for point in points:
            weights, scores = tape[f"{point}.weights"][0], tape[f"{point}.scores"][0]
            heads, queries, keys = weights.shape
            for head, query, key in ((0, 0, 0), (heads - 1, queries - 1, 1), (0, queries // 2, keys - 1)):
                cell = attention_arithmetic.weight_arithmetic(run, model_input, step, point, head, query, key)
                assert cell["weight"] == pytest.approx(float(weights[head, query, key]), abs=1e-6)
                assert cell["score"] == pytest.approx(float(scores[head, query, key]), abs=1e-5)
                assert sum(cell["terms"]) == pytest.approx(cell["dot"], abs=1e-5)
                assert cell["dot"] * cell["scale"] + (cell["bias"] or 0) == pytest.approx(cell["score"], abs=1e-4)
                assert cell["exp"] / cell["sum_exp"] == pytest.approx(cell["weight"], abs=1e-5)
                if cell["kept"] is False:
                    assert cell["weight"] == cell["exp"] == 0
                if cell["kind"] == "dot":
                    groups = heads // len(tape[f"{point}.k"][0])
                    np.testing.assert_allclose(cell["q"], tape[f"{point}.q"][0, head, query], atol=1e-5)
                    np.testing.assert_allclose(cell["k"], tape[f"{point}.k"][0, head // groups, key], atol=1e-5)


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("gpt-rope", "dot"),
        ("t5", "dot"),
        ("luong-dot", "luong"),
        ("luong-concat", "additive"),
        ("bahdanau", "additive"),
    ],
)
def test_each_attention_has_its_own_arithmetic(kind, expected):
    run = short_run(kind)
    model_input = held_out_input(run, 0)
    point = collect_arrays(run, model_input).attention[-1].points[0].removesuffix(".weights")
    cell = attention_arithmetic.weight_arithmetic(run, model_input, 0, point, 0, 1, 1)
    assert cell["kind"] == expected
    assert cell["rotated"] == (kind == "gpt-rope")
    assert (cell["bias"] is not None) == (kind == "t5" and point.endswith("attn"))


def test_alibi_and_t5_show_their_bias_and_causal_models_their_mask():
    run = short_run("gpt-alibi")
    ahead = attention_arithmetic.weight_arithmetic(run, held_out_input(run, 0), 0, "blocks.0.attn", 1, 2, 4)
    behind = attention_arithmetic.weight_arithmetic(run, held_out_input(run, 0), 0, "blocks.0.attn", 1, 4, 2)
    assert ahead["kept"] is False and behind["kept"] is True
    assert behind["bias"] == -2 * core.layers.positions.alibi_slopes(2)[1]
    run = short_run("t5")
    assert (
        attention_arithmetic.weight_arithmetic(run, held_out_input(run, 0), 0, "encoder.blocks.1.attn", 0, 2, 1)[
            "bias"
        ]
        is not None
    )


@pytest.mark.parametrize("kind", ["gpt-rope", "transformer", "luong-general"])
def test_vectors_multiply_to_the_scores(kind):
    run = short_run(kind)
    model_input = held_out_input(run, 0)
    group = collect_arrays(run, model_input).attention[-1]
    points = [point.removesuffix(".weights") for point in group.points]
    queries, keys, scale = attention_arithmetic.query_key_vectors(run, model_input, run.snapshots[-1].step, points)
    tape = capture_snapshot(run, model_input, -1)
    for layer, point in enumerate(points):
        scores = queries[layer] @ keys[layer].transpose(-2, -1) * scale
        torch.testing.assert_close(scores, tape[f"{point}.scores"][0], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_shapes_of_vectors_are_known_before_the_model_runs(kind):
    run = short_run(kind)
    model_input = held_out_input(run, 0)
    for group in collect_arrays(run, model_input).attention:
        points = [point.removesuffix(".weights") for point in group.points]
        if kind in ("bahdanau", "bahdanau-one-way", "luong-concat"):
            with pytest.raises(InputError, match="adds query and key"):
                attention_arithmetic.query_key_shapes(run.model, model_input, points)
        else:
            queries, keys, _ = attention_arithmetic.query_key_vectors(run, model_input, 0, points)
            assert attention_arithmetic.query_key_shapes(run.model, model_input, points) == (
                queries.shape,
                keys.shape,
            )


def test_a_downsampled_source_has_fewer_keys():
    run = Run(make_recipe("transformer", "copy", model={**SMALL, "downsample": 3}))
    model_input, points = held_out_input(run, 0), ["decoder.blocks.0.cross", "decoder.blocks.1.cross"]
    queries, keys, _ = attention_arithmetic.query_key_vectors(run, model_input, 0, points)
    assert attention_arithmetic.query_key_shapes(run.model, model_input, points) == (queries.shape, keys.shape)


def test_vectors_are_refused_where_there_is_no_product():
    run = short_run("bahdanau")
    with pytest.raises(InputError, match="adds query and key"):
        attention_arithmetic.query_key_vectors(run, held_out_input(run, 0), 0, ["decoder.cross"])


@pytest.mark.parametrize("kind", KINDS)
def test_measures_and_rollout_are_those_of_the_captured_weights(kind):
    run = short_run(kind)
    model_input = held_out_input(run, 0)
    header, arrays = sent_arrays(collect_arrays(run, model_input))
    tape = capture_snapshot(run, model_input, -1)
    for group in header["heads"]:
        name, weights = group["name"], torch.stack([tape[point][0] for point in group["points"]])
        np.testing.assert_allclose(arrays[f"{name}.entropy"][-1], measures.entropy(weights), atol=1e-5)
        if "agreement" in group["measures"]:
            expected = measures.agreement(weights, model_input.alignment)
            np.testing.assert_allclose(arrays[f"{name}.agreement"][-1], expected, atol=1e-5)
        if "previous" in group["measures"]:
            for short, measure in (("previous", "previous_token"), ("own", "own_token"), ("first", "first_token")):
                expected = getattr(measures, measure)(weights)
                np.testing.assert_allclose(arrays[f"{name}.{short}"][-1], expected, atol=1e-5)
        assert group["rollout"] == (not name.startswith("decoder"))
        if group["rollout"]:
            expected = measures.rollout(weights)
            np.testing.assert_allclose(arrays[f"{name}.rollout.weights"][-1], expected, atol=1e-5)


def test_a_downsampled_source_has_one_name_for_every_few_tokens():
    run = Run(make_recipe("transformer", "copy", model={**SMALL, "downsample": 3}))
    model_input = held_out_input(run, 0)
    header, arrays = sent_arrays(collect_arrays(run, model_input))
    cross = next(group for group in header["heads"] if group["name"] == "decoder.cross")
    names = header["axes"][cross["keys"]]
    assert " ".join(names) == " ".join(model_input.source)
    assert arrays["decoder.cross.weights"].shape[-1] == len(names) == -(-len(model_input.source) // 3)
    assert "agreement" not in cross["measures"]


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    app.include_router(router)
    add_error_handlers(app)
    return TestClient(app)


TRANSLATION = ["translation-transformer", "will this child steal the flower?", 0, None]  # 8 tokens, 9 written
ASKED = {
    "attentionOf": ["induction-gpt", "q k d q k d q", 0, None],
    "group": "blocks", "layer": 1, "head": 2, "query": 4, "snapshot": 0, "focus": "map",
}  # fmt: skip


def packed_of(value) -> dict[str, np.ndarray]:
    """The arrays of a value for a `LivePlot`."""
    return payload.unpack(array_store.get(value["arrays"].rpartition("/")[2]))[1]


@pytest.mark.parametrize("index", [0, 10, -1])
def test_one_exact_head_rollout_and_row_are_those_of_the_tape(index, monkeypatch):
    run = shipped.load("induction-gpt").run
    snapshot = index % len(run.snapshots)
    model_input, step = input_from_text(run, ASKED["attentionOf"][1]), run.snapshots[index].step
    tape = capture_snapshot(run, model_input, index)
    monkeypatch.setattr(attention_answers, "stack_of", pooled_stack(attention_answers.stack_of))
    (value,) = attention_answers.show_exact({**ASKED, "snapshot": snapshot})
    np.testing.assert_allclose(
        packed_of(value)["exact.weights"].squeeze(), tape["blocks.1.attn.weights"][0, 2], atol=1e-6
    )
    assert value["only"]["snapshot"] == snapshot and value["only"]["head"] == 2
    hidden = value["spec"]["figure"]["layout"]["shapes"][1]["path"]
    assert hidden.count("M") == 6 and not tape["blocks.1.attn.mask"][0, 0].all(), (
        "a rectangle in each row but the last"
    )
    (value,) = attention_answers.show_exact({**ASKED, "snapshot": snapshot, "focus": "rollout"})
    weights = torch.stack([tape[f"blocks.{layer}.attn.weights"][0] for layer in range(2)])
    np.testing.assert_allclose(packed_of(value)["exact.rollout"].squeeze(), measures.rollout(weights)[-1], atol=1e-6)
    everywhere = {key: value for key, value in ASKED.items() if key not in ("snapshot", "layer")}
    for asked in (everywhere, {**ASKED, "snapshot": snapshot}):
        numbers, terms = attention_answers.explain_row(asked)
        arrays = packed_of(terms)
        assert numbers["arrays"] == terms["arrays"], "fetched once"
        for layer in range(2) if "layer" not in asked else [1]:
            for head in range(4):
                cell = attention_arithmetic.weight_arithmetic(
                    run, model_input, step, f"blocks.{layer}.attn", head, 4, 1
                )
                place = (0, 0, head) if "layer" in asked else (snapshot, layer, head)
                np.testing.assert_allclose(arrays["terms"][(*place, 1)], cell["terms"], rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(arrays["terms.q"][place], cell["q"], rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(arrays["terms.k"][(*place, 1)], cell["k"], rtol=1e-4, atol=1e-5)
                for name, part in (("dot", "dot"), ("score", "score"), ("exp", "exp"), ("weight", "weight")):
                    assert arrays[f"cell.{name}"][(*place, 1)] == pytest.approx(cell[part], rel=1e-4, abs=1e-5)
                assert arrays["cell.total"][place] == pytest.approx(cell["sum_exp"], rel=1e-4)


def pooled_stack(stack_of):
    """As of an input so long that its maps are pooled."""
    return lambda asked: stack_of(asked) | {"pooled": 2}


@pytest.mark.parametrize(
    "answer, wrong",
    [
        ("explain_row", {"query": 99}),
        ("explain_row", {"attentionOf": ["induction-gpt", "</script><img src=x onerror=alert(1)>", 0, None]}),
        ("explain_row", {"attentionOf": ["nobody", "q k d", 0, None]}),
        ("show_exact", {"head": 4}),
        ("show_exact", {"attentionOf": TRANSLATION, "group": "decoder.cross", "layer": 0, "focus": "rollout"}),
    ],
)
def test_invalid_questions_are_refused_with_a_sentence_in_both_languages(answer, wrong, monkeypatch):
    monkeypatch.setattr(attention_answers, "stack_of", pooled_stack(attention_answers.stack_of))
    with pytest.raises(InputError) as refused:
        getattr(attention_answers, answer)({**ASKED, **wrong})
    sentences = in_all_languages(refused.value.text)
    assert sentences["en"] and sentences["zh"] and sentences["en"] != sentences["zh"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["blocks.0.attn", "nowhere"],
        ["encoder.blocks.0.attn", "decoder.blocks.0.attn"],
        ["decoder.blocks.0.cross"],
        ["blocks.*.attn"],
    ],
)
def test_a_rollout_goes_through_self_attention_of_the_input_alone(wrong):
    name, text, *_ = TRANSLATION if "decoder" in str(wrong) else ASKED["attentionOf"]
    run = shipped.load(name).run
    with pytest.raises(InputError):
        attention_arithmetic.exact_rollout(run, input_from_text(run, text), run.snapshots[0].step, wrong)


@pytest.mark.parametrize(
    "name, points",
    [
        ("induction-gpt", ["nowhere"]),
        ("induction-gpt", ["blocks.0"]),
        ("translation-transformer", ["encoder.blocks.0.attn", "decoder.blocks.0.attn"]),
        ("translation-transformer", ["decoder.blocks.0.attn", "decoder.blocks.0.cross"]),
    ],
)
def test_vectors_of_points_that_cannot_be_stacked_are_refused(name, points):
    run = shipped.load(name).run
    with pytest.raises(InputError):
        attention_arithmetic.query_key_vectors(
            run,
            input_from_text(run, ASKED["attentionOf"][1] if name == "induction-gpt" else TRANSLATION[1]),
            run.snapshots[0].step,
            points,
        )


def test_a_step_without_a_snapshot_is_refused():
    run = shipped.load("induction-gpt").run
    with pytest.raises(InputError, match="no snapshot of step 7777"):
        attention_arithmetic.capture_at_step(run, held_out_input(run, 0), 7_777, "*")


def test_too_many_vectors_are_refused_with_a_sentence(monkeypatch):
    monkeypatch.setattr(attention_answers, "MAX_NUMBERS", 100)
    monkeypatch.setattr(attention_arithmetic, "query_key_vectors", lambda *arguments: pytest.fail("the model ran"))
    with pytest.raises(InputError, match="100"):
        attention_answers.show_vectors(ASKED)


def test_head_and_cell_are_kept_for_the_same_run_and_chosen_afresh_for_another():
    run, text = "induction-gpt", "t g w b n h c s t g w b n h c s"
    asked = {"run": run, "text": text, "heldOut": 0, "version": None, "snapshot": 19}
    answer = attention_plots(run, text, None)
    fresh = attention_answers.choose_focus(asked, answer)["state"]
    views = stack_views(input_arrays(run, text, None), run)
    shares = views["blocks"].measures["induction"].values[-1]
    assert (fresh["layer"], fresh["head"]) == divmod(int(shares.argmax()), shares.shape[1])
    before = {**asked, **fresh, "layer": 0, "head": 3, "query": 5, "key": 2}
    kept = attention_answers.choose_focus(before, answer)["state"]
    assert [kept[key] for key in ("layer", "head", "query", "key")] == [0, 3, 5, 2]
    other = attention_answers.choose_focus({**before, "attentionOf": ["parity-bert", None, 0, None]}, answer)["state"]
    assert (other["layer"], other["head"]) == (fresh["layer"], fresh["head"])


def test_256_tokens_of_a_usual_model_are_exact_in_the_page():
    shape = (6, 2, 4, 256, 256)
    assert tile_side(shape) == 0 and unit(allocate_weights(*shape)) < 2e-5


def test_no_role_is_claimed_of_three_tokens():
    views = stack_views(input_arrays("induction-gpt", "q k d", None), "run")
    assert not views["blocks"].role.values.any()
    assert "so few tokens" in one_head(views["blocks"]).sentence()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("view", ["head", "model", "neuron"])
def test_bertviz_pages_hold_its_script_and_no_data_and_may_not_connect(client, view, language):
    page = client.get(f"/api/bertviz/{view}/{language}").text
    assert "default-src 'none'" in page and " src=" not in page.split("<script>")[0]
    assert "PYTHON_PARAMS;" not in page and "window.bertviz_params" in page
    assert page.count("</script>") == 5
    assert WORDS[language]["bertviz.none"] in page
    assert client.get(f"/api/bertviz/elsewhere/{language}").status_code == 422


def test_long_inputs_are_max_pooled_and_one_head_stays_exact():
    model = {**SMALL, "max_len": 400}
    run = Run(make_recipe("bert", "parity", model=model, task_options={"min_len": 300, "max_len": 300}))
    model_input = held_out_input(run, 0)
    header, arrays = sent_arrays(collect_arrays(run, model_input))
    group, sent = header["heads"][0], arrays["blocks.weights"]
    side = group["pooled"]
    assert side > 1 and max(sent.shape[-2:]) <= GRID_SIDE
    weights = capture_snapshot(run, model_input, 0)["blocks.1.attn.weights"][0]
    exact, _ = attention_arithmetic.exact_head(run, model_input, 0, "blocks.1.attn", 1)
    torch.testing.assert_close(exact, weights[1])
    tile = weights[1, 2 * side : 3 * side, 5 * side : 6 * side].max()
    steps = {np.uint8: 255, np.uint16: 65535}.get(sent.dtype.type, 1)
    assert sent[0, 1, 1, 2, 5] / steps == pytest.approx(float(tile), abs=1 / 255)
