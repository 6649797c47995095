"""The points of each family, in the order in which they are computed, as (name, shape).

One layer; sequences of up to 7 tokens (targets 5), 3 in a batch; 8 wide, 2 heads, 12 inside the feed-forward layer.
These names are what users write in patterns: a change here is a change for them.
"""

import pytest

import core
from tests.core.examples import FAMILIES, batch, small

POINTS = {
    "rnn": """
        embed                              3 7 6
        layers.0.fwd.hidden                3 7 4
        logits                             3 3
    """,
    "gru": """
        embed                              3 7 6
        layers.0.fwd.reset                 3 7 4
        layers.0.fwd.update                3 7 4
        layers.0.fwd.candidate             3 7 4
        layers.0.fwd.hidden                3 7 4
        logits                             3 3
    """,
    "lstm": """
        embed                              3 7 6
        layers.0.fwd.input                 3 7 4
        layers.0.fwd.forget                3 7 4
        layers.0.fwd.candidate             3 7 4
        layers.0.fwd.output                3 7 4
        layers.0.fwd.cell                  3 7 4
        layers.0.fwd.hidden                3 7 4
        logits                             3 3
    """,
    "seq2seq": """
        encoder.embed                      3 7 6
        encoder.layers.0.fwd.reset         3 7 2
        encoder.layers.0.fwd.update        3 7 2
        encoder.layers.0.fwd.candidate     3 7 2
        encoder.layers.0.fwd.hidden        3 7 2
        encoder.layers.0.bwd.reset         3 7 2
        encoder.layers.0.bwd.update        3 7 2
        encoder.layers.0.bwd.candidate     3 7 2
        encoder.layers.0.bwd.hidden        3 7 2
        decoder.embed                      3 5 6
        decoder.cross.scores               3 1 5 7
        decoder.cross.weights              3 1 5 7
        decoder.cross.context              3 1 5 4
        decoder.layers.0.fwd.reset         3 5 4
        decoder.layers.0.fwd.update        3 5 4
        decoder.layers.0.fwd.candidate     3 5 4
        decoder.layers.0.fwd.hidden        3 5 4
        logits                             3 5 11
    """,
    "transformer": """
        encoder.embed                      3 7 8
        encoder.position                   3 7 8
        encoder.blocks.0.resid_in          3 7 8
        encoder.blocks.0.attn.q            3 2 7 4
        encoder.blocks.0.attn.k            3 2 7 4
        encoder.blocks.0.attn.v            3 2 7 4
        encoder.blocks.0.attn.scores       3 2 7 7
        encoder.blocks.0.attn.mask         3 1 1 7
        encoder.blocks.0.attn.weights      3 2 7 7
        encoder.blocks.0.attn.context      3 2 7 4
        encoder.blocks.0.attn.out          3 7 8
        encoder.blocks.0.resid_mid         3 7 8
        encoder.blocks.0.ff.pre            3 7 12
        encoder.blocks.0.ff.post           3 7 12
        encoder.blocks.0.ff.out            3 7 8
        encoder.blocks.0.resid_out         3 7 8
        decoder.embed                      3 5 8
        decoder.position                   3 5 8
        decoder.blocks.0.resid_in          3 5 8
        decoder.blocks.0.attn.q            3 2 5 4
        decoder.blocks.0.attn.k            3 2 5 4
        decoder.blocks.0.attn.v            3 2 5 4
        decoder.blocks.0.attn.scores       3 2 5 5
        decoder.blocks.0.attn.mask         3 1 5 5
        decoder.blocks.0.attn.weights      3 2 5 5
        decoder.blocks.0.attn.context      3 2 5 4
        decoder.blocks.0.attn.out          3 5 8
        decoder.blocks.0.resid_mid         3 5 8
        decoder.blocks.0.cross.q           3 2 5 4
        decoder.blocks.0.cross.k           3 2 7 4
        decoder.blocks.0.cross.v           3 2 7 4
        decoder.blocks.0.cross.scores      3 2 5 7
        decoder.blocks.0.cross.mask        3 1 1 7
        decoder.blocks.0.cross.weights     3 2 5 7
        decoder.blocks.0.cross.context     3 2 5 4
        decoder.blocks.0.cross.out         3 5 8
        decoder.blocks.0.resid_cross       3 5 8
        decoder.blocks.0.ff.pre            3 5 12
        decoder.blocks.0.ff.post           3 5 12
        decoder.blocks.0.ff.out            3 5 8
        decoder.blocks.0.resid_out         3 5 8
        logits                             3 5 11
    """,
    "bert": """
        embed                              3 7 8
        segment                            3 7 8
        position                           3 7 8
        blocks.0.resid_in                  3 7 8
        blocks.0.attn.q                    3 2 7 4
        blocks.0.attn.k                    3 2 7 4
        blocks.0.attn.v                    3 2 7 4
        blocks.0.attn.scores               3 2 7 7
        blocks.0.attn.mask                 3 1 1 7
        blocks.0.attn.weights              3 2 7 7
        blocks.0.attn.context              3 2 7 4
        blocks.0.attn.out                  3 7 8
        blocks.0.resid_mid                 3 7 8
        blocks.0.ff.pre                    3 7 12
        blocks.0.ff.post                   3 7 12
        blocks.0.ff.out                    3 7 8
        blocks.0.resid_out                 3 7 8
        pooled                             3 8
        logits                             3 7 11
        next_sentence                      3 2
    """,
    "roformer": """
        embed                              3 7 8
        segment                            3 7 8
        blocks.0.resid_in                  3 7 8
        blocks.0.attn.q                    3 2 7 4
        blocks.0.attn.k                    3 2 7 4
        blocks.0.attn.v                    3 2 7 4
        blocks.0.attn.scores               3 2 7 7
        blocks.0.attn.mask                 3 1 1 7
        blocks.0.attn.weights              3 2 7 7
        blocks.0.attn.context              3 2 7 4
        blocks.0.attn.out                  3 7 8
        blocks.0.resid_mid                 3 7 8
        blocks.0.ff.pre                    3 7 12
        blocks.0.ff.post                   3 7 12
        blocks.0.ff.out                    3 7 8
        blocks.0.resid_out                 3 7 8
        pooled                             3 8
        logits                             3 7 11
        next_sentence                      3 2
    """,
    "gpt": """
        embed                              3 7 8
        position                           3 7 8
        blocks.0.resid_in                  3 7 8
        blocks.0.attn.q                    3 2 7 4
        blocks.0.attn.k                    3 2 7 4
        blocks.0.attn.v                    3 2 7 4
        blocks.0.attn.scores               3 2 7 7
        blocks.0.attn.mask                 3 1 7 7
        blocks.0.attn.weights              3 2 7 7
        blocks.0.attn.context              3 2 7 4
        blocks.0.attn.out                  3 7 8
        blocks.0.resid_mid                 3 7 8
        blocks.0.ff.pre                    3 7 12
        blocks.0.ff.post                   3 7 12
        blocks.0.ff.out                    3 7 8
        blocks.0.resid_out                 3 7 8
        logits                             3 7 11
    """,
    "t5": """
        encoder.embed                      3 7 8
        encoder.blocks.0.resid_in          3 7 8
        encoder.blocks.0.attn.q            3 2 7 4
        encoder.blocks.0.attn.k            3 2 7 4
        encoder.blocks.0.attn.v            3 2 7 4
        encoder.blocks.0.attn.bias         1 2 7 7
        encoder.blocks.0.attn.scores       3 2 7 7
        encoder.blocks.0.attn.mask         3 1 1 7
        encoder.blocks.0.attn.weights      3 2 7 7
        encoder.blocks.0.attn.context      3 2 7 4
        encoder.blocks.0.attn.out          3 7 8
        encoder.blocks.0.resid_mid         3 7 8
        encoder.blocks.0.ff.pre            3 7 12
        encoder.blocks.0.ff.post           3 7 12
        encoder.blocks.0.ff.out            3 7 8
        encoder.blocks.0.resid_out         3 7 8
        decoder.embed                      3 5 8
        decoder.blocks.0.resid_in          3 5 8
        decoder.blocks.0.attn.q            3 2 5 4
        decoder.blocks.0.attn.k            3 2 5 4
        decoder.blocks.0.attn.v            3 2 5 4
        decoder.blocks.0.attn.bias         1 2 5 5
        decoder.blocks.0.attn.scores       3 2 5 5
        decoder.blocks.0.attn.mask         3 1 5 5
        decoder.blocks.0.attn.weights      3 2 5 5
        decoder.blocks.0.attn.context      3 2 5 4
        decoder.blocks.0.attn.out          3 5 8
        decoder.blocks.0.resid_mid         3 5 8
        decoder.blocks.0.cross.q           3 2 5 4
        decoder.blocks.0.cross.k           3 2 7 4
        decoder.blocks.0.cross.v           3 2 7 4
        decoder.blocks.0.cross.scores      3 2 5 7
        decoder.blocks.0.cross.mask        3 1 1 7
        decoder.blocks.0.cross.weights     3 2 5 7
        decoder.blocks.0.cross.context     3 2 5 4
        decoder.blocks.0.cross.out         3 5 8
        decoder.blocks.0.resid_cross       3 5 8
        decoder.blocks.0.ff.pre            3 5 12
        decoder.blocks.0.ff.post           3 5 12
        decoder.blocks.0.ff.out            3 5 8
        decoder.blocks.0.resid_out         3 5 8
        logits                             3 5 11
    """,
}


def parse_points(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def captured_points(model, **inputs) -> list[str]:
    with core.capture(model) as tape:
        model(**(inputs or batch(model)))
    return [f"{name} {' '.join(map(str, value.shape))}" for name, value in tape.items()]


@pytest.mark.parametrize("family", FAMILIES)
def test_points_of_a_family(family):
    assert family in POINTS, f"list here the points of {family}"
    assert captured_points(small(family, n_layers=1)) == parse_points(POINTS[family])


@pytest.mark.parametrize("family", ["lstm", "t5"])
def test_a_second_layer_has_the_same_points(family):
    one, two = (captured_points(small(family, n_layers=n)) for n in (1, 2))
    first = [name for name in one if "layers.0" in name or "blocks.0" in name]
    second = [name for name in two if "layers.1" in name or "blocks.1" in name]
    assert [name.replace("s.0.", "s.1.") for name in first] == second
    assert set(one) <= set(two)


# Points that an option adds to (+) or takes from (-) the points of its family.
CHANGES = [
    ("gru", {"bidirectional": True}, """
        + layers.0.bwd.reset 3 7 4
        + layers.0.bwd.update 3 7 4
        + layers.0.bwd.candidate 3 7 4
        + layers.0.bwd.hidden 3 7 4"""),
    ("seq2seq", {"attention": "none"}, """
        - decoder.cross.scores 3 1 5 7
        - decoder.cross.weights 3 1 5 7
        - decoder.cross.context 3 1 5 4"""),
    ("bert", {"position": "alibi", "n_segments": 0}, """
        - segment 3 7 8
        - position 3 7 8
        + blocks.0.attn.bias 1 2 7 7"""),
    ("roformer", {"head": "pointer"}, """
        - logits 3 7 11
        - next_sentence 3 2
        + head.pointer.q 3 3 7 64
        + head.pointer.k 3 3 7 64
        + head.pointer.scores 3 3 7 7
        + logits 3 3 7 7"""),
    ("gpt", {"n_kv_heads": 1}, """
        - blocks.0.attn.k 3 2 7 4
        - blocks.0.attn.v 3 2 7 4
        + blocks.0.attn.k 3 1 7 4
        + blocks.0.attn.v 3 1 7 4"""),
    ("bert", {"attention": "local"}, """
        - blocks.0.attn.mask 3 1 1 7
        + blocks.0.attn.mask 3 1 7 7"""),
    ("transformer", {"downsample": 2}, """
        - decoder.blocks.0.cross.k 3 2 7 4
        - decoder.blocks.0.cross.v 3 2 7 4
        - decoder.blocks.0.cross.scores 3 2 5 7
        - decoder.blocks.0.cross.mask 3 1 1 7
        - decoder.blocks.0.cross.weights 3 2 5 7
        + decoder.blocks.0.cross.k 3 2 4 4
        + decoder.blocks.0.cross.v 3 2 4 4
        + decoder.blocks.0.cross.scores 3 2 5 4
        + decoder.blocks.0.cross.mask 3 1 1 4
        + decoder.blocks.0.cross.weights 3 2 5 4"""),
]  # fmt: skip


@pytest.mark.parametrize(("family", "options", "change"), CHANGES)
def test_what_an_option_changes(family, options, change):
    before, after = parse_points(POINTS[family]), captured_points(small(family, n_layers=1, **options))
    gone, new = [point for point in before if point not in after], [point for point in after if point not in before]
    assert [f"- {point}" for point in gone] + [f"+ {point}" for point in new] == parse_points(change)


def test_a_full_batch_that_looks_both_ways_has_no_mask():
    model = small("bert", n_layers=1)
    points = captured_points(model, ids=batch(model)["ids"])
    assert [point for point in parse_points(POINTS["bert"]) if point not in points] == ["blocks.0.attn.mask 3 1 1 7"]
