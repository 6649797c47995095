"""Figures of the Train tab: they hold the rows and maps themselves, and say in words what is to be seen in them."""

from __future__ import annotations

import numpy as np
import pytest

from app.figures.expressions import Log1p, Nearest, State, evaluate, keys_of
from app.figures.fine_tuning import accuracy_by_labels
from app.figures.numbers import fill
from app.figures.train_charts import learning_curves
from app.figures.train_inside import InsideView, SmallMap, inside, token_names
from app.figures.train_view import COLUMNS, RunHistory, TrainEvent, TrainView, running_mean, value_range
from app.service.experiments.fine_tuning import comparison


def rows(steps: int = 60, seed: int = 0) -> np.ndarray:
    rng, step = np.random.default_rng(seed), np.arange(1, steps + 1)
    right = 1 - np.exp(-step / 20)
    return np.stack(
        [step, 1 - right + 0.01, right, np.full(steps, 0.01), rng.random(steps) + 0.1, rng.random(steps) * 1e4], 1
    )


def run(key: str = "a", number: int = 1, **more) -> RunHistory:
    more = {"rows": rows(), "chance": 0.1, "goal": 0.99, **more}
    return RunHistory(key, number, key.upper(), 60, **more)


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_the_charts_hold_the_rows_themselves(scale):
    live = learning_curves(TrainView([run("b", 2, rows=rows(40, 1)), run()], "a"))
    figure, state = live.at(trainScale=scale), {"log": np.log1p, "linear": np.asarray}
    for i, measure in enumerate(("accuracy", "loss", "grad_norm", "lr", "tokens_per_s")):
        axis = "y" if i == 0 else f"y{i + 1}"
        lines = [trace for trace in figure.data if trace.yaxis == axis and trace.mode == "lines" and trace.name]
        raw = next((trace for trace in lines if trace.line.width == 1), lines[-1])
        np.testing.assert_array_equal(raw.y, rows()[:, COLUMNS.index(measure)])
        np.testing.assert_allclose(raw.x, state[scale](rows()[:, 0]))
        assert [trace.name for trace in lines if trace.line.width > 1] == ["2", "1"], "the one in focus on top"
    discs = next(trace for trace in figure.data if trace.yaxis == "y" and trace.mode == "markers+text")
    assert list(discs.text) == ["2", "1"]
    table = evaluate(live.table, {"trainScale": scale})
    assert [len(part) for part in table["loss"]] == [40, 60] and list(table["run"][1][:2]) == ["a", "a"]


def test_what_is_pointed_at_is_read_from_the_rows():
    live = learning_curves(TrainView([run(rows=rows())], "a"))
    assert live.crosshair is not None
    for step in (1, 17, 60):
        lines = evaluate(live.crosshair.charts["x2y2"]["lines"], {"trainStep": step, "trainScale": "log"})
        assert [line["text"] for line in lines] == [f"step {step}", fill("{x:r}", {"x": float(rows()[step - 1, 1])})]
    assert evaluate(live.crosshair.x, {"trainStep": 9, "trainScale": "log"}) == pytest.approx(np.log(10))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"rows": rows()[:0], "status": "queued"}, "It waits for a free worker."),
        ({"rows": rows()[:0], "status": "running"}, "The first steps are on their way."),
        ({"rows": rows()[:0], "before": rows()}, "Back at the start."),
        ({"rows": rows()[:1]}, "no better than chance (**10 %**)."),
        ({"rows": rows()}, "chance is 10 %, the goal 99 %. The loss went from"),
        ({"goal": None}, "chance is 10 %. The loss"),
        ({"goal": 0.8}, "the goal is reached"),
        ({"events": [TrainEvent(40, "the task is solved", solved=True)]}, "Solved at step **40**; now right"),
        ({"events": [TrainEvent(30, "head 0.1 wakes", head=True)]}, "Step 30: head 0.1 wakes."),
        ({"held_out": 0.875}, "On held-out problems: **87.5 %**."),
        ({"before": rows()}, "every loss (**60**) is the same as before the rewind"),
        (
            {"before": np.concatenate([rows()[:9], rows()[9:] + np.eye(6)[1]])},
            "differ from those before the rewind from step 10 on",
        ),
    ],
)
def test_the_caption_in_its_cases(more, words):
    assert words in learning_curves(TrainView([run(**more)], "a")).sentence()


def test_events_are_marked_and_told_above_the_accuracy():
    events = [TrainEvent(20, "x leaves chance"), TrainEvent(30, "one", True), TrainEvent(31, "two", True), TrainEvent(40, "the task is solved", solved=True)]  # fmt: skip
    live = learning_curves(TrainView([run(events=events)], "a"))
    texts = [evaluate(label.text, {"trainScale": "log"}) for label in live.labels]
    assert [text for text in texts if text] == ["the task is solved", "x leaves chance", "2 heads find their role"]
    path = live.at(trainScale="linear").layout.shapes[0].path
    assert path == "M20.0,0V1M30.0,0V1M31.0,0V1M40.0,0V1"


def test_scales_of_values():
    one = run()
    assert value_range([one], "accuracy") == (0, 1, False)
    low, high, log = value_range([one], "loss")
    assert low == 0 and 0.96 < high <= 1.05 and not log
    steep = rows()
    steep[:, COLUMNS.index("grad_norm")] = np.geomspace(1e-3, 10, 60)
    assert value_range([run(rows=steep)], "grad_norm")[2], "a wide one is on a log scale"
    means = running_mean(np.array([1.0, np.nan, 3.0]))
    assert means[0] == means[1] == 1.0 and means[2] == 3.0


@pytest.mark.parametrize("width", [340, 720, 1040, 1500])
def test_ticks_of_steps_have_room(width):
    live = learning_curves(TrainView([run()], "a", width))
    for scale in ("log", "linear"):
        figure = live.at(trainScale=scale)
        for axis in ("xaxis", "xaxis3"):
            ticks, (low, high), (left, right) = (
                figure.layout[axis].tickvals,
                figure.layout[axis].range,
                figure.layout[axis].domain,
            )
            px = (right - left) * (width - 70) / (high - low)
            assert min(np.diff(ticks)) * px > 30 and figure.layout[axis].ticktext[-1] == "60"


def maps(signed: bool = False) -> list[SmallMap]:
    rng = np.random.default_rng(0)
    names = ("0.0", "0.1") if not signed else ("hidden", "cell")
    return [SmallMap(name, name, list("ab"), token_names(["<b>", "x", "x"], 3, 0), not signed, signed, rng.random((2, 3)) - 0.5 * signed) for name in names]  # fmt: skip


def test_small_maps_hold_their_values():
    small = maps()
    live = inside(InsideView("k", small, 7, 500))
    figure = live.at()
    for one, drawn in zip(small, figure.data, strict=True):
        np.testing.assert_array_equal(drawn.z, one.values)
        assert (drawn.zmin, drawn.zmax) == (0, 1)
    best = max(small, key=lambda one: one.values.max(1).mean())
    share = fill("{x:.0%}", {"x": float(best.values.max(1).mean())})
    assert (
        live.sentence()
        == f"Step 7. Sharpest is head **{best.name}**: on average **{share}** of a token's weight lies on one token."
    )
    assert figure.data[0].x[0] == "&lt;b&gt; (0)", "typed text is no markup"
    assert token_names([], 3, 4) == ["0–3", "4–7", "8–11"]


def test_states_are_signed_and_gates_are_told():
    live = inside(InsideView("k", maps(signed=True), 7))
    figure = live.at()
    assert figure.data[0].zmin == -figure.data[0].zmax == -np.abs(maps(signed=True)[0].values).max()
    assert live.sentence() == "Step 7. Rows are units, time goes to the right."
    gates = [SmallMap(name, name, ["0"], ["a"], False, False, np.full((1, 1), value)) for name, value in (("input", 0.25), ("forget", 0.75))]  # fmt: skip
    assert "on average: input 25 %, forget 75 %." in inside(InsideView("k", gates, 7)).sentence()


def test_fine_tuning_shows_every_seed_and_says_how_it_came_out():
    facts = comparison()
    measured = {way: np.array(facts[way]["accuracy"], np.float32) for way in ("tuned", "scratch")}
    live = accuracy_by_labels(facts["labels"], facts["seeds"], measured, facts["evaluated_on"])
    for way, seeds, mean in zip(measured, live.at().data[:2], live.at().data[2:], strict=True):
        np.testing.assert_allclose(np.reshape(seeds.y, (5, -1))[:, :-1], measured[way])
        np.testing.assert_allclose(mean.y, measured[way].mean(0), rtol=1e-6)
    assert "it is ahead in 5 of 5 seeds" in live.sentence() and "points ahead" in live.sentence()
    swapped = {"tuned": measured["scratch"], "scratch": measured["tuned"]}
    sentence = accuracy_by_labels(facts["labels"], facts["seeds"], swapped, 10).sentence()
    assert "does harm" in sentence and "points behind" in sentence and "instead of" not in sentence
    same = accuracy_by_labels(
        facts["labels"], facts["seeds"], {"tuned": measured["tuned"], "scratch": measured["tuned"]}, 10
    )
    assert "about as many tags right" in same.sentence()


@pytest.mark.parametrize(
    ("to", "value"), [(None, None), (0.9, None), (1, 10), (2.4, 20), (9, 30), (10, 30), (10.1, None)]
)
def test_nearest(to, value):
    expression = Nearest([10, 20, 30], [1, 2, 10], State("at"))
    assert evaluate(expression, {"at": to}) == value and keys_of(Log1p(expression)) == {"at"}


@pytest.mark.parametrize(
    ("template", "x", "written"),
    [("{x:.3g}", 0.63712, "0.637"), ("{x:.3g}", 1.4567e-4, "1.46 × 10⁻⁴"), ("{x:.3g}", 100.0, "100"), ("{x:r}", -0.1234567, "−0.1234567"),
     ("{x:r}", 1.4567e-7, "1.4567 × 10⁻⁷"), ("{x:,.0f}", 22045.4, "22,045"), ("{x:,}", 1200.0, "1,200")],
)  # fmt: skip
def test_more_numbers_as_they_are_read(template, x, written):
    assert fill(template, {"x": x}) == written
