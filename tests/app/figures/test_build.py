"""The Build tab's figures: diagram, treemap, costs and activations hold the model's own shapes, counts and tensors."""

from xml.dom import minidom

import numpy as np
import pandas as pd
import pytest

import core
from app.figures.build import ActivationsView, activations, parameter_treemap
from app.figures.build_costs import CostsView, memory, operations, polynomial
from app.figures.diagram import diagram
from app.figures.diagram_drawing import renumbered
from app.figures.diagram_layout import text_width, walk_parts
from app.figures.numbers import exact, scaled
from app.i18n import translate_message
from app.service.build import costs
from app.service.build.layer_table import layer_caption, layer_table
from core.analysis.layer_costs import LayerCost

FAMILIES = ["lstm", "seq2seq", "gpt", "transformer", "t5"]
MARKUP = '<script>alert(1)</script> & "x"'


def groups(svg: str, kind: str) -> list[minidom.Element]:
    found = minidom.parseString(svg).getElementsByTagName("g")
    return [group for group in found if kind in group.getAttribute("class").split()]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_diagram_draws_every_part_with_its_shape_and_count(family):
    anatomy = core.anatomy(family, n_layers=2)
    parts = {part["id"]: part for part in walk_parts(anatomy.to_dict()["root"]) if part["path"]}
    drawn = {group.getAttribute("data-id"): group for group in groups(diagram(anatomy).unfold().svg, "part")}
    assert drawn.keys() == parts.keys()
    for part, group in drawn.items():
        assert group.getAttribute("data-shape") == ",".join(map(str, parts[part]["shape"] or ()))
        assert int(group.getAttribute("data-count")) == parts[part]["count"]
    assert sum(part.count for part in anatomy.root.parts) == anatomy.to_dict()["parameters"]


def test_a_diagram_folds_unfolds_and_counts_within_groups():
    anatomy = core.anatomy("gpt", n_layers=3)
    folded = diagram(anatomy).fold()
    assert len(groups(folded.svg, "part-open")) == 0 and "blocks.0 × 3" in folded.svg
    inner = diagram(anatomy).fold().unfold("blocks.0.attn")
    opened = [group.getAttribute("data-id") for group in groups(inner.svg, "part-open")]
    assert opened == ["blocks.0()", "blocks.0.attn()"]
    third = diagram(anatomy, index={"blocks.0()": 2}).svg
    assert "blocks.2" in third and "3 of 3" in third
    assert renumbered("layers.1.fwd", 2) == "layers.3.fwd"


def test_a_diagram_in_time_and_in_another_language():
    plain = diagram(core.anatomy("lstm", time=12))
    layer = "layers.0.fwd()"
    unrolled = diagram(core.anatomy("lstm", time=12), unrolled=(layer,), language="zh", translate=translate_message)
    assert not groups(plain.svg, "strip") and len(groups(unrolled.svg, "strip")) == 1
    assert "t=7" in unrolled.svg and "+4" in unrolled.svg and "in time" in plain.svg
    assert "in time" not in unrolled.svg and unrolled.caption != plain.caption
    assert "LSTM 层" in unrolled.svg and "LstmLayer" in plain.svg


def test_text_in_a_diagram_is_never_markup(tmp_path):
    data = core.anatomy("gpt", n_layers=1).to_dict()
    for part in walk_parts(data["root"]):
        part["module"] = MARKUP
    picture = diagram(data | {"family": MARKUP}).unfold()
    picture.write_svg(tmp_path / "gpt.svg", title=MARKUP)
    text = (tmp_path / "gpt.svg").read_text("utf-8")
    assert "<script" not in text and "&lt;script&gt;" in text
    assert minidom.parseString(text).documentElement.tagName == "svg"
    assert "<script" not in parameter_treemap(data | {"family": MARKUP}).at().to_json().replace("\\u003c", "<")


def test_a_diagram_shows_itself_and_follows_the_theme():
    picture = diagram(core.anatomy("rnn"))
    assert picture._repr_html_().startswith("<svg") and "prefers-color-scheme" in picture.svg
    assert "var(" not in picture.to_svg(theme="dark") and "--iv-ink" in picture.svg
    assert pd.DataFrame(picture.table())["parameters"].iloc[0] == core.anatomy("rnn").root.count
    assert text_width("中", 10) > text_width("x", 10)


@pytest.mark.parametrize("name", ["gpt", "lstm", "transformer", "bert-large", "t5-small"])
def test_the_treemap_has_every_parameter_once(name):
    config = core.configure(name)
    live = parameter_treemap(core.anatomy(config).to_dict())
    trace, total = live.at().data[0], core.anatomy(config).root.count
    parents = set(trace.parents)
    leaves = [i for i, key in enumerate(trace.ids) if key not in parents]
    assert trace["values"][0] == total == sum(trace["values"][i] for i in leaves)
    for i, key in enumerate(trace.ids):
        inside = [trace["values"][j] for j, parent in enumerate(trace.parents) if parent == key]
        assert not inside or sum(inside) == trace["values"][i]
    assert sum(live.table["parameters"]) == total and f"**{total:,}** parameters in all" in live.sentence()
    assert live.at(theme="dark").data[0].marker.colors != trace.marker.colors


def test_the_treemap_names_the_largest_parts():
    one = parameter_treemap(core.anatomy("lstm").to_dict())
    assert "The largest single part is layers.0.fwd with" in one.sentence()
    many = parameter_treemap(
        core.anatomy("gpt", n_layers=2, d_model=64, d_ff=64, vocab_size=35, position="rope").to_dict()
    )
    assert "parts are the largest" in many.sentence() and ", and 3 more." in many.sentence()
    assert many.click == {"part": "customdata"}


def test_costs_are_the_predicted_and_the_measured_ones():
    config = core.configure("gpt", n_layers=1, d_model=16, n_heads=2, max_len=64)
    predicted = costs.predict_costs(config)
    measured = [costs.measure_costs(config, n) for n in (8, 16)]
    alone, known = costs.cost_figures(predicted, []), costs.cost_figures(predicted, measured)
    total = np.sum(list(predicted["flops"].values()), 0)
    np.testing.assert_array_equal(alone["operations"].at().data[0].y, total)
    assert [trace.name for trace in alone["memory"].at().data] == ["all stations", "to go on writing"]
    counted = known["operations"].at().data[2]
    assert list(counted.y[:3]) == [measured[0]["flops"], measured[1]["flops"], None]
    assert "Measured here" in known["operations"].sentence() and "Measured" not in alone["operations"].sentence()
    assert "To write the next token it keeps **" in alone["memory"].sentence()
    assert known["memory"].table["saved"][1] == measured[1]["saved_bytes"]
    recurrent = costs.cost_figures(costs.predict_costs(core.configure("gru", head="lm")), [])["memory"]
    assert "however much it has read" in recurrent.sentence()
    encoder = costs.cost_figures(costs.predict_costs(core.configure("bert")), [])["memory"]
    assert len(encoder.at().data) == 1 and "next token" not in encoder.sentence()


def test_one_length_has_no_doubling():
    view = CostsView([5], {"head": [10]}, [100], {"a": 0, "b": 20, "c": 0}, [None])
    assert "**1.00 ×**" in operations(view).sentence() and "20 · n bytes" in memory(view).sentence()
    assert polynomial(-3, 0, 66) == "−3 + **66** · n²" and polynomial(0, 0, 0) == "0"


def test_activations_are_the_tensor_at_every_snapshot_and_head():
    values = np.random.default_rng(0).normal(size=(3, 2, 4, 5)).astype(np.float32)
    values[:, :, 0, 1:] = -np.inf
    view = ActivationsView(
        "blocks.0.attn.scores", values, [1, 2, 4, 70], ["batch", "head", "query", "key"], [0, 10, 20],
        ["<b>a</b>", "b", "c", "d"], [str(i) for i in range(5)],
    )  # fmt: skip
    live = activations(view)
    for snapshot, head in np.ndindex(3, 2):
        figure = live.at(snapshot=snapshot, partHead=head)
        np.testing.assert_array_equal(figure.data[0].z, values[snapshot, head])
        np.testing.assert_array_equal(np.isnan(figure.data[1].z), np.isfinite(values[snapshot, head]))
        finite = values[snapshot, head][np.isfinite(values[snapshot, head])]
        assert figure.data[0].zmax == -figure.data[0].zmin == np.abs(finite).max()
    assert figure.layout.yaxis.ticktext[0] == "&lt;b&gt;a&lt;/b&gt;"
    sentence = live.sentence(snapshot=1, partHead=0)
    assert sentence.startswith("The run at step **10**") and sentence.endswith("key: the first 5 of 70.")
    assert figure.data[0].hovertemplate.startswith("query %{y}, key %{x}: ")


def test_untrained_weights_are_shares():
    values = np.full((1, 1, 2, 2), 0.5, np.float32)
    view = ActivationsView(
        "attn.weights", values, [1, 1, 2, 2], ["batch", "head", "query", "key"], None, ["a", "b"], ["a", "b"]
    )
    live = activations(view)
    assert (live.at().data[0].zmin, live.at().data[0].zmax, len(live.at().data)) == (0, 1, 1)
    assert live.sentence(snapshot=7) == (
        "**Untrained**: a fresh model with seed 0, reading random tokens. From 0.5000 to 0.5000, mean 0.5000."
    )
    view.values[:] = -np.inf
    assert "From — to —, mean —." in activations(view).sentence()


def test_the_table_of_layers():
    stated = layer_table([], "en")
    assert list(stated.columns) == ["layer", "cost", "steps in a row", "longest path", "parallel in n"]
    assert stated.iloc[2].tolist() == ["self-attention", "n² · d", "1", "1", "yes"]
    layers = [LayerCost(name, "", "", "", (2, 5), (1.0, 2.0), (3, 6), (1, 1)) for name in ("rnn", "cnn", "attention")]
    measured = layer_table(layers, "zh")
    assert measured.shape == (3, 9) and measured.iloc[0, 5:].tolist() == ["× 2.50", "× 2.00", "3 → 6", "1 → 1"]
    assert "grows **2.00 ×**" in layer_caption(layers, "en") and "stays at 3" in layer_caption(layers, "en")


@pytest.mark.parametrize(
    ("value", "written"),
    [(50_257, "50,257"), (0.1, "0.1"), (1e-12, "10⁻¹²"), (2.5e-4, "2.5 × 10⁻⁴"), (-3, "−3"), (1.0, "1"), (0, "0")],
)
def test_exact_numbers(value, written):
    assert exact(value) == written


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (8, "", "8"),
        (999, "B", "999\xa0B"),
        (131_072, "B", "131\xa0kB"),
        (21_500_000, "", "21.5\xa0M"),
        (10**9, "", "1\xa0G"),
    ],
)
def test_scaled_numbers(value, unit, written):
    assert scaled(value, unit) == written
