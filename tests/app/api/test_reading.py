"""The endpoints that read a run or a model, called by `gradio_client`; right answers are core's own."""

import json
from pathlib import Path

import numpy as np
import plotly.io
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

import core
from app.service.runs import shipped
from app.service.timeline_figure import run_timeline
from core.analysis import measures
from core.analysis.measures import count_parameters
from core.config.families import CONFIGS
from core.tasks import TASKS
from tests.app.api.calls import BITS, CHECKPOINT, GPT, LSTM, NAMES, REPEATED, ask, replay


def test_exactly_these_endpoints_are_public_and_described(client):
    api = client.view_api(return_format="dict", print_info=False)
    assert sorted(api["named_endpoints"]) == sorted(f"/{name}" for name in NAMES)
    assert api["unnamed_endpoints"] == {}
    for name, endpoint in api["named_endpoints"].items():
        assert endpoint["description"].endswith("."), name
        assert all(parameter["type"] for parameter in endpoint["parameters"]), name
        assert all(returned["type"] for returned in endpoint["returns"]), name


def test_models(client):
    models = {model["name"]: model for model in ask(client, "models")}
    assert list(models) == core.models()
    for family, model in models.items():
        assert [option["name"] for option in model["options"]] == [one.name for one in CONFIGS[family].options()]
        assert model["tasks"] == [name for name in TASKS if family in TASKS[name].make().families]
    heads = next(option for option in models["gpt"]["options"] if option["name"] == "n_heads")
    assert (heads["kind"], heads["low"], heads["default"]) == ("int", 1, CONFIGS["gpt"]().n_heads)


@pytest.mark.parametrize(
    "family, options",
    [("gpt", {"n_layers": 3, "position": "rope"}), ("lstm", {"d_hidden": 48}), ("transformer", {})],
)
def test_build(client, family, options):
    described = ask(client, "build", family=family, options=options)
    model = core.build(family, **options)
    assert described["parameters"] == sum(count_parameters(model).values())
    assert described["options"] == options
    built: dict = {}
    exec(described["python"], built)
    assert built["model"].config == model.config
    modules = dict(model.named_modules())
    inputs = [torch.zeros(1, time, dtype=torch.long) for time in ((12, 8) if family == "transformer" else (12,))]
    with core.capture(model) as tape:
        model(*inputs)
    for part in described["parts"]:
        if part["kind"] == "module":
            assert part["module"] == type(modules[part["name"]]).__name__
        elif part["kind"] == "point":
            assert tuple(part["shape"]) == tape[part["name"]].shape
    assert {part["kind"] for part in described["parts"]} == {"module", "point", "input"}


def test_runs(client):
    runs = ask(client, "runs")
    names = [run["name"] for run in runs]
    assert names[: len(shipped.names())] == shipped.names() and CHECKPOINT in names
    by_name = {run["name"]: run for run in runs}
    assert by_name[LSTM]["accuracy"] == shipped.facts_of(LSTM)["accuracy"]


def test_look_at_attention(client, gpt):
    facts, path = ask(client, "look", run=GPT, text=REPEATED)
    assert facts["tokens"]["source"] == REPEATED.split()
    assert facts["steps"] == [snapshot.step for snapshot in gpt.snapshots]
    tapes, arrays = replay(gpt, REPEATED, "*.weights"), load_file(path)
    weights = torch.stack([torch.stack([tape[name][0] for name in tape.names()]) for tape in tapes])
    torch.testing.assert_close(arrays["blocks.weights"], weights, rtol=0, atol=1e-6)
    torch.testing.assert_close(arrays["blocks.entropy"], measures.entropy(weights), rtol=0, atol=1e-5)
    roles = {(head["layer"], head["head"]): head["role"] for head in facts["heads"]}
    assert len(roles) == weights[0].shape[:2].numel() and "induction" in roles.values()
    assert "blocks/one_head" in facts["figures"] and "timeline" in facts["figures"]


def test_look_at_gates(client, lstm):
    facts, path = ask(client, "look", run=LSTM)  # the first held-out problem
    example = lstm.task.evaluation(1)
    ids = example.source[:, : example.source_lengths[0]]
    assert facts["text"] == lstm.task.say(ids[0].tolist())
    tapes, arrays = lstm.replay(ids, "*layers.*"), load_file(path)
    for point in ("forget", "cell", "hidden"):
        expected = torch.stack([tape[f"layers.0.fwd.{point}"][0] for tape in tapes])
        torch.testing.assert_close(arrays[f"layers.0.fwd.{point}"], expected, rtol=0, atol=1e-6)
    with safe_open(path, "pt") as file:
        assert json.loads(file.metadata()["steps"]) == facts["steps"]


@pytest.mark.parametrize("pattern, index", [("*.weights", -1), ("*", 3)])
def test_captured_tensors_are_those_of_core(client, gpt, pattern, index):
    step = None if index == -1 else gpt.snapshots[index].step
    path = ask(client, "capture", run=GPT, text=REPEATED, pattern=pattern, step=step)
    tape, captured = replay(gpt, REPEATED, pattern)[index], load_file(path)
    assert set(captured) == set(tape.names())
    assert all(torch.equal(captured[name], tape[name]) for name in captured)
    assert Path(path).suffix == ".safetensors"


def test_captured_tensors_of_an_encoder_decoder(client):
    run = shipped.load("copy-transformer").run
    captured = load_file(ask(client, "capture", run="copy-transformer", text="d k b f m a", pattern="encoder.*"))
    ids = torch.tensor([run.task.read("d k b f m a")])
    assert captured["encoder.blocks.0.attn.weights"].shape[-1] == ids.shape[1] + 1  # the end token is read, too


def test_accuracy_is_that_of_core(client, lstm):
    assert ask(client, "evaluate", run=LSTM) == {"accuracy": lstm.evaluate().accuracy, "problems": 256}
    run = shipped.load("copy-transformer").run
    far = ask(client, "evaluate", run="copy-transformer", length=20)["accuracy"]
    assert far == run.evaluate(length=20).accuracy < 1


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "greedy"},
        {"strategy": "beam", "beams": 3, "n_best": 3},
        {"strategy": "sample", "temperature": 1.5, "seed": 7},
    ],
)
def test_texts_are_those_of_core(client, options):
    run, date = shipped.load("dates-bahdanau").run, "April 20, 1920"
    strategy, others = options["strategy"], {name: value for name, value in options.items() if name != "strategy"}
    texts = ask(client, "generate", run="dates-bahdanau", prompt=date, strategy=strategy, options=others)
    bos, eos, pad = 1, 2, 0
    source = torch.tensor([[*run.task.read(date), eos]])
    expected = core.generate(run.model, source, bos=bos, eos=eos, pad=pad, **options).tolist()
    assert [text["ids"] for text in texts] == [[i for i in row if i != pad] for row in expected]
    if strategy == "greedy":
        assert texts[0]["text"] == "1920-04-20" and texts[0]["tokens"][-1] == "</s>"


def test_measures_of_heads(client, gpt):
    step = gpt.snapshots[2].step
    rows = ask(client, "measures", run=GPT, text=REPEATED, step=step)
    tape = replay(gpt, REPEATED, "*.weights")[2]
    for row in rows:
        weights = tape[f"{row['point']}.weights"][0, row["head"]]
        assert row["entropy"] == pytest.approx(float(measures.entropy(weights)), abs=1e-5)
        assert row["previous"] == pytest.approx(float(measures.previous_token(weights)), abs=1e-5)


def test_measures_of_units(client, lstm):
    rows = ask(client, "measures", run=LSTM, text=BITS)
    forget = replay(lstm, BITS, "*")[-1]["layers.0.fwd.forget"]
    expected = measures.half_life(forget).tolist()
    assert [row["half_life"] for row in rows] == pytest.approx(expected, rel=1e-4)
    saturated = measures.saturation(forget).tolist()
    assert [row["saturation_forget"] for row in rows] == pytest.approx(saturated)


def test_a_figure_holds_the_tensors_of_the_tape(client, gpt):
    state = {"snapshot": 5, "layer": 1, "head": 2, "theme": "dark"}
    figure = plotly.io.from_json(ask(client, "figure", name="blocks/one_head", run=GPT, text=REPEATED, state=state))
    tape = replay(gpt, REPEATED, "*.weights")[5]
    np.testing.assert_allclose(figure.data[0].z, tape["blocks.1.attn.weights"][0, 2], atol=1e-6)
    last = plotly.io.from_json(ask(client, "figure", name="blocks/one_head", run=GPT, text=REPEATED))
    tape = replay(gpt, REPEATED, "*.weights")[-1]
    np.testing.assert_allclose(last.data[0].z, tape["blocks.0.attn.weights"][0, 0], atol=1e-6)


def test_figures_of_gates_and_training(client, lstm):
    state = {"gate": "forget", "snapshot": 4}
    name = "layers.0.fwd/units"
    figure = plotly.io.from_json(ask(client, "figure", name=name, run=LSTM, text=BITS, state=state))
    forget = replay(lstm, BITS, "*")[4]["layers.0.fwd.forget"][0]
    np.testing.assert_allclose(np.asarray(figure.data[0].z), forget.T, atol=1e-6)
    timeline = plotly.io.from_json(ask(client, "figure", name="timeline", run=LSTM))
    loaded = shipped.load(LSTM)
    expected = run_timeline(loaded.run, loaded.events, loaded.facts["accuracy"]).at(snapshot=len(lstm.snapshots) - 1)
    for drawn, trace in zip(timeline.data, expected.data, strict=True):
        np.testing.assert_allclose(np.asarray(drawn.y, float), np.asarray(trace.y, float), rtol=1e-6)


def test_every_figure_of_a_run_can_be_drawn(client):
    for run in (GPT, LSTM, "dates-luong"):
        facts, _ = ask(client, "look", run=run)
        for name in facts["figures"]:
            assert plotly.io.from_json(ask(client, "figure", name=name, run=run)).data, name


def test_texts_of_a_checkpoint_are_those_of_core(client, folder):
    texts = ask(client, "generate", run=CHECKPOINT, prompt="the capital of", options={"max_new": 6})
    model, tokenizer = core.load_pretrained(folder / "checkpoints/org/gpt")
    ids = torch.tensor([tokenizer.encode("the capital of")])
    assert texts[0]["ids"] == core.generate(model, ids, max_new=6)[0].tolist()
    assert texts[0]["text"] == tokenizer.decode(texts[0]["ids"])


def test_attention_of_a_checkpoint(client, folder):
    captured = load_file(ask(client, "capture", run=CHECKPOINT, text="the capital of France"))
    model, tokenizer = core.load_pretrained(folder / "checkpoints/org/gpt")
    with torch.no_grad(), core.capture(model, "*.weights") as tape:
        model(torch.tensor([tokenizer.encode("the capital of France")]))
    assert set(captured) == set(tape.names())
    for name in captured:
        torch.testing.assert_close(captured[name], tape[name], rtol=0, atol=1e-6)
