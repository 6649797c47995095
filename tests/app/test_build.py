"""What the Build tab is sent: the models' own shapes and counts, sentences for bad options, Python that rebuilds it."""

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

import core
from app.main import make_app
from app.service import payload
from app.service.build import activations, costs, model_plan
from app.service.inputs import input_from_text
from app.service.runs import run_registry
from core.config.families import CONFIGS
from tests.core.examples import FAMILIES, label, small_config, variants

SOME = [(family, options) for family in FAMILIES for options in variants(family)[::7]]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_app())


def parts(part: dict) -> list[dict]:
    return [part, *(inner for row in part["rows"] for one in row for inner in parts(one))]


def counted(part: dict) -> int:
    """Parameters of the drawing, a folded group as often as it is there."""
    own = sum(weight["count"] for weight in part["weights"])
    return part["times"] * (own + sum(counted(inner) for row in part["rows"] for inner in row))


@pytest.mark.parametrize("name", [*FAMILIES, *core.PRESETS])
def test_the_drawing_has_the_models_own_counts_and_shapes(client, name):
    config = core.configure(name)
    asked = {"family": config.family, "options": model_plan.changed(config), "time": 6, "target_time": 5}
    plan = client.post("/api/build/plan", json=asked).json()
    model = core.build(config, device="meta").eval()
    total = sum(weight.numel() for weight in model.parameters())
    assert plan["parameters"] == plan["root"]["count"] == counted(plan["root"]) == total
    ids = torch.zeros(1, 6, dtype=torch.long, device="meta")
    with torch.no_grad(), core.capture(model) as tape:
        model(ids, ids[:, :5]) if hasattr(model, "encode") else model(ids)
    drawn = {part["path"]: tuple(part["shape"]) for part in parts(plan["root"]) if part["kind"] == "point"}
    assert drawn == {name: tuple(tape[name].shape) for name in drawn}
    blocks = [part for part in parts(plan["root"]) if part["module"] == "Block"]
    folded = sum(part["times"] for part in blocks)
    assert folded == sum(type(module).__name__ == "Block" for module in model.modules())
    nodes = {part["id"] for part in parts(plan["root"])}
    assert all(source in nodes for part in parts(plan["root"]) for source, _ in part["sources"])


@pytest.mark.parametrize(
    ("family", "options"), SOME, ids=lambda value: value if isinstance(value, str) else label(value)
)
def test_the_python_rebuilds_it(family, options):
    config = small_config(family, **options)
    made: dict = {}
    exec(model_plan.python_of(config), made)
    assert made["model"].config == config


@pytest.mark.parametrize("name", core.PRESETS)
def test_presets_are_built_by_their_shortest_name(name):
    config = core.configure(name)
    code = model_plan.python_of(config)
    assert code.splitlines()[-1].startswith('model = core.build("')
    assert model_plan.preset_of(config) in (name, *core.PRESETS)
    made: dict = {}
    exec(code.replace('")', '", device="meta")') if f'"{name}"' in code else code, made)
    assert made["model"].config == config


def test_only_what_differs_is_written():
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
def test_a_bad_option_gets_its_sentence(client, family, options, option):
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


def test_every_option_is_offered_with_its_words():
    offered = model_plan.offered()
    assert [one["name"] for one in offered["families"]] == core.models()
    for one in offered["families"]:
        names = [option["name"] for option in one["options"]]
        assert sorted(names) == sorted(option.name for option in CONFIGS[one["name"]].options())
        assert names[: len(one["main"])] == one["main"]
        assert one["help"]["en"] and one["help"]["zh"]
    assert {one["name"] for one in offered["presets"]} == set(core.PRESETS)


def test_the_thumbnail_is_the_runs_own_tensor(client):
    run = run_registry.open_run("induction-gpt").run
    text = "a b c d a b c d"
    problem = input_from_text(run, text)
    asked = client.get("/api/build/of/induction-gpt").json()
    assert core.configure(asked["family"], **asked["options"]) == run.model.config
    for point in ("blocks.1.attn.weights", "blocks.0.ff.post", "logits"):
        answer = client.post("/api/build/flow", json={**asked, "point": point, "run": "induction-gpt", "text": text})
        header, arrays = payload.unpack(answer.content)
        tapes = run.replay(*problem.batch.inputs, point)
        assert header["of"] == "run" and header["steps"] == [snapshot.step for snapshot in run.snapshots]
        for values, tape in zip(arrays["values"], tapes, strict=True):
            expected = tape[point][0].reshape(-1, *tape[point].shape[-2:])[:16, :64, :64]
            np.testing.assert_array_equal(values, expected)


def test_another_configuration_is_untrained_and_says_so(client):
    asked = {
        "family": "lstm",
        "options": {"n_layers": 2},
        "point": "layers.1.fwd.cell",
        "time": 5,
        "run": "induction-gpt",
    }
    answer = client.post("/api/build/flow", json={**asked, "held_out": 0})
    header, arrays = payload.unpack(answer.content)
    assert header["of"] == "untrained" and header["shape"] == [1, 5, 128] and len(header["source"]) == 5
    torch.manual_seed(0)
    model = core.build("lstm", n_layers=2).eval()
    with torch.no_grad(), core.capture(model, "layers.1.fwd.cell") as tape:
        model(torch.tensor([[int(token) for token in header["source"]]]))
    np.testing.assert_allclose(arrays["values"][0, 0], tape["layers.1.fwd.cell"][0, :, :64], atol=1e-6)
    large = {"family": "bert", "options": core.PRESETS["bert-large"].options, "point": "embed"}
    assert client.post("/api/build/flow", json=large).status_code == 422, "never allocated"


@pytest.mark.parametrize("point", ["nope", "*", "[", "blocks.?.resid_out", "blocks.9.resid_out"])
@pytest.mark.parametrize("run", [None, "induction-gpt"])
def test_a_station_that_is_not_there_is_refused_with_a_sentence(client, run, point):
    asked = client.get("/api/build/of/induction-gpt").json()
    answer = client.post("/api/build/flow", json={**asked, "run": run, "point": point})
    assert answer.status_code == 422 and "station" in answer.json()["problem"]["en"]


def test_a_held_out_problem_that_is_not_there_is_refused_with_a_sentence(client):
    asked = {"family": "gpt", "point": "logits", "run": "induction-gpt", "held_out": 5_000}
    answer = client.post("/api/build/flow", json=asked)
    assert answer.status_code == 422 and answer.json()["problem"]["option"] == "held_out"


def test_of_each_snapshot_only_the_thumbnail_is_held():
    whole = torch.rand(2, 20, 90, 80)
    kept = activations.small(whole)
    assert kept.shape == (16, 64, 64) and kept.untyped_storage().nbytes() == 4 * kept.numel()
    assert torch.equal(kept, whole[0, :16, :64, :64])


def test_many_recurrent_steps_are_predicted_only(client):
    deep = {"family": "lstm", "options": {"n_layers": 12, "d_hidden": 8, "d_embed": 8}}
    found = client.post("/api/build/costs", json=deep).json()
    assert max(found["measurable"]) == 64 and 512 in found["lengths"]
    assert client.post("/api/build/measure", json={**deep, "length": 512}).status_code == 422
    flat = client.post("/api/build/costs", json={"family": "gpt", "options": {"n_layers": 12, "d_model": 16}}).json()
    assert max(flat["measurable"]) == 512


def test_costs_are_predicted_for_all_and_measured_for_small(client):
    small = {"family": "gpt", "options": {"n_layers": 1, "d_model": 16, "n_heads": 2}}
    found = client.post("/api/build/costs", json=small).json()
    config = core.configure("gpt", **small["options"])
    assert found["lengths"][-1] == config.max_len == found["measurable"][-1]
    one = client.post("/api/build/measure", json={**small, "length": 16}).json()
    at = found["lengths"].index(16)
    assert one["flops"] == sum(part[at] for part in found["flops"].values())
    assert one["activation_bytes"] == found["activations"][at]
    large = {"family": "bert", "options": core.PRESETS["bert-large"].options}
    assert client.post("/api/build/costs", json=large).json()["measurable"] == []
    assert client.post("/api/build/measure", json={**large, "length": 16}).status_code == 422
    assert [one["name"] for one in costs.layers()] == ["rnn", "cnn", "attention"]


def test_what_estimates_leave_out():
    paper = core.configure("transformer", vocab_size=50_000, d_model=512, n_heads=8, n_layers=6, d_ff=2_048)
    plan = model_plan.plan(paper, 4, 4)
    said = " ".join(note["en"] for note in plan["notes"])
    assert "parameters (21 %)" in said and "（21%）" in plan["notes"][0]["zh"]
    assert "92 million" in said and f"{12 * (2 * 512 * 2_048 + 512 + 2_048):,}" in said
    tied = model_plan.plan(core.configure("gpt2-small"), 4, 4)
    assert any("head.proj.weight is token_embedding.weight" in note["en"] for note in tied["notes"])
