"""The Positions tab's figures: at every state they hold the tensors themselves, and say what the numbers say."""

import numpy as np
import pytest

from app.figures import position_schemes as figures
from app.figures.live import Live
from app.service import positions
from app.service.experiments import extrapolation


def drawn(compute, draw, **options) -> tuple[dict, dict, dict[str, Live]]:
    header, arrays = compute(**options)
    return header, arrays, draw(header, arrays)


def test_sinusoidal_figures_hold_the_table_and_its_rows_by_offset():
    _, arrays, live = drawn(positions.sinusoidal, figures.sinusoidal_figures, d_model=12, length=16)
    table, dots = arrays["table"], arrays["dots"]
    for position, pair in ((0, 0), (7, 2), (15, 5), (99, 99)):  # beyond the end: the last
        state, row, column = {"position": position, "pair": pair}, min(position, 15), 2 * min(pair, 5)
        frame = live["table"].at(**state)
        np.testing.assert_array_equal(frame.data[0].z, table)
        assert (frame.layout.shapes[0].x0, frame.layout.shapes[0].y1) == (column - 0.5, row + 0.5)
        waves = live["waves"].at(**state)
        np.testing.assert_array_equal(waves.data[2].y, table[:, column])
        np.testing.assert_array_equal(waves.data[3].y, table[:, column + 1])
        assert waves.data[0].visible == (column != 0) and waves.data[1].visible == (column != 10)
        assert [dot.yanchor for dot in waves.layout.shapes[1:]] == [table[row, column], table[row, column + 1]]
        line = live["dots"].at(**state).data[-1].y
        np.testing.assert_array_equal(line[15 - row : 31 - row], dots[row])
        assert np.isnan(line[: 15 - row]).all() and np.isnan(line[31 - row :]).all()
    assert "At position 7 it reads sin" in live["waves"].sentence(position=7, pair=2)
    assert live["dots"].sentence(position=5).startswith("Seen from positions 0, 4, 5, 8, 15,")


def test_rope_figures_turn_and_stay_within_the_sequence():
    _, arrays, live = drawn(positions.rope, figures.rope_figures, d_head=8, length=16, seed=1)
    for position, offset, key in ((5, 3, "same"), (14, 9, "other"), (2, -60, "other"), (40, 0, "same")):
        row = min(position, 15)
        other = min(15, max(0, row + offset))
        state = {"position": position, "offset": offset, "ropeKey": key, "pair": 2}
        scores = arrays["scores"][int(key == "other")]
        dials = live["dials"].at(**state)
        for trace, place in ((3, row), (2, other)):
            ends = np.subtract(dials.data[trace].y[1::3], dials.data[trace].y[0::3])
            np.testing.assert_allclose(ends, arrays["turned"][place, :, 1], atol=1e-6)
        matrix = live["matrix"].at(**state)
        np.testing.assert_array_equal(matrix.data[0].z, scores)
        assert (matrix.layout.shapes[0].x1, matrix.layout.shapes[0].y1) == (other + 0.5, row + 0.5)
        lines = live["scores"].at(**state)
        assert lines.layout.shapes[0].x0 == other - row and lines.layout.shapes[1].yanchor == scores[row, other]
        assert f"dashed: position {other}." in live["dials"].sentence(**state)
        sign = f"+{other - row}" if other > row else str(other - row).replace("-", "−")
        assert live["scores"].sentence(**state).startswith(f"At offset **{sign}**, q·k = **")
    table = live["wavelengths"].at(pair=3)
    assert list(table.data[0].cells.values[1]) == ["1.000", "0.1000", "0.01000", "0.001000"]
    assert len(set(table.data[0].cells.font.color[0][:3])) == 1 != len(set(table.data[0].cells.font.color[0]))


def test_alibi_figures_mask_what_lies_ahead_and_name_slopes_between():
    _, arrays, live = drawn(positions.alibi, figures.alibi_figures, n_heads=6, side=9)
    for head in range(6):
        both = live["matrix"].at(biasHead=head, sides="two")
        np.testing.assert_array_equal(both.data[0].z, arrays["bias"][head])
        assert both.data[1].visible is False
        causal = live["matrix"].at(biasHead=head, sides="one")
        np.testing.assert_array_equal(np.isnan(causal.data[0].z), ~np.tri(9, dtype=bool))
        assert causal.data[1].visible is True
        lines = live["lines"].at(biasHead=head)
        assert [line.line.width for line in lines.data] == [4 if one == head else 1.8 for one in range(6)]
        np.testing.assert_array_equal(lines.data[head].y, arrays["bias"][head, :, 0])
    assert "What lies ahead is masked" in live["matrix"].sentence(sides="one", biasHead=0)
    assert "6 is not a power of two: heads 0 to 3" in live["slopes"].sentence()
    _, _, live = drawn(positions.alibi, figures.alibi_figures, n_heads=8, side=9)
    assert "power of two" not in live["slopes"].sentence()


def test_t5_figures_hold_buckets_and_trained_biases():
    _, arrays, live = drawn(positions.t5, figures.t5_bucket_figures, n_buckets=32, max_distance=128, side=10)
    for index, sides in enumerate(("one", "two")):
        np.testing.assert_array_equal(live["steps"].at(sides=sides).data[0].y, arrays["buckets"][index])
        np.testing.assert_array_equal(live["matrix"].at(sides=sides).data[0].z, arrays["matrix"][index])
    assert "distances 0 to **15** have a bucket each" in live["steps"].sentence(sides="one")
    header, arrays, live = drawn(positions.t5_trained, figures.t5_bias_figures, run="reverse-t5")
    for part in header["parts"]:
        kept = [i for i, offset in enumerate(header["offsets"]) if part not in header["one_sided"] or offset <= 0]
        for snapshot in (0, len(header["steps"]) - 1):
            figure = live[f"{part}.bias"].at(snapshot=snapshot, biasHead=1)
            for head, line in enumerate(figure.data):
                np.testing.assert_array_equal(line.y, arrays[f"{part}.bias"][snapshot, head, kept])


@pytest.mark.parametrize("run", ["reverse-transformer", "parity-rnn"])
def test_learned_figures_follow_the_run_or_the_one_in_its_place(run):
    header, arrays, live = drawn(positions.learned, figures.learned_figures, run=run)
    part, last = header["parts"][0], len(header["steps"]) - 1
    moment = "snapshot" if run == "reverse-transformer" else "learnedSnapshot"
    assert header["moment"] == moment
    for snapshot in (0, last):
        for view, kind in (("whole", ""), ("added", "added_")):
            state = {moment: snapshot, "tableView": view}
            for what in ("table", "cosines"):
                figure = live[f"{part}.{what}"].at(**state)
                np.testing.assert_array_equal(figure.data[0].z, arrays[f"{part}.{kind}{what}"][snapshot])
        np.testing.assert_array_equal(live[f"{part}.moved"].at(**state).data[0].y, arrays[f"{part}.moved"][snapshot])
        assert (
            live[f"{part}.moved"]
            .sentence(**state)
            .startswith(f"At step {header['steps'][snapshot]}, positions 0 to 12")
        )
    np.testing.assert_array_equal(live[f"{part}.table_before"].at(**state).data[0].z, arrays[f"{part}.table"][0])


def test_reordered_words_are_text_and_equal_outputs_are_named():
    words = "<b>x</b> a&b <img <b>x</b>"
    header, arrays, live = drawn(
        positions.no_positions, figures.reordered_figures, text=words, order="reverse", seed=0
    )
    for index, scheme in enumerate(header["schemes"]):
        figure = live["map"].at(modelScheme=scheme)
        np.testing.assert_array_equal(figure.data[0].z, arrays["cosines"][index])
        same = arrays["apart"][index] < 1e-4
        assert ("**the same**" in live["map"].sentence(modelScheme=scheme)) == same
    assert figure.layout.yaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;" and figure.data[0].x[1] == "&lt;img (1)"
    assert "**None and ALiBi**. A mirror keeps all distances" in live["apart"].sentence(modelScheme="none")


def test_the_effect_names_the_scheme_looked_at():
    comparison = extrapolation.comparison()
    live = figures.effect(comparison)
    for index, one in enumerate(comparison["schemes"]):
        figure = live.at(scheme=one["scheme"])
        np.testing.assert_allclose(figure.data[index].y, np.mean(one["accuracy"], 0))
        assert [line.line.width for line in figure.data] == [4 if i == index else 2 for i in range(6)]
        assert f"({one['steps']} steps, {one['heads']} heads)" in live.sentence(scheme=one["scheme"])
