"""Live figures: what a binding stands for, and that a figure at a state holds the tensors themselves."""

import numpy as np
import plotly.graph_objects as go
import pytest

from app.figures.attention import all_heads, one_head
from app.figures.expressions import (
    Affine,
    Array,
    Choose,
    Clamp,
    Concat,
    Curves,
    Each,
    Fill,
    Format,
    Item,
    Sentences,
    State,
    Sum,
    Take,
    Tile,
    Transpose,
    evaluate,
    keys_of,
    to_json,
)  # fmt: skip
from app.figures.live import Live
from app.figures.numbers import fill
from app.figures.report_card import report_card
from app.figures.training import running_mean, timeline
from tests.app.figures.views import attention_view, training_view

WEIGHTS = Array("weights", np.arange(2 * 3 * 4 * 4, dtype=np.float32).reshape(2, 3, 4, 4))


@pytest.mark.parametrize(
    ("expression", "state", "value"),
    [
        (State("head"), {"head": 2}, 2),
        (Affine(State("key"), offset=-0.5), {"key": 3}, 2.5),
        (Affine(State("x"), 1 / 5, whole=True), {"x": 11}, 2),
        (Choose(State("role"), ["a", "b"]), {"role": 1}, "b"),
        (Choose(State("role"), ["a", "b"]), {"role": 9}, "b"),
        (Choose(State("theme"), {"light": 1, "dark": [State("x")]}), {"theme": "dark", "x": 7}, [7]),
        (Format("{share:.0%} of {n:,}", share=0.915, n=State("n")), {"n": 12345}, "92 % of 12,345"),
        (Format("{share:.0%}", share=0.915), {"language": "zh"}, "92%"),
        (Clamp(State("x"), 4, 9), {"x": 2}, 4),
        (Clamp(State("x"), 4, 9), {"x": 12}, 9),
        (Item([3, State("x")], 1), {"x": 7}, 7),
        (Take(["a", "b", "c"], [2, State("x")]), {"x": 0}, ["c", "a"]),
        (Sentences(["One.", State("x"), "Two."]), {"x": ""}, "One. Two."),
        (Sentences(["一。", State("x")]), {"x": "二。", "language": "zh"}, "一。二。"),
        (Choose(State("key"), {"same": 1, "other": 2}), {"key": 0}, 1),
        (Sum([State("position"), State("offset")]), {"position": 5, "offset": -3}, 2),
        (Clamp(State("position"), 0, Affine(State("side"), offset=-1)), {"position": 99, "side": 8}, 7),
        (Clamp(State("position"), 0, 7), {"position": -2}, 0),
        (WEIGHTS["snapshot", "head", 0, 1], {"snapshot": 1, "head": 2}, 81.0),
        (WEIGHTS["snapshot", "head", 0, 1], {"snapshot": 9, "head": 9}, 81.0),
        (WEIGHTS["snapshot", Affine(State("head"), offset=1), 0, 0], {"snapshot": 0, "head": 1}, 32.0),
    ],
)
def test_an_expression_in_a_state(expression, state, value):
    assert evaluate(expression, state) == value
    assert keys_of(expression) >= {key for key in state if key != "language"}


def test_slices_and_tiles():
    np.testing.assert_array_equal(
        evaluate(WEIGHTS["snapshot", "head"], {"snapshot": 1, "head": 0}), WEIGHTS.values[1, 0]
    )
    maps = Array("maps", np.arange(2 * 3 * 2 * 2, dtype=np.float32).reshape(2, 3, 2, 2))
    whole = evaluate(Tile(maps[()], 2, 1), {})
    assert whole.shape == (2 * 4 - 2, 3 * 3 - 1)
    np.testing.assert_array_equal(whole[4:6, 3:5], maps.values[1, 1])
    assert np.isnan(whole[2:4]).all() and np.isnan(whole[:, 2]).all()
    with pytest.raises(IndexError):
        WEIGHTS["a", "b", "c", "d", "e"]


def test_curves_go_from_row_to_column():
    values = np.array([[0.0, 0.5], [0.9, 0.1]])
    x, y = (evaluate(Curves(values, 0.1, 0.6, part), {}) for part in "xy")
    assert len(x) == 2 * 18 and np.isnan(x[17::18]).all() and list(x[[0, 16, 18, 34]]) == [0, 1, 0, 1]
    assert list(y[[0, 16, 18, 34]]) == [0, 1, 1, 1]
    assert evaluate(Curves(values, 0.1, 2, "cells", State("query")), {"query": 1})[::18] == [[1, 0, 0.9], [1, 1, 0.1]]


def test_columns_transposes_and_texts_for_each():
    state = {"head": 2, "x": 1}
    np.testing.assert_array_equal(evaluate(WEIGHTS[:, "head", 0], state), WEIGHTS.values[:, 2, 0])
    np.testing.assert_array_equal(evaluate(WEIGHTS["x", :, :, 3], state), WEIGHTS.values[1, :, :, 3])
    np.testing.assert_array_equal(evaluate(Transpose(WEIGHTS[0, "head"]), state), WEIGHTS.values[0, 2].T)
    row = WEIGHTS[0, 0, 0]
    np.testing.assert_array_equal(
        evaluate(Concat([row, Affine(row, scale=State("head"))]), state), [0, 1, 2, 3, 0, 2, 4, 6]
    )
    assert evaluate(Each(Fill("{a} {x:+.1f}", a=["p", "q"], x=Take(row, [3, 0]))), state) == ["p +3.0", "q +0.0"]
    assert keys_of(Each(Fill("{x}", x=WEIGHTS[:, "head"]))) == {"head", "language"}


@pytest.mark.parametrize(
    ("template", "values", "written"),
    [
        ("{x:.2f}", {"x": -0.001}, "0.00"),
        ("{x:.1f}", {"x": -2.25}, "−2.3"),
        ("{x:.0%}", {"x": 0.001}, "< 1 %"),
        ("{x:.0%}", {"x": 0.0}, "0 %"),
        ("{x}", {"x": 3.0}, "3"),
        ("{x:g}", {"x": 0.42014}, "0.4201"),
        ("{x:g}", {"x": -12.3}, "−12.30"),
        ("{x:g}", {"x": 2.684e10}, "2.68 × 10¹⁰"),
        ("{x:g}", {"x": -9.999e-5}, "−1.00 × 10⁻⁴"),
        ("{x:+}", {"x": 3}, "+3"),
        ("{x:+}", {"x": -3}, "−3"),
        ("{x:+}", {"x": 0}, "0"),
        ("{x:#.2g}", {"x": 2.98e-7}, "3.0 × 10⁻⁷"),
        ("{x:#.2g}", {"x": 0.996}, "1.0"),
        ("{x:#.3g}", {"x": 177.4}, "177"),
        ("{x:#.2g}", {"x": 0.0}, "0"),
        ("{x:.2f}", {"x": float("nan")}, "—"),
        ("{x}", {"x": None}, "—"),
        ("{x}", {"x": "{y}"}, "{y}"),
        ("{x:+.2f}", {"x": 0.5}, "+0.50"),
        ("{x:+.2f}", {"x": -0.5}, "−0.50"),
        ("{x:6.1f}", {"x": 12.34}, "\u00a0\u00a012.3"),
        ("{x:4}", {"x": "±1"}, "\u00a0\u00a0±1"),
    ],
)
def test_numbers_as_they_are_read(template, values, written):
    assert fill(template, values) == written


def test_the_page_gets_every_language_of_a_template():
    told = to_json(
        Format("Head {n}", n=State("head")), lambda message, language: f"{language}:{message}", ["en", "zh"]
    )
    assert told == {
        "$": "format",
        "template": {"en": "Head {n}", "zh": "zh:Head {n}"},
        "values": {"n": {"$": "state", "key": "head"}},
    }


def test_a_figure_holds_the_tensors_themselves():
    view = attention_view()
    heads, whole, card = one_head(view), all_heads(view), report_card(view)
    for snapshot, layer, head in np.ndindex(view.weights.values.shape[:3]):
        state = {"snapshot": snapshot, "layer": layer, "head": head}
        np.testing.assert_array_equal(
            heads.at(**state, query=1, key=0).data[0].z, view.weights.values[snapshot, layer, head]
        )
        shown = card.at(**state).data[3].text
        measures = [float(measure.values[snapshot, layer, head]) for measure in view.measures.values()]
        assert list(shown) == [fill("{x:.2f}", {"x": value}) for value in measures]
    grid = whole.at(snapshot=1).data[0].z
    assert np.isfinite(grid).sum() == view.weights.values[1].size
    assert set(heads.arrays()) >= {"blocks.weights"} and heads.keys()["head"] == view.weights.values.shape[2]


def test_captions_name_the_role_and_its_share():
    view = attention_view()
    role = view.role.values[-1, 0, 0]
    sentence = one_head(view).sentence(snapshot=len(view.steps) - 1, layer=0, head=0)
    assert "**0.0**" in sentence and (role == 0) == ("no clear role" in sentence)
    assert fill("{x:.0%}", {"x": float(view.share.values[-1, 0, 0])}) in sentence or role == 0


def test_typed_text_is_never_markup():
    view = attention_view(tokens=["<b>x</b>", "&amp;", "a<br>b", "${alert(1)}"])
    figure = one_head(view).at()
    assert figure.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;" and figure.data[0].x[2] == "a&lt;br&gt;b (2)"


def test_it_shows_itself_with_a_slider_wherever_plotly_does():
    live = one_head(attention_view())
    figure = live.scrubbed(layer=0, head=1)
    steps = figure.layout.sliders[0].steps
    assert len(steps) == live.keys()["snapshot"]
    np.testing.assert_array_equal(steps[1].args[0]["z"][0], live.at(snapshot=1, layer=0, head=1).data[0].z)
    assert isinstance(live.at(), go.Figure) and isinstance(Live(go.Figure()).at(), go.Figure)


def test_a_timeline_has_its_curves_events_and_playhead():
    view = training_view()
    live = timeline(view)
    figure = live.at(snapshot=2)
    np.testing.assert_allclose(figure.data[1].y, running_mean(view.accuracy))
    assert figure.data[2].text == ("step 30: accuracy leaves chance",)
    assert figure.layout.shapes[-1].x0 == pytest.approx(np.log1p(view.snapshots[2]))
    assert np.isnan(running_mean([1.0, float("nan"), 2.0])[1])
