"""The routes of the Attention tab return what core captures, for every kind of attention."""

import numpy as np
import pytest
import torch
from fastapi import FastAPI
from fastapi.testclient import TestClient

import core
from app import payload
from app.i18n import WORDS
from app.routes import router
from app.routes.errors import add_error_handlers
from app.service import attention_arithmetic, bertviz_frame
from app.service.attention_stack import GRID_SIDE
from app.service.inputs import held_out_input, input_from_text
from app.service.runs import shipped
from app.service.snapshot_arrays import collect_arrays
from core import InputError
from core.analysis import measures
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.training.optimisers import load_parameters

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
    header, arrays = payload.unpack(collect_arrays(run, model_input).pack())
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
    header, arrays = payload.unpack(collect_arrays(run, model_input).pack())
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


TRANSLATION = {"run": "translation-transformer", "text": "will this child steal the flower?"}  # 8 tokens, 9 written
ONE_CELL = {"steps": [0], "points": ["blocks.0.attn"], "query": 4, "key": 1}
REQUEST = {"run": "induction-gpt", "text": "q k d q k d q", "step": 0, "point": "blocks.1.attn", "head": 2}


@pytest.mark.parametrize("index", [0, 10, -1])
def test_one_exact_head_and_rollout_come_as_bytes(client, index):
    run = shipped.load("induction-gpt").run
    model_input, step = input_from_text(run, REQUEST["text"]), run.snapshots[index].step
    tape = capture_snapshot(run, model_input, index)
    header, arrays = payload.unpack(client.post("/api/head", json={**REQUEST, "step": step}).content)
    np.testing.assert_allclose(arrays["exact.weights"].squeeze(), tape["blocks.1.attn.weights"][0, 2], atol=1e-6)
    hidden = header["figures"]["one_head"]["figure"]["layout"]["shapes"][1]["path"]
    assert hidden.count("M") == 6 and not tape["blocks.1.attn.mask"][0, 0].all(), (
        "a rectangle in each row but the last"
    )
    points = ["blocks.0.attn", "blocks.1.attn"]
    _, arrays = payload.unpack(client.post("/api/rollout", json={**REQUEST, "step": step, "points": points}).content)
    weights = torch.stack([tape[f"{point}.weights"][0] for point in points])
    np.testing.assert_allclose(arrays["exact.rollout"].squeeze(), measures.rollout(weights)[-1], atol=1e-6)
    cells = {"steps": [0, step], "points": points, "query": 4, "key": 1}
    header, numbers = payload.unpack(client.post("/api/cells", json={**REQUEST, **cells}).content)
    assert header["kind"] == "dot"
    numbers |= {name: numbers[f"terms.{name}"] for name in "qk"}
    for layer, point in enumerate(points):
        for head in range(4):
            alone = attention_arithmetic.weight_arithmetic(
                run, model_input, step, point, head, 4, 1
            )  # earlier layers run fused there
            for part in ("q", "k", "terms", "dot", "score", "exp", "sum_exp", "weight"):
                np.testing.assert_allclose(numbers[part][1, layer, head], alone[part], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "path, wrong",
    [
        ("cells", {"steps": [7_777]}),
        ("cells", {"query": 99}),
        ("cells", {"key": 7}),
        ("cells", {"points": ["blocks.9.attn"]}),
        ("cells", {"points": ["*"]}),
        ("cells", {"text": "</script><img src=x onerror=alert(1)>"}),
        ("cells", {"run": "nobody"}),
        ("head", {"head": 4}),
        ("head", {"point": "<b>"}),
        ("rollout", {"points": ["blocks.0.attn", "nowhere"]}),
        ("rollout", {**TRANSLATION, "points": ["encoder.blocks.0.attn", "decoder.blocks.0.attn"]}),
        ("rollout", {**TRANSLATION, "points": ["decoder.blocks.0.cross"]}),
        ("rollout", {"points": ["blocks.*.attn"]}),
        ("rollout", {"step": 7_777, "points": ["blocks.0.attn"]}),
        ("vectors", {"points": ["nowhere"]}),
        ("vectors", {"points": ["blocks.0"]}),
        ("vectors", {"step": 7_777}),
        ("vectors", {**TRANSLATION, "points": ["encoder.blocks.0.attn", "decoder.blocks.0.attn"]}),
        ("vectors", {**TRANSLATION, "points": ["decoder.blocks.0.attn", "decoder.blocks.0.cross"]}),
    ],
)
def test_invalid_requests_are_refused_with_a_sentence_in_both_languages(client, path, wrong):
    answer = client.post(f"/api/{path}", json={**REQUEST, **ONE_CELL, **wrong})
    error = answer.json()["problem"]
    assert error["en"] and error["zh"] and error["en"] != error["zh"]


def test_too_many_vectors_are_refused_with_a_sentence(client, monkeypatch):
    monkeypatch.setattr(bertviz_frame, "MAX_NUMBERS", 100)
    monkeypatch.setattr(attention_arithmetic, "query_key_vectors", lambda *arguments: pytest.fail("the model ran"))
    answer = client.post("/api/vectors", json={**REQUEST, "points": ["blocks.0.attn"]})
    assert "100" in answer.json()["problem"]["en"]


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
    header, arrays = payload.unpack(collect_arrays(run, model_input).pack())
    group, sent = header["heads"][0], arrays["blocks.weights"]
    side = group["pooled"]
    assert side > 1 and max(sent.shape[-2:]) <= GRID_SIDE
    weights = capture_snapshot(run, model_input, 0)["blocks.1.attn.weights"][0]
    exact, _ = attention_arithmetic.exact_head(run, model_input, 0, "blocks.1.attn", 1)
    torch.testing.assert_close(exact, weights[1])
    tile = weights[1, 2 * side : 3 * side, 5 * side : 6 * side].max()
    unit = 255 if sent.dtype == np.uint8 else 1
    assert sent[0, 1, 1, 2, 5] / unit == pytest.approx(float(tile), abs=1 / 255)
