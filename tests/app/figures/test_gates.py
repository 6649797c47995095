"""Figures of recurrent layers hold the tensors themselves; captions are told in every case; typed text is text."""

import numpy as np
import pytest

from app.figures.gates import unit_over_tokens, unit_over_training, units
from app.figures.gates_gradients import GradientLine, gradients, three_digits
from app.figures.gates_path import path
from app.figures.gates_view import MEMORY_KINDS, RecurrentView
from app.figures.numbers import fill

TOKENS = ["3", "2", "3", "3", "2", "2"]
POINTS = {
    "lstm": ["input", "forget", "candidate", "output", "cell", "hidden"],
    "gru": ["reset", "update", "candidate", "hidden"],
    "rnn": ["hidden"],
}


def recurrent_view(
    kind: str = "lstm", tokens: list[str] = TOKENS, snapshots: int = 3, units: int = 5, **more
) -> RecurrentView:
    rng, time = np.random.default_rng(0), len(tokens)
    values = {point: rng.random((snapshots, time, units)).astype(np.float32) for point in POINTS[kind]}
    for point in {"candidate", "hidden", "cell"} & set(values):
        values[point] = 2 * values[point] - 1
    states = [state for state in ("hidden", "cell") if state in values]
    signals = {"position": list(range(time)), "token 3": [int(token == "3") for token in tokens]}
    if all(token.isdigit() for token in tokens):
        signals = {"parity": np.cumsum([int(token) for token in tokens]) % 2, **signals}
    shape = len(POINTS[kind]), snapshots, units
    given = {
        "signals": signals,
        "correlations": (2 * rng.random((len(signals), *shape)) - 1).astype(np.float32),
        "saturation": rng.random(shape).astype(np.float32),
        "half_life": rng.random((snapshots, units)).astype(np.float32) * 9 if kind != "rnn" else None,
        "paths": {
            state: (rng.normal(size=(snapshots, time + 1, 2)).astype(np.float32), rng.random((snapshots, 2)))
            for state in states
        },
    }
    initial = {state: np.zeros((snapshots, units), np.float32) for state in states}
    return RecurrentView("layers.0.fwd", kind, tokens, [0, 10, 100][:snapshots], values, initial, **{**given, **more})


def states_of(view: RecurrentView):
    snapshots, time, count = view.values["hidden"].shape
    rng = np.random.default_rng(1)
    for _ in range(20):
        yield {
            "snapshot": int(rng.integers(snapshots)),
            "unit": int(rng.integers(count)),
            "time": int(rng.integers(time)),
            "gate": str(rng.choice(view.points)),
            "sort": str(rng.choice(list(view.sorts))),
            "theme": str(rng.choice(["light", "dark"])),
        }


@pytest.mark.parametrize("kind", POINTS)
def test_units_stand_in_their_order_with_their_own_values(kind):
    view = recurrent_view(kind)
    live = units(view)
    for state in states_of(view):
        figure, point, sort = live.at(**state), view.points.index(state["gate"]), view.sorts[state["sort"]]
        order = [int(name.strip("\u2060")) for name in figure.data[0].y]
        expected = range(5) if sort is None else np.argsort(-np.abs(sort[point, -1]), kind="stable")
        assert order == list(expected), "the order is that of the end of training"
        np.testing.assert_array_equal(figure.data[0].z, view.values[state["gate"]][state["snapshot"]].T[order])
        assert figure.layout.shapes[0].y0 == order.index(state["unit"]) - 0.5
        assert figure.layout.shapes[0].x0 == state["time"] - 0.5
        shown = figure.layout.yaxis.ticktext
        assert [text.split(" ")[0] for text in shown] == [str(unit) for unit in order]
        if state["sort"].startswith("follows"):
            r = sort[point, state["snapshot"], order[0]]
            assert shown[0].endswith(f"{abs(r):.2f}") and ("+" in shown[0]) == (r >= 0)


@pytest.mark.parametrize("kind", POINTS)
def test_one_unit_over_tokens_and_training(kind):
    view = recurrent_view(kind)
    tokens, training = unit_over_tokens(view), unit_over_training(view)
    for state in states_of(view):
        snapshot, unit = state["snapshot"], state["unit"]
        figure = tokens.at(**state)
        for row, point in enumerate(view.points):
            values = view.values[point][snapshot, :, unit]
            np.testing.assert_array_equal(figure.data[0].z[row], values)
            now = fill("{x:.3f}", {"x": float(values[state["time"]])})
            assert figure.data[3].text[row].split("<br>")[0].strip("\u00a0") == now
        bars = np.concatenate([np.asarray(figure.data[i].y, float) for i in (1, 2)])
        order = [p for p in view.points if p not in ("candidate", "cell", "hidden")]
        order += [p for p in view.points if p not in order]
        values = np.concatenate([view.values[point][snapshot, :, unit] / view.limit(point)[unit] for point in order])
        room = np.repeat([0.39 if point in ("candidate", "cell", "hidden") else 0.78 for point in order], len(TOKENS))
        np.testing.assert_allclose(bars, -values * room, rtol=1e-5)
        np.testing.assert_array_equal(training.at(**state).data[0].z, view.values[state["gate"]][:, :, unit].T)


@pytest.mark.parametrize("backwards", [False, True])
def test_the_path_goes_from_token_to_token_as_they_are_read(backwards):
    view = recurrent_view("gru", backwards=backwards)
    coordinates, _ = view.paths["hidden"]
    order = [0, *(range(6, 0, -1) if backwards else range(1, 7))]
    for state in states_of(view):
        figure, at = path(view, "hidden").at(**state), coordinates[state["snapshot"]]
        stages = [trace for trace in figure.data if trace.marker.angleref == "previous"]
        walked = [x for i, stage in enumerate(stages) for x in list(stage.x)[1 if i else 0 :]]
        np.testing.assert_array_equal(walked, at[order, 0])
        ring = next(trace for trace in figure.data if trace.marker.symbol == "circle-open")
        assert (ring.x[0], ring.y[0]) == tuple(at[1 + state["time"]])
        odd = next(trace for trace in figure.data if trace.name == "running parity odd")
        np.testing.assert_array_equal(odd.y, at[1 + np.flatnonzero(view.signals["parity"]), 1])


def test_even_and_odd_are_said_to_lie_apart_or_mixed():
    view = recurrent_view("gru")
    coordinates, _ = view.paths["hidden"]
    coordinates[0, 1:, 0] = 10 * np.asarray(view.signals["parity"])
    assert "lie **apart**" in path(view, "hidden").sentence(snapshot=0)
    coordinates[0, 1:] = [[0, 0], [1, 1]] * 3
    assert "lie **mixed**" in path(view, "hidden").sentence(snapshot=0)
    assert "Even" not in path(recurrent_view("gru", list("abcabc")), "hidden").sentence()


def test_what_units_follow_is_told_in_four_ways():
    view = recurrent_view("rnn", tokens=["3", "2"] * 30)
    view.correlations[:] = 0.0
    sentence = lambda: units(recurrent_view("rnn", view.tokens, correlations=view.correlations)).sentence(  # noqa: E731
        snapshot=1, gate="hidden", sort="follows parity"
    )
    parity = view.correlations[0, 0, 1]
    parity[3] = -0.1
    assert "by chance alone the best of 5" in sentence() and "unit **3**, has r = −0.10 (hidden)" in sentence()
    parity[3] = -0.8
    assert sentence() == "No single unit carries the running parity: the closest, unit **3**, has r = −0.80 (hidden)."
    parity[3] = 0.97
    assert sentence() == "Unit **3** follows the running parity: **r = +0.97** (hidden)."
    parity[1] = -0.98
    assert sentence().startswith(
        "**2 units** follow the running parity with |r| ≥ 0.9; the closest is unit **1**: **r = −0.98**"
    )


@pytest.mark.parametrize(
    ("gate", "new", "kind", "words"),
    [
        ([0.99] * 6, [0.0] * 6, "holds", "It **holds**: at 5 of the 5 tokens after the first"),
        ([0.5] * 6, [0.0] * 6, "fades", "It **fades**: at 5 of the 5 tokens after the first"),
        (
            [0.99, 0.99, 0.1, 0.1, 0.99, 0.99],
            [0, 0, 1, 1, 0, 0],
            "switches",
            "at 2 mostly new: at every \u20683\u2069.",
        ),
        ([0.5, 0.5, 0.1, 0.1, 0.5, 0.5], [0, 0, 1, 1, 0, 0], "mixed", "It **fades and is rewritten**: at 3"),
        ([0.1] * 6, [1.0] * 6, "anew", "It **keeps little**: at 5 of the 5 tokens after the first"),
    ],
)
def test_what_a_unit_does_with_its_state(gate, new, kind, words):
    view = recurrent_view("lstm", snapshots=1, units=1)
    view.values["forget"][0, :, 0] = gate
    view.values["input"][:] = 1.0
    view.values["candidate"][0, :, 0] = new
    view.values["cell"][:] = 0.5
    assert MEMORY_KINDS[view.memory.arrays["kind"].values[0, 0]] == kind
    sentence = unit_over_tokens(view).sentence(gate="hidden")
    assert words in sentence and ("where it holds" in sentence) == (kind == "switches")
    many = units(view).sentence(gate="hidden", sort="memory")
    assert ("hold and rewrite: **1 of 1**" in many) == (kind == "switches")


def test_a_unit_that_nothing_can_be_told_of():
    view = recurrent_view("lstm", snapshots=1, units=1)
    view.values["cell"][:] = 0.0
    view.correlations[:] = 0.0
    assert unit_over_tokens(view).sentence(gate="hidden").startswith("By the forget gate alone, over all 6 tokens")
    still = recurrent_view("rnn")
    still.correlations[:] = 0.0
    assert unit_over_tokens(still).sentence(gate="hidden") == "It does not move on this input."


def test_how_a_swing_changed():
    def sentence(*swings: float) -> str:
        view = recurrent_view("rnn", snapshots=len(swings), units=1)
        for snapshot, swing in enumerate(swings):
            view.values["hidden"][snapshot, :, 0] = [0, swing, 0, 0, 0, 0]
        return unit_over_training(view).sentence(gate="hidden")

    assert "**grew** from 0.20 to **0.80**; it was half way by step **10**." in sentence(0.2, 0.6, 0.8)
    assert "**shrank** from 0.80 to **0.20**; it was half way by step **100**." in sentence(0.8, 0.7, 0.2)
    assert sentence(0.5, 0.9, 0.51).endswith("as at the start, 0.50. On the way it reached 0.90, at step 10.")
    assert sentence(0.5).endswith("is **0.50** at step 0, the only moment kept so far.")


def test_gates_are_open_and_states_are_large():
    view = recurrent_view("lstm")
    mean = float(view.values["forget"][1].mean())
    assert f"forget gate: **{mean:.2f}** open" in units(view).sentence(snapshot=1, gate="forget", sort="index")
    size = float(np.abs(view.values["cell"][1]).mean())
    assert f"cell: **{size:.2f}** in size" in units(view).sentence(snapshot=1, gate="cell", sort="index")
    full = int((view.saturation[view.points.index("cell"), 2] >= 0.9).sum())
    assert f"cell: **{full} of 5** units" in units(view).sentence(snapshot=2, gate="cell", sort="saturation")


def test_gradients_that_vanish_are_exact_and_told_with_three_digits():
    values = np.array([[1e-40, 1e-20, 1.0], [0.5, 0.2, 2.0]])
    lines = [GradientLine("RNN", "rnn", values, [0, 9]), GradientLine("GRU", "gru", values[:, ::-1], [0, 8], True)]
    live = gradients(lines, "input", ["a", "<b>", "c"])
    figure = live.at(snapshot=0, time=1)
    np.testing.assert_allclose(figure.data[0].y, [1e-40, 1e-20, 1.0], rtol=1e-12)
    np.testing.assert_array_equal(figure.data[0].customdata, values[0])
    np.testing.assert_allclose(live.at(snapshot=1, time=1).data[1].y, [1, 0.1, 0.25], rtol=1e-12)
    assert figure.layout.xaxis.ticktext[1] == "&lt;b&gt;"
    sentence = live.sentence(snapshot=1)
    assert "At training step 9/8" in sentence and "RNN **0.250**, GRU **0.250**." in sentence
    assert "RNN **1.00\u00a0×\u00a010⁻⁴⁰**" in live.sentence(snapshot=0)
    assert "Before any training, over 3 tokens" in gradients(lines, "untrained", []).sentence()
    assert [three_digits(x) for x in (-3, 0, 2, -8.4256, -4.0000001)] == [
        "0.00100", "1.00", "100", "3.75\u00a0×\u00a010⁻⁹", "1.00\u00a0×\u00a010⁻⁴",
    ]  # fmt: skip


def test_typed_text_is_never_markup():
    tokens = ["<b>x</b>", "&amp;", "a<br>b", "**"]
    view = recurrent_view("lstm", tokens)
    for figure in (units(view).at(gate="hidden", sort="index"), unit_over_tokens(view).at(gate="hidden")):
        assert figure.data[0].x[2] == "a&lt;br&gt;b (2)" and figure.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    names = path(view, "hidden").point_names
    assert (names is not None and names.text[1] == "&lt;b&gt;x…") or "&lt;" in str(names.text[1])
    assert "<b>" not in str([trace.text for trace in path(view, "hidden").at().data])
