"""The arrays of the Gates tab equal what the recurrent cells compute."""

import math

import numpy as np
import pytest
import torch
from fastapi import FastAPI
from fastapi.testclient import TestClient

import core
from app import payload
from app.figures.gates_gradients import gradients, three_digits
from app.i18n import WORDS
from app.main import STATIC
from app.routes import bundles, router
from app.routes import gates as routes
from app.routes.errors import add_error_handlers
from app.service import gate_gradients, gates
from app.service.inputs import ModelInput, held_out_input, input_from_text
from app.service.runs import run_registry, shipped
from core import InputError
from core.analysis import measures
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.training.optimisers import load_parameters
from core.training.snapshots import Snapshot

PARITY = "3 2 3 3 2 2 3 2 3 3 3 2"
SMALL_MODELS = [
    ("lstm", "parity", {"d_embed": 4, "d_hidden": 6, "n_layers": 2, "bidirectional": True}),
    ("gru", "parity", {"d_embed": 4, "d_hidden": 6, "bidirectional": True}),
    ("rnn", "parity", {"d_embed": 4, "d_hidden": 6, "n_layers": 2, "activation": "relu"}),
    ("seq2seq", "copy", {"d_embed": 4, "d_hidden": 8, "n_layers": 2, "cell": "lstm", "attention": "bahdanau"}),
    ("seq2seq", "copy", {"d_embed": 4, "d_hidden": 8, "cell": "gru", "attention": "luong-general"}),
    ("seq2seq", "copy", {"d_embed": 4, "d_hidden": 8, "cell": "lstm", "attention": "none", "bidirectional": False}),
]
RECURRENT_RUNS = [
    name for name in shipped.names() if shipped.by_name(name).family in ("rnn", "gru", "lstm", "seq2seq")
]


def make_run(family: str, task: str, model: dict) -> Run:
    """An untrained run with a second snapshot of four times larger weights."""
    run = Run(make_recipe(family, task, model=model), seed=3)
    weights = {name: 4 * w for name, w in run.snapshots[0].weights.items()}
    run.snapshots.entries.append(Snapshot(7, weights))
    return run


def cases() -> list:
    shipped_runs = [
        pytest.param(lambda name=name: run_registry.open_run(name).run, id=name) for name in RECURRENT_RUNS
    ]
    return shipped_runs + [
        pytest.param(lambda one=one: make_run(*one), id=f"{one[0]}-{'-'.join(map(str, one[2].values()))}")
        for one in SMALL_MODELS
    ]


def terms_by_gate(layer: gates.GateTerms) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    names = gates.GATES[layer.kind]
    return dict(
        zip(
            names,
            zip(layer.input_terms.chunk(len(names), -1), layer.recurrent_terms.chunk(len(names), -1), strict=True),
            strict=True,
        )
    )


def previous_state(layer: gates.GateTerms, state: str) -> torch.Tensor:
    """(snapshot, time, unit): the state at the position read before"""
    values, first = layer.states.points[state], layer.initial_states[state][:, None]
    return torch.cat([values[:, 1:], first], 1) if layer.backwards else torch.cat([first, values[:, :-1]], 1)


@pytest.mark.parametrize("make", cases())
def test_terms_and_initial_states_give_every_gate_and_state(make):
    run = make()
    layers = gates.collect_gate_terms(run, held_out_input(run, 1))
    assert layers
    for layer in layers:
        points, terms = layer.states.points, terms_by_gate(layer)
        activation = torch.relu if layer.activation == "relu" else torch.tanh
        close = {"atol": 2e-5, "rtol": 1e-4}
        for gate, (from_input, from_state) in terms.items():
            if gate == "candidate" and layer.kind == "gru":
                total = (from_input + points["reset"] * from_state).tanh()
            elif gate in ("candidate", "hidden"):
                total = activation(from_input + from_state)
            else:
                total = (from_input + from_state).sigmoid()
            torch.testing.assert_close(total, points[gate], **close)
        if layer.kind == "gru":
            hidden = (1 - points["update"]) * points["candidate"] + points["update"] * previous_state(layer, "hidden")
            torch.testing.assert_close(hidden, points["hidden"], **close)
        if layer.kind == "lstm":
            cell = points["forget"] * previous_state(layer, "cell") + points["input"] * points["candidate"]
            torch.testing.assert_close(cell, points["cell"], **close)
            torch.testing.assert_close(points["output"] * points["cell"].tanh(), points["hidden"], **close)


def test_measures_are_cores_own():
    run = run_registry.open_run("parity-lstm").run
    ((layer, view),) = gates.collect_views(run, input_from_text(run, PARITY), "parity-lstm")
    forget, candidate = (view.points.index(point) for point in ("forget", "candidate"))
    points, parity = layer.states.points, torch.tensor(view.signals["parity"]).double()
    for i in (0, -1):
        np.testing.assert_allclose(view.saturation[forget, i], measures.saturation(points["forget"][i][None]))
        np.testing.assert_allclose(view.half_life[i], measures.half_life(points["forget"][i][None]))
        saturated = (points["candidate"][i].abs() > 0.8).float().mean(0)
        np.testing.assert_allclose(view.saturation[candidate, i], saturated)
        for point in view.points:
            r = view.correlations[list(view.signals).index("parity"), view.points.index(point), i]
            np.testing.assert_allclose(r, measures.correlation(points[point][i].double(), parity), atol=1e-6)


def test_the_path_lies_in_the_plane_of_the_trained_states():
    run = run_registry.open_run("parity-lstm").run
    ((layer, view),) = gates.collect_views(run, input_from_text(run, PARITY), "parity-lstm")
    (path, shares), hidden = view.paths["hidden"], layer.states.points["hidden"].double().numpy()
    centre = hidden[-1].mean(0)
    _, strengths, axes = np.linalg.svd(hidden[-1] - centre, full_matrices=False)
    for i in (0, len(hidden) // 2, -1):
        expected = (hidden[i] - centre) @ axes[:2].T
        coordinates = path[i, 1:].astype(float)  # (time, 2)
        np.testing.assert_allclose(np.abs(coordinates), np.abs(expected), atol=1e-4)
        share = expected.var(0) / hidden[i].var(0).sum()
        np.testing.assert_allclose(shares[i], share, atol=1e-4)
    np.testing.assert_allclose(shares[-1], (strengths**2 / (strengths**2).sum())[:2], atol=1e-4)


def test_signals_are_computed_from_the_tokens():
    signals = gates.candidate_signals(["3", "2", "3", "3"])
    assert signals["parity"] == [1, 1, 0, 1]
    assert signals["position"] == [0, 1, 2, 3]
    assert signals["token 3"] == [1, 0, 1, 1]
    assert "parity" not in gates.candidate_signals(["a", "3"])
    assert gates.candidate_signals(["3"]) == {}  # a constant is no signal
    assert [name for name in gates.candidate_signals(list("abcbcc"), 2) if name.startswith("token")] == [
        "token b",
        "token c",
    ]


@pytest.mark.parametrize("text", ["3", "3 2", "2 2 2 2"])
def test_short_and_still_inputs_give_numbers(text):
    run = run_registry.open_run("parity-gru").run
    _, arrays = payload.unpack(gates.pack_gates(run, input_from_text(run, text), {}))
    assert all(np.isfinite(array).all() for array in arrays.values())


def test_a_model_without_recurrence_is_refused_before_it_is_copied(monkeypatch):
    run = run_registry.open_run("induction-gpt").run
    monkeypatch.setattr(gate_gradients, "deepcopy", lambda model: pytest.fail("copied"))
    with pytest.raises(InputError, match="no recurrent layers"):
        gate_gradients.gradients_through_time(run, held_out_input(run, 0).batch)


@pytest.mark.parametrize("last", [float("nan"), float("inf"), 3e38])
def test_one_snapshot_with_infinite_states_leaves_the_others_their_path(last):
    states = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    states[-1, 3] = last
    path, shares = gates.state_trajectory(states, torch.zeros(3, 4))
    assert path.shape == (3, 6, 2) and path[:2].isfinite().all() and shares[:2].isfinite().all()


def test_gradients_are_autograds_own_and_do_not_end_at_0():
    run = run_registry.open_run("parity-rnn").run
    model_input = input_from_text(run, PARITY)
    steps = [snapshot.step for snapshot in run.snapshots]
    header, arrays = payload.unpack(routes.packed_gradients("parity-rnn", PARITY, None, "input"))
    assert header["steps"] == steps
    for i in (0, -1):
        load_parameters(run.model, run.snapshots[i].weights)
        gradient = measures.gradient_through_time(run.model.eval(), model_input.batch)["layers.0.fwd.hidden"]
        np.testing.assert_allclose(10 ** arrays["layers.0.fwd"][i], gradient, rtol=1e-3)
    _, long = payload.unpack(routes.packed_gradients("parity-rnn", None, None, "long"))
    log = long["layers.0.fwd"][-1]
    assert np.isfinite(log).all() and log[0] - log[-1] < -25  # 0 in float32


def test_gradients_are_divided_by_the_last_on_which_the_loss_depends():
    """No loss comes after the last character that a language model reads."""
    run = run_registry.open_run("characters-gru").run
    header, arrays = payload.unpack(routes.packed_gradients("characters-gru", "the ", None, "input"))
    logs = arrays["layers.0.fwd"]
    batch = input_from_text(run, "the ").batch
    load_parameters(run.model, run.snapshots[-1].weights)
    gradient = measures.gradient_through_time(run.model.eval(), batch)["layers.0.fwd.hidden"]
    assert gradient[-1] == 0 and np.isnan(logs[:, -1]).all() and np.isfinite(logs[:, :-1]).all()
    np.testing.assert_allclose(10 ** logs[-1, :-1], gradient[:-1], rtol=1e-3)
    (line,) = gate_gradients.RunGradients("gru", header["steps"], {"layers.0.fwd": logs}).lines(header["steps"], None)
    assert line.last == len(gradient) - 2
    live = gradients([line], "input", list("|the "))
    shown = live.at(snapshot=len(logs) - 1)
    expected = gradient[:-1] / gradient[-2]
    np.testing.assert_allclose(shown.data[0].y[:-1], expected, rtol=1e-3)
    assert np.isnan(shown.data[0].y[-1]) and np.isfinite(shown.layout.yaxis.range).all()
    sentence = live.sentence(snapshot=len(logs) - 1)
    assert f"(position {line.last})" in sentence and three_digits(math.log10(expected[0])) in sentence


def test_an_open_forget_gate_lets_the_gradient_through_and_an_rnn_does_not():
    _, arrays = payload.unpack(routes.packed_untrained())
    reached = {name: float(line[0, 0] - line[0, -1]) for name, line in arrays.items()}  # powers of ten
    assert reached["rnn"] < -20 and reached["lstm 3"] > -4
    assert reached["lstm 0"] < reached["lstm 1"] < reached["lstm 3"]


def test_comparable_runs_read_the_same_input():
    assert routes.comparable_runs("parity-gru") == ["parity-rnn", "parity-gru", "parity-lstm"]
    assert routes.comparable_runs("parity-rnn-fails") == ["parity-rnn-fails"]  # other symbols
    inputs: list[ModelInput] = [
        held_out_input(run_registry.open_run(name).run, 4) for name in routes.comparable_runs("parity-gru")
    ]
    assert len({model_input.text for model_input in inputs}) == 1


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    app.include_router(bundles.router)
    app.include_router(router)
    add_error_handlers(app)
    return TestClient(app)


def test_routes_answer_and_refuse_with_a_sentence(client):
    answer = client.post("/api/gates", json={"run": "parity-lstm", "text": PARITY})
    header, arrays = payload.unpack(answer.content)
    assert header["layers"][0]["kind"] == "lstm" and arrays["layers.0.fwd.forget.read"].shape[1:] == (12, 32)
    for route, body in (
        ("gates", {"run": "parity-lstm", "text": "3 x"}),
        ("gates", {"run": "nobody"}),
        ("gates/gradients", {"run": "dates-bahdanau", "of": "long"}),
        ("gates/gradients", {"run": "parity-lstm", "text": ""}),
        ("gates/gradients", {"run": "induction-gpt", "held_out": 0}),
        ("gates/gradients", {"run": "masked-bert", "held_out": 0}),
        ("gates/gradients", {"run": "parity-lstm", "text": PARITY, "runs": ["nobody"]}),
        ("gates/gradients", {"run": "parity-lstm", "text": PARITY, "layer": "decoder.layers.0.fwd"}),
    ):
        error = client.post(f"/api/{route}", json=body).json()["problem"]
        assert error["en"] != error["zh"] and "Traceback" not in error["en"]


def test_a_run_without_recurrence_has_no_gates(client):
    header, arrays = payload.unpack(client.post("/api/gates", json={"run": "induction-gpt", "held_out": 0}).content)
    assert header["layers"] == [] and header["figures"] == {} and arrays == {}


def test_gradients_of_several_runs_are_one_figure_with_the_playheads_snapshots(client):
    runs = ["parity-rnn", "parity-gru", "parity-lstm"]
    body = {"run": "parity-lstm", "text": PARITY, "runs": runs, "layer": "layers.0.fwd"}
    header, arrays = payload.unpack(client.post("/api/gates/gradients", json=body).content)
    assert list(header["figures"]) == ["gradient"] and len(header["figures"]["gradient"]["figure"]["data"]) == 3
    shares = arrays["gradients.relative"]  # (snapshot of the page's run, line, time)
    assert shares.dtype == np.float64 and len(shares) == len(run_registry.open_run("parity-lstm").run.snapshots)
    for line, name in enumerate(runs):
        _, own = payload.unpack(routes.packed_gradients(name, PARITY, None, "input"))
        exact = 10.0 ** own["layers.0.fwd"][-1].astype(float)
        np.testing.assert_allclose(arrays["gradients.exact"][-1, line], exact, rtol=1e-12)
        np.testing.assert_allclose(shares[-1, line], exact / exact[-1], rtol=1e-9)


def test_layers_are_called_by_what_tells_them_apart():
    names = ["encoder.layers.0.fwd", "encoder.layers.0.bwd", "decoder.layers.0.fwd"]
    titles = [gates.in_languages(gates.layer_name(name, names))["en"] for name in names]
    assert titles == ["encoder · forwards", "encoder · backwards", "decoder"]
    assert gates.in_languages(gates.layer_name("layers.0.fwd", ["layers.0.fwd"]))["en"] == "layer 0"
    assert gates.in_languages(gates.layer_name("layers.1.fwd", ["layers.0.fwd", "layers.1.fwd"]))["en"] == "layer 1"


def test_every_family_is_called_by_its_name():
    for language, words in WORDS.items():
        for family in core.models():
            name = words[f"family.{family}"]
            assert name.lower() == family and name.lower() in words[f"a_family.{family}"].lower(), (language, family)
    assert WORDS["en"]["a_family.lstm"] == "an LSTM" and WORDS["en"]["a_family.gru"] == "a GRU"


def test_one_word_for_a_token():
    for name in ("gates", "positions", "shell"):
        text = (STATIC / f"locales/zh/{name}.json").read_text("utf-8")
        assert "符号" not in text and "“" not in text, name


def test_plotly_comes_from_the_installed_package(client):
    answer = client.get("/ours/plotly.min.js")
    assert answer.status_code == 200 and b"Plotly" in answer.content
    assert not (STATIC / "plotly.min.js").exists()
