"""The Build tab: shapes and counts of the models, errors for bad options, Python that rebuilds a model."""

import gradio as gr
import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

import core
from app.i18n import translate
from app.main import make_app
from app.service.build import activations, costs, model_plan
from app.service.build.part_html import typeset
from app.service.build.requests import PlanBody
from app.service.build.to_train import RecipeChoice, model_to_train, recipe_to_train
from app.service.inputs import held_out_input, input_from_text
from app.service.runs import run_registry
from app.service.training.requests import FROM_TASK
from app.tabs.build.answers import DRAWN, describe, draw, measure
from core.analysis.layer_costs import compare_layers
from core.config.families import CONFIGS
from core.runs.recipes import RECIPES
from tests.core.examples import FAMILIES, label, small_config, variants

SOME = [(family, options) for family in FAMILIES for options in variants(family)[::7]]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_app())


def parts(part: dict) -> list[dict]:
    return [part, *(inner for row in part["rows"] for child in row for inner in parts(child))]


def parameter_sum(part: dict) -> int:
    """Parameters of a part and all below it; a folded group counts `times`."""
    own = sum(weight["count"] for weight in part["weights"])
    return part["times"] * (own + sum(parameter_sum(inner) for row in part["rows"] for inner in row))


@pytest.mark.parametrize("name", [*FAMILIES, *core.PRESETS])
def test_the_plan_has_the_counts_and_shapes_of_the_model(name):
    config = core.configure(name)
    body = {"family": config.family, "options": model_plan.non_default_options(config), "time": 6, "target_time": 5}
    plan = PlanBody(**body).plan()
    model = core.build(config, device="meta").eval()
    total = sum(weight.numel() for weight in model.parameters())
    assert plan["parameters"] == plan["root"]["count"] == parameter_sum(plan["root"]) == total
    ids = torch.zeros(1, 6, dtype=torch.long, device="meta")
    with torch.no_grad(), core.capture(model) as tape:
        model(ids, ids[:, :5]) if hasattr(model, "encode") else model(ids)
    shapes = {part["path"]: tuple(part["shape"]) for part in parts(plan["root"]) if part["kind"] == "point"}
    assert shapes == {name: tuple(tape[name].shape) for name in shapes}
    blocks = [part for part in parts(plan["root"]) if part["module"] == "Block"]
    block_count = sum(part["times"] for part in blocks)
    assert block_count == sum(type(module).__name__ == "Block" for module in model.modules())
    nodes = {part["id"] for part in parts(plan["root"])}
    assert all(source in nodes for part in parts(plan["root"]) for source, _ in part["sources"])


@pytest.mark.parametrize(
    ("family", "options"), SOME, ids=lambda value: value if isinstance(value, str) else label(value)
)
def test_the_python_rebuilds_it(family, options):
    config = small_config(family, **options)
    namespace: dict = {}
    exec(model_plan.python_of(config), namespace)
    assert namespace["model"].config == config


@pytest.mark.parametrize("name", core.PRESETS)
def test_presets_are_built_by_their_shortest_name(name):
    config = core.configure(name)
    code = model_plan.python_of(config)
    assert code.splitlines()[-1].startswith('model = core.build("')
    assert model_plan.preset_of(config) in (name, *core.PRESETS)
    namespace: dict = {}
    exec(code.replace('")', '", device="meta")') if f'"{name}"' in code else code, namespace)
    assert namespace["model"].config == config


def test_the_python_has_only_options_that_are_not_defaults():
    assert (
        model_plan.python_of(core.configure("gpt", n_layers=3, dropout=0.0))
        == 'import core\n\nmodel = core.build("gpt", n_layers=3)'
    )
    assert 'core.build("bert-large")' in model_plan.python_of(core.configure("bert-large"))


@pytest.mark.parametrize(
    ("family", "options", "option"),
    [
        ("gpt", {"n_heads": 3}, "n_heads"), ("gpt", {"n_layers": 0}, "n_layers"), ("gpt", {"d_model": ""}, "d_model"),
        ("gpt", {"n_kv_heads": 3}, "n_kv_heads"), ("bert", {"head": "lm"}, "head"), ("lstm", {"n_heads": 2}, "n_heads"),
        ("roformer", {"d_model": 12, "n_heads": 4}, "position"), ("t5", {"n_buckets": 30}, "n_buckets"),
        ("rnn", {"head": "lm", "bidirectional": True}, "bidirectional"), ("seq2seq", {"d_hidden": 5}, "d_hidden"),
        ("gpt", {"n_layers": [1]}, "n_layers"), ("gpt", {"dropout": None}, "dropout"), ("elmo", {}, "name"),
    ],
)  # fmt: skip
def test_a_bad_option_gets_a_sentence(client, family, options, option):
    answer = client.post("/api/build/diagram", json={"family": family, "options": options})
    assert answer.status_code == 422
    problem = answer.json()["problem"]
    assert problem["option"] == option
    assert problem["en"] and any("\u4e00" <= letter <= "\u9fff" for letter in problem["zh"])


def test_absurd_questions_are_answered_too(client):
    many = client.post("/api/build/diagram", json={"family": "gpt", "options": {"n_layers": "9" * 5_000}})
    assert many.status_code == 422
    long = client.post("/api/build/diagram", json={"family": "gpt", "time": 10_000})
    assert long.status_code == 422 and long.json()["problem"]["option"] == "time"
    huge = {"family": "gpt", "options": {"n_layers": 96, "d_model": 16_384, "n_heads": 128, "vocab_size": 1_000_000}}
    assert PlanBody(**huge).plan()["parameters"] > 3e11
    assert client.post("/api/build/diagram", json=huge).status_code == 200


def test_every_family_has_its_main_options_first_and_words_for_itself():
    for family in core.models():
        names = [option.name for option in CONFIGS[family].options()]
        main = model_plan.main_options(family)
        assert main and set(main) <= set(names) and len(set(main)) == len(main)
        assert translate(model_plan.family_help(family), "zh") != str(model_plan.family_help(family))
    assert {preset.family for preset in core.PRESETS.values()} <= set(core.models())


def asked(**keys) -> dict:
    """Keys of the page's state as the tab's events get them."""
    return {"run": "induction-gpt", "text": "a b c d a b c d", "heldOut": 0, "language": "en", **keys}


def test_the_first_drawing_is_the_runs_own_model():
    run = run_registry.open_run("induction-gpt").run
    controls, first, second, whose, *_ = draw(asked())
    built = controls["state"]["built"]
    assert core.configure(built["a"]["family"], **built["a"]["options"]) == run.model.config
    assert built["a"]["options"] == built["run"]["options"] and second is None
    assert first["question"]["time"] == len(input_from_text(run, "a b c d a b c d").source)
    assert "Induction GPT" in whose["text"]["among"]["en"]


def test_a_bad_option_is_named_and_the_drawing_left_as_it_is():
    bad = {"a": {"family": "gpt", "options": {"n_heads": 3}}, "b": None, "side": "a"}
    controls, *others = draw(asked(build=bad, language="zh"))
    assert controls["state"]["refused"] == "n_heads" and len(others) == DRAWN - 1
    assert controls["state"]["refusal"].startswith("n_heads = 3") and "图中仍是" in controls["state"]["refusal"]
    assert all(other == gr.skip() for other in others)


def test_two_configurations_are_compared():
    build = {"a": {"family": "gpt"}, "b": {"family": "gpt", "options": {"d_ff": 64}}, "side": "b"}
    controls, first, second, _, table, caption, python, *_ = draw(asked(build=build))
    assert controls["state"]["compared"] == 2 and (first["title"], second["title"]) == ("A · gpt", "B · gpt")
    assert table["value"].iloc[:, 0].tolist() == ["inner width (d_ff)", "parameters"]
    assert "blocks.0.ff.pre" in second["differs"] and "embed" not in second["differs"]
    assert "d_ff=64" in python and "times the parameters" in caption["text"]["among"]["en"]


@pytest.mark.parametrize(
    "value", [{"build": {"a": 3}}, {"heldOut": 5_000}, {"copies": {"x": -1}}, {"text": "a" * 30_000}]
)
def test_a_question_that_cannot_be_read_gets_a_sentence(value):
    with pytest.raises(core.InputError):
        draw(asked(**value))


def test_a_part_is_described_and_its_points_are_named():
    controls, words, code, plot, refusal = describe(asked(part="blocks.0.attn()"))
    assert ("weights", "blocks.0.attn.weights") in controls["choices"]["part"] and controls["visible"]["part"]
    assert "<h3>blocks.0.attn</h3>" in words and 'capture(model, "blocks.0.attn.*")' in code["value"]
    assert plot is None and refusal is None
    controls, words, code, plot, _ = describe(asked(part="blocks.0.attn.weights", copies={"blocks.0()": 1}))
    assert "<h3>blocks.1.attn.weights</h3>" in words and plot and len(controls["choices"]["partHead"]) == 4
    assert typeset("h_{t−1} + 10000^(2i/d) < x") == "h<sub>t−1</sub> + 10000<sup>2i/d</sup> &lt; x"


def test_the_built_model_becomes_the_recipe_and_back():
    for family, task in [("gpt", "induction"), ("lstm", "parity"), ("t5", "copy")]:
        config = core.configure(family, n_layers=3)
        before = RecipeChoice(family="lstm", task="parity", seed=7)
        chosen = recipe_to_train(config, before)
        assert (chosen.family, chosen.seed) == (family, 7) and (family, chosen.task) in RECIPES
        trained = model_to_train(chosen)
        names = [option.name for option in config.options() if option.name not in FROM_TASK]
        assert [getattr(trained, name) for name in names] == [getattr(config, name) for name in names]
        kept = recipe_to_train(
            config, RecipeChoice(family=family, task=task, variant="default", training={"steps": 50})
        )
        assert kept.task == task and kept.training == {"steps": 50}


def test_the_thumbnail_is_the_runs_own_tensor():
    run = run_registry.open_run("induction-gpt").run
    problem = input_from_text(run, "a b c d a b c d")
    for point in ("blocks.1.attn.weights", "blocks.0.ff.post", "logits"):
        header, arrays = activations.point_activations(run.model.config, point, "induction-gpt", problem, 8, 8)
        tapes = run.replay(*problem.batch.inputs, point)
        assert header["of"] == "run" and header["steps"] == [snapshot.step for snapshot in run.snapshots]
        for values, tape in zip(arrays["values"], tapes, strict=True):
            expected = tape[point][0].reshape(-1, *tape[point].shape[-2:])[:16, :64, :64]
            np.testing.assert_array_equal(values, expected)


def test_another_configuration_is_untrained_and_says_so():
    config = core.configure("lstm", n_layers=2)
    problem = held_out_input(run_registry.open_run("induction-gpt").run, 0)
    header, arrays = activations.point_activations(config, "layers.1.fwd.cell", "induction-gpt", problem, 5, 8)
    assert header["of"] == "untrained" and header["shape"] == [1, 5, 128] and len(header["source"]) == 5
    torch.manual_seed(0)
    model = core.build("lstm", n_layers=2).eval()
    with torch.no_grad(), core.capture(model, "layers.1.fwd.cell") as tape:
        model(torch.tensor([[int(token) for token in header["source"]]]))
    np.testing.assert_allclose(arrays["values"][0, 0], tape["layers.1.fwd.cell"][0, :, :64], atol=1e-6)
    with pytest.raises(core.InputError, match="only drawn"):
        activations.point_activations(core.configure("bert-large"), "embed", None, None, 5, 8)


@pytest.mark.parametrize("point", ["nope", "*", "[", "blocks.?.resid_out", "blocks.9.resid_out"])
@pytest.mark.parametrize("run", [None, "induction-gpt"])
def test_an_unknown_capture_point_gets_a_sentence(run, point):
    loaded = run_registry.open_run("induction-gpt").run
    problem = held_out_input(loaded, 0)
    with pytest.raises(core.InputError, match="station"):
        activations.point_activations(loaded.model.config, point, run, problem, 8, 8)


def test_of_each_snapshot_only_the_thumbnail_is_kept_in_memory():
    tensor = torch.rand(2, 20, 90, 80)
    thumbnail = activations.thumbnail(tensor)
    assert thumbnail.shape == (16, 64, 64)
    assert thumbnail.untyped_storage().nbytes() == 4 * thumbnail.numel()
    assert torch.equal(thumbnail, tensor[0, :16, :64, :64])


def test_costs_of_many_recurrent_positions_are_only_predicted():
    deep = core.configure("lstm", n_layers=12, d_hidden=8, d_embed=8)
    predicted = costs.predict_costs(deep)
    assert max(predicted["measurable"]) == 64 and 512 in predicted["lengths"]
    with pytest.raises(core.InputError):
        costs.measure_costs(deep, 512)
    assert max(costs.predict_costs(core.configure("gpt", n_layers=12, d_model=16))["measurable"]) == 512


def test_costs_are_predicted_for_all_and_measured_for_small():
    options = {"n_layers": 1, "d_model": 16, "n_heads": 2}
    config = core.configure("gpt", **options)
    predicted = costs.predict_costs(config)
    assert predicted["lengths"][-1] == config.max_len == predicted["measurable"][-1]
    measured = costs.measure_costs(config, 16)
    at = predicted["lengths"].index(16)
    assert measured["flops"] == sum(part[at] for part in predicted["flops"].values())
    assert measured["activation_bytes"] == predicted["activations"][at]
    large = core.configure("bert-large")
    assert costs.predict_costs(large)["measurable"] == []
    with pytest.raises(core.InputError):
        costs.measure_costs(large, 16)
    question = asked(build={"a": {"family": "gpt", "options": options}, "b": None, "side": "a"})
    answers = list(measure(question))
    assert len(answers) == 1 + len(predicted["measurable"])
    assert answers[-1][1]["spec"]["figure"]["data"][2]["y"][at] == measured["flops"]
    assert [layer.name for layer in compare_layers()] == ["rnn", "cnn", "attention"]


def test_notes_name_parameters_that_estimates_leave_out():
    paper = core.configure("transformer", vocab_size=50_000, d_model=512, n_heads=8, n_layers=6, d_ff=2_048)
    plan = model_plan.plan(paper, 4, 4)
    notes = " ".join(str(note) for note in plan["notes"])
    assert "parameters (21 %)" in notes and "（21%）" in translate(plan["notes"][0], "zh")
    assert "92 million" in notes and f"{12 * (2 * 512 * 2_048 + 512 + 2_048):,}" in notes
    tied = model_plan.plan(core.configure("gpt2-small"), 4, 4)
    assert any("head.proj.weight is token_embedding.weight" in str(note) for note in tied["notes"])
