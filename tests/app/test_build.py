"""Routes of the Build tab: shapes and counts of the models, errors for bad options, Python that rebuilds a model."""

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

import core
from app import payload
from app.main import make_app
from app.service.build import activations, model_plan
from app.service.inputs import input_from_text
from app.service.runs import run_registry
from core.analysis.layer_costs import compare_layers
from core.config.families import CONFIGS
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
def test_the_plan_has_the_counts_and_shapes_of_the_model(client, name):
    config = core.configure(name)
    body = {"family": config.family, "options": model_plan.non_default_options(config), "time": 6, "target_time": 5}
    plan = client.post("/api/build/plan", json=body).json()
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
    answer = client.post("/api/build/plan", json={"family": family, "options": options})
    assert answer.status_code == 422
    problem = answer.json()["problem"]
    assert problem["option"] == option
    assert problem["en"] and any("\u4e00" <= letter <= "\u9fff" for letter in problem["zh"])


def test_absurd_questions_are_answered_too(client):
    many = client.post("/api/build/plan", json={"family": "gpt", "options": {"n_layers": "9" * 5_000}})
    assert many.status_code == 422
    long = client.post("/api/build/plan", json={"family": "gpt", "time": 10_000})
    assert long.status_code == 422 and long.json()["problem"]["option"] == "time"
    huge = {"family": "gpt", "options": {"n_layers": 96, "d_model": 16_384, "n_heads": 128, "vocab_size": 1_000_000}}
    assert client.post("/api/build/plan", json=huge).json()["parameters"] > 3e11


def test_the_menu_has_every_option_with_its_help():
    menu = model_plan.build_menu()
    assert [family["name"] for family in menu["families"]] == core.models()
    for family in menu["families"]:
        names = [option["name"] for option in family["options"]]
        assert sorted(names) == sorted(option.name for option in CONFIGS[family["name"]].options())
        assert names[: len(family["main"])] == family["main"]
        assert family["help"]["en"] and family["help"]["zh"]
    assert {preset["name"] for preset in menu["presets"]} == set(core.PRESETS)


def test_the_thumbnail_is_the_runs_own_tensor(client):
    run = run_registry.open_run("induction-gpt").run
    text = "a b c d a b c d"
    problem = input_from_text(run, text)
    config = client.get("/api/build/of/induction-gpt").json()
    assert core.configure(config["family"], **config["options"]) == run.model.config
    for point in ("blocks.1.attn.weights", "blocks.0.ff.post", "logits"):
        answer = client.post("/api/build/flow", json={**config, "point": point, "run": "induction-gpt", "text": text})
        header, arrays = payload.unpack(answer.content)
        tapes = run.replay(*problem.batch.inputs, point)
        assert header["of"] == "run" and header["steps"] == [snapshot.step for snapshot in run.snapshots]
        for values, tape in zip(arrays["values"], tapes, strict=True):
            expected = tape[point][0].reshape(-1, *tape[point].shape[-2:])[:16, :64, :64]
            np.testing.assert_array_equal(values, expected)


def test_another_configuration_is_untrained_and_says_so(client):
    body = {
        "family": "lstm",
        "options": {"n_layers": 2},
        "point": "layers.1.fwd.cell",
        "time": 5,
        "run": "induction-gpt",
    }
    answer = client.post("/api/build/flow", json={**body, "held_out": 0})
    header, arrays = payload.unpack(answer.content)
    assert header["of"] == "untrained" and header["shape"] == [1, 5, 128] and len(header["source"]) == 5
    torch.manual_seed(0)
    model = core.build("lstm", n_layers=2).eval()
    with torch.no_grad(), core.capture(model, "layers.1.fwd.cell") as tape:
        model(torch.tensor([[int(token) for token in header["source"]]]))
    np.testing.assert_allclose(arrays["values"][0, 0], tape["layers.1.fwd.cell"][0, :, :64], atol=1e-6)
    large = {"family": "bert", "options": core.PRESETS["bert-large"].options, "point": "embed"}
    assert client.post("/api/build/flow", json=large).status_code == 422, "too large to be run"


@pytest.mark.parametrize("point", ["nope", "*", "[", "blocks.?.resid_out", "blocks.9.resid_out"])
@pytest.mark.parametrize("run", [None, "induction-gpt"])
def test_an_unknown_capture_point_gets_a_sentence(client, run, point):
    config = client.get("/api/build/of/induction-gpt").json()
    answer = client.post("/api/build/flow", json={**config, "run": run, "point": point})
    assert answer.status_code == 422 and "station" in answer.json()["problem"]["en"]


def test_an_unknown_held_out_problem_gets_a_sentence(client):
    body = {"family": "gpt", "point": "logits", "run": "induction-gpt", "held_out": 5_000}
    answer = client.post("/api/build/flow", json=body)
    assert answer.status_code == 422 and answer.json()["problem"]["option"] == "held_out"


def test_of_each_snapshot_only_the_thumbnail_is_kept_in_memory():
    tensor = torch.rand(2, 20, 90, 80)
    thumbnail = activations.thumbnail(tensor)
    assert thumbnail.shape == (16, 64, 64)
    assert thumbnail.untyped_storage().nbytes() == 4 * thumbnail.numel()
    assert torch.equal(thumbnail, tensor[0, :16, :64, :64])


def test_costs_of_many_recurrent_positions_are_only_predicted(client):
    deep = {"family": "lstm", "options": {"n_layers": 12, "d_hidden": 8, "d_embed": 8}}
    predicted = client.post("/api/build/costs", json=deep).json()
    assert max(predicted["measurable"]) == 64 and 512 in predicted["lengths"]
    assert client.post("/api/build/measure", json={**deep, "length": 512}).status_code == 422
    flat = client.post("/api/build/costs", json={"family": "gpt", "options": {"n_layers": 12, "d_model": 16}}).json()
    assert max(flat["measurable"]) == 512


def test_costs_are_predicted_for_all_and_measured_for_small(client):
    small = {"family": "gpt", "options": {"n_layers": 1, "d_model": 16, "n_heads": 2}}
    predicted = client.post("/api/build/costs", json=small).json()
    config = core.configure("gpt", **small["options"])
    assert predicted["lengths"][-1] == config.max_len == predicted["measurable"][-1]
    measured = client.post("/api/build/measure", json={**small, "length": 16}).json()
    at = predicted["lengths"].index(16)
    assert measured["flops"] == sum(part[at] for part in predicted["flops"].values())
    assert measured["activation_bytes"] == predicted["activations"][at]
    large = {"family": "bert", "options": core.PRESETS["bert-large"].options}
    assert client.post("/api/build/costs", json=large).json()["measurable"] == []
    assert client.post("/api/build/measure", json={**large, "length": 16}).status_code == 422
    assert measured["figures"]["operations"]["figure"]["data"][2]["y"][at] == measured["flops"]
    assert [layer.name for layer in compare_layers()] == ["rnn", "cnn", "attention"]


def test_notes_name_parameters_that_estimates_leave_out():
    paper = core.configure("transformer", vocab_size=50_000, d_model=512, n_heads=8, n_layers=6, d_ff=2_048)
    plan = model_plan.plan(paper, 4, 4)
    notes = " ".join(note["en"] for note in plan["notes"])
    assert "parameters (21 %)" in notes and "（21%）" in plan["notes"][0]["zh"]
    assert "92 million" in notes and f"{12 * (2 * 512 * 2_048 + 512 + 2_048):,}" in notes
    tied = model_plan.plan(core.configure("gpt2-small"), 4, 4)
    assert any("head.proj.weight is token_embedding.weight" in note["en"] for note in tied["notes"])
