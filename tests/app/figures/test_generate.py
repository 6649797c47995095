"""The Generate tab's figures: they hold the tensors themselves, their captions say what is in them, and text stays text."""

from __future__ import annotations

import numpy as np
import pytest

from app.figures import answers
from app.figures.bars import BarGroup, BarRow, share_bars
from app.figures.beam_tree import beam_tree, best_path
from app.figures.expressions import First, Join, State, Term, Transpose, evaluate, to_json
from app.figures.generation import GenerationView, attended, gates
from app.figures.next_token import MOST, next_token
from app.figures.numbers import fill
from app.figures.spans import SpanView, span_scores, spans
from app.figures.tagging import TagView, lattice, tags, transitions
from app.figures.token_rows import Cell, Row, Span, kind_colour, token_rows
from app.figures.tokens import in_languages, quoted
from app.figures.training_example import training_example

ODD = "<b>x</b>&amp;"
RNG = np.random.default_rng(0)


def distribution(before: list[float], after: list[float], chosen: int) -> dict:
    return {
        "chosen": chosen, "ids": [3, 1, 0, 2], "before": before, "after": after, "left": sum(x > 0 for x in after),
        "narrowed": before != after, "entropy": [1.25, 0.5],
    }  # fmt: skip


def node(id_: int, parent: int, score: float, kept: bool = False, ended: bool = False, following=None) -> dict:
    return {
        "id": id_,
        "parent": parent,
        "score": score,
        "share": 0.25,
        "kept": kept,
        "ended": ended,
        "next": following,
    }


def generation_view(tree: bool = False) -> GenerationView:
    plain, narrowed = [0.5, 0.25, 0.125, 0.125], [0.75, 0.25, 0.0, 0.0]
    steps = [distribution(plain, plain, 3), distribution(plain, narrowed, 1)]
    levels = [
        [node(1, 0, -0.5, kept=True), node(3, 0, -0.75, kept=True, following=distribution(narrowed, narrowed, 3))],
        [node(1, 1, -1.0, ended=True), node(2, 0, -2.0)],
    ]
    return GenerationView(["a", " "], ["d", "b"], steps, levels if tree else [], ["a", "b", ODD, "d"], -1.0)


@pytest.mark.parametrize(
    ("expression", "state", "value"),
    [
        (First([1, 2, 3], State("n")), {"n": 2}, [1, 2]),
        (Join(["a", "b", "c"], State("y"), State("x")), {"y": 1, "x": 2}, "b c"),
        (Join(["a", "b"], 1, 0), {}, ""),
    ],
)
def test_words_of_the_vocabulary(expression, state, value):
    assert evaluate(expression, state) == value
    assert to_json(expression, lambda message, _: message, ["en"])["$"] == type(expression).__name__.lower()


def test_rows_become_columns_and_a_term_has_its_context():
    np.testing.assert_array_equal(evaluate(Transpose(np.arange(6).reshape(2, 3)), {}), np.arange(6).reshape(2, 3).T)
    words = {"gate\x04input": "门", "input": "入"}
    assert evaluate(Term("gate", "input"), {"language": "zh"}, lambda m, _: words.get(m, m)) == "门"
    assert evaluate(Term("gate", "reset"), {"language": "zh"}, lambda m, _: words.get(m, m)) == "reset"


@pytest.mark.parametrize(
    ("mark", "value", "written"),
    [
        ("+.2f", 1.0, "+1.00"),
        ("+.2f", -1.234, "−1.23"),
        ("p", 0.25, "25.0 %"),
        ("p", 1e-4, "1.00 × 10⁻⁴"),
        ("p", 0.0, "0.0 %"),
    ],
)
def test_signs_and_probabilities(mark, value, written):
    assert fill(f"{{x:{mark}}}", {"x": value}) == written


def test_the_distribution_of_a_token_before_and_after():
    view = generation_view()
    live = next_token(view)
    for token, step in enumerate(view.steps):
        figure = live.at(token=token, node=-1, side="a")
        assert list(figure.data[0].x[:4]) == step["before"] and list(figure.data[1].x[:4]) == step["after"]
        assert np.isnan(figure.data[0].x[4:]).all() and len(figure.data[0].x) == MOST
        assert [name.strip() for name in figure.data[2].text[:4]] == ["d", "b", "a", "&lt;b&gt;x&lt;/b&gt;&amp;amp;"]
        assert tuple(figure.layout.yaxis.range) == (3.5, -0.5)
    assert list(live.at(token=1, node=-1, side="a").data[3].text[:4]) == [
        " 50.0 % → 75.0 %",
        " 25.0 %",
        " 12.5 % → 0",
        " 12.5 % → 0",
    ]
    said = live.sentence(token=1, node=-1)
    assert (
        said
        == f"**{quoted('b')}** had 25.0 %, and 25.0 % when it was chosen: 2 of 4 tokens are left, the uncertainty goes from 1.25 to 0.50 bits."
    )
    assert "nothing was narrowed" in live.sentence(token=0, node=-1)
    assert live.tip_text(token=1, node=-1, point=2) == "a: 12.5 % as the model gave it, then ruled out (0.0 %)"
    assert live.sentence(token=9, node=-1) == said, "a token beyond the text stands for its last"


def test_what_could_follow_a_node_takes_the_place_of_the_token():
    view = generation_view(tree=True)
    live = next_token(view)
    assert list(live.at(token=0, node=1, side="a").data[0].x[:4]) == view.nodes[1]["next"]["before"]
    assert list(live.at(token=1, node=2, side="a").data[0].x[:4]) == view.steps[1]["before"], "nothing follows it"
    title = evaluate(live.title, {"token": 0, "node": 1, "side": "b", "language": "en"})
    assert title == "What could follow d, token 1 of its beam"
    assert (
        evaluate(live.title, {"token": 1, "node": -1, "side": "b", "language": "en"})
        == "B: what token 2 was chosen from"
    )


def test_the_tree_is_walked_from_parent_to_child():
    view = generation_view(tree=True)
    live = beam_tree(view)
    assert best_path(view.tree, view.text, view) == [1, 0] and "**not** the likeliest" in live.sentence()
    assert live.parts is not None
    assert live.parts.steps["ArrowLeft"] == [0, 1, 1, 0] and live.parts.steps["ArrowRight"] == [3, 2, 2, 3]
    assert live.parts.steps["ArrowDown"] == [1, 1, 3, 3]
    assert live.tip_text(point=3) == f"{ODD}: 25.0 % here, −2.00 in all · dropped"
    texts = live.at(node=-1).data[0].text
    assert list(texts[:6]) == ["b", "d", "b", "&lt;b&gt;x&lt;/…", "␣", "part of the best text"]
    box = live.at(node=1).layout.shapes[0]
    assert (box.x0, box.y1) == pytest.approx((live.parts.boxes[1][0], live.parts.boxes[1][3]))
    state = {"token": 0, "treeSide": "b"}
    picked = [
        {key: evaluate(value, {**state, "point": point}) for key, value in live.click.items()} for point in (2, 3)
    ]
    assert picked == [{"node": -1, "token": 1, "side": "b"}, {"node": 3, "token": 0, "side": "b"}]


@pytest.mark.parametrize("name", ["cross", "self"])
def test_attention_is_that_of_the_token(name):
    view, weights = generation_view(), RNG.random((2, 3, 2, 4)).astype(np.float32)
    live = attended(view, name, weights, is_alignment=False)
    for token in range(2):
        keys = 2 if name == "cross" else 2 + token
        z = np.stack(live.at(token=token).data[0].z)
        np.testing.assert_array_equal(z, weights[:, :, token, :keys].reshape(6, keys))
        row, key = np.unravel_index(z.argmax(), z.shape)
        assert f"head {row // 3}.{row % 3} put" in live.sentence(token=token)
        assert live.tip_text(token=token, y=row, x=key).endswith(f": {z[row, key]:.3f}")


def test_gates_are_those_of_the_token():
    view = generation_view()
    points = {
        f"layers.{layer}.fwd.{name}": RNG.normal(size=(2, 5)).astype(np.float32)
        for layer in (0, 1)
        for name in ("hidden", "update", "reset")
    }
    live = gates(view, points)
    order = ["reset", "update", "hidden"]
    for token in range(2):
        expected = [points[f"layers.{layer}.fwd.{name}"][token] for layer in (0, 1) for name in order]
        np.testing.assert_array_equal(np.stack(live.at(token=token).data[0].z), expected)
        unit = int(np.abs(expected[-1]).argmax())
        assert f"unit {unit} holds the most" in live.sentence(token=token)
    assert evaluate(live.tokens["y"], {"language": "en"}) == [f"{layer} {name}" for layer in (0, 1) for name in order]


def test_classes_and_how_they_went():
    shares = np.array([[0.75, 0.25], [0.25, 0.75]], np.float32)
    labels = ["even", "odd"]
    live = answers.classes(labels, shares[-1], 0, "run")
    assert list(live.at().data[0].x) == [0.25, 0.75]
    assert live.sentence() == "It says **odd** with 75.0 %. That is wrong: it is even."
    along = answers.classes_along(labels, ["a", "b"], [1, 2], shares, "run")
    np.testing.assert_array_equal(along.at().data[0].z, shares.T)
    assert list(along.at().data[1].y) == [0, 1] and "changes its answer once" in along.sentence()
    assert along.tip_text(x=0, y=1) == "after 1 token, a: odd 25.0 %"
    assert "never changes" in answers.classes_along(labels, ["a"], [1], shares[:1], "run").sentence()


def mask(place: int, word: str | None, rank: int | None) -> dict:
    share = None if word is None else 0.25
    return {"place": place, "words": ["x", ODD], "shares": [0.75, 0.25], "word": word, "share": share, "rank": rank}


def test_masks_side_by_side_or_below_each_other():
    for across in (1, 2):
        live = answers.fillings([mask(2, None, None), mask(4, ODD, 2)], "run", across)
        figure = live.at()
        assert [list(trace.x) for trace in figure.data if trace.type == "bar"] == [[0.75, 0.25]] * 2
        assert "&lt;b&gt;" in figure.layout.annotations[1].text and "&lt;b&gt;" in figure.data[1].text[1]
        assert live.table["word"] == ["x", ODD, "x", ODD]
    assert "is its choice number 2" in live.sentence()
    assert (
        "1 of 2 masked words is its first choice."
        in answers.fillings([mask(2, "x", 1), mask(4, ODD, 2)], "run").sentence()
    )
    nothing = answers.fillings([], "run")
    assert nothing.height == 0 and "No word is masked" in nothing.sentence()
    assert answers.next_sentence([], None, None, "run").height == 0
    follows = answers.next_sentence(["yes", "no"], [0.25, 0.75], 1, "run")
    assert follows.sentence() == "It says: no, with 75.0 %. That is right."


def span_view(right: list | None) -> SpanView:
    scores = np.full((2, 3, 3), -1.5, np.float32)
    scores[0, 0, 2], scores[0, 1, 1] = 2.0, 1.0
    return SpanView(
        ["a", ODD, "c"], ["person", "place"], scores, np.triu(np.ones((2, 3, 3))), [[0, 0, 2], [0, 1, 1]], right
    )


def test_spans_and_the_scores_of_all():
    view = span_view([[0, 0, 2], [0, 1, 1], [1, 0, 0]])
    live = spans(view)
    assert "2** spans" in live.sentence() and "is 1 deep" in live.sentence() and "1 is missing" in live.sentence()
    assert evaluate(live.click, {"point": 3, "spanKind": 1, "spanStart": -9, "spanEnd": -9}) == {
        "spanKind": 0,
        "spanStart": 0,
        "spanEnd": 2,
    }
    assert live.tip_text(point=5) == "a should be of the kind “place”; it scores −1.50"
    scores = span_scores(view)
    for kind in (0, 1):
        np.testing.assert_array_equal(scores.at(spanKind=kind).data[0].z, view.scores[kind])
    assert "**\u2068a <b>x</b>&amp; c\u2069** scores highest, +2.00; 2 spans" in scores.sentence(spanKind=0)
    assert "No span of the kind “place”" in scores.sentence(spanKind=1) and "the right ones" in scores.sentence(
        spanKind=1
    )
    assert scores.tip_text(spanKind=0, y=2, x=0) == "a span does not end before it starts"
    assert scores.tip_text(spanKind=0, y=0, x=2) == f"a {ODD} c: +2.000, of the kind “person”"
    assert "those it found" in span_scores(span_view(None)).sentence(spanKind=0)


def test_the_words_that_answer_a_question():
    scores = np.array([[1.0, -1.0, 0.5], [0.0, 2.0, -3.0]], np.float32)
    likely = [{"span": [0, 1], "share": 0.5, "score": 3.0}, {"span": [2, 2], "share": 0.25, "score": -2.5}]
    view = answers.AnswerView(["a", ODD, "c"], scores, [0, 1], likely, [2, 2])
    live = answers.answer_scores(view)
    for row in (0, 1):
        np.testing.assert_array_equal(live.at().data[row].y, scores[row])
    assert "That is wrong: the answer is **\u2068c\u2069**." in live.sentence()
    assert live.tip_text(point=1) == f"{ODD}: −1.000 as the first word, +2.000 as the last"
    assert "&lt;b&gt;x" in live.at().layout.xaxis.ticktext[1]
    assert "The next likeliest is **\u2068c\u2069**" in answers.likely_answers(view).sentence()


def tag_view(crf: bool) -> TagView:
    labels = ["O", "B-PER", "I-PER"]
    emissions = np.array([[1, 2, 3], [3, 1, 0]], np.float32)
    part = {"score": 4.0, "emitted": 3.0, "moved": 1.0, "share": 0.5}
    told = {"rows": [*labels, "start"], "columns": [*labels, "end"], "path": part, "alone": part, "broken": [0]}
    legal = np.ones((4, 4))
    legal[3, 2] = legal[0, 2] = 0
    shares = np.exp(emissions) / np.exp(emissions).sum(1, keepdims=True)
    return TagView(
        [ODD, "b"], labels, emissions, shares.astype(np.float32), [1, 0] if crf else [2, 0], [2, 0], [1, 0],
        told if crf else None, RNG.normal(size=(4, 4)).astype(np.float32) if crf else None, legal if crf else None,
    )  # fmt: skip


@pytest.mark.parametrize("crf", [True, False])
def test_tags_and_the_scores_they_were_chosen_from(crf):
    view = tag_view(crf)
    live, scores = tags(view), lattice(view)
    np.testing.assert_array_equal(scores.at(scoresAs="scores").data[0].z, view.emissions.T)
    np.testing.assert_array_equal(scores.at(scoresAs="shares").data[0].z, view.shares.T)
    assert list(scores.at(scoresAs="shares").data[-1].y) == view.path and len(scores.figure.data) == (3 if crf else 2)
    assert "on the path" in scores.tip_text(x=0, y=view.path[0]) and "emission +3.000" in scores.tip_text(x=0, y=2)
    assert ("All 2 tags are right." in live.sentence()) == crf
    if crf:
        assert (
            "would make the impossible move the start → I-PER" in live.sentence() and "**+4.00**" in live.sentence()
        )
        moves = transitions(view)
        np.testing.assert_array_equal(moves.at().data[0].z, view.transitions)
        assert sorted(zip(moves.at().data[1].y, moves.at().data[1].x, strict=True)) == [(0, 2), (3, 2)]
        assert moves.tip_text(x=3, y=3) == "no sentence is empty" and "cannot occur" in moves.tip_text(x=2, y=3)
    else:
        assert "Every token is tagged by itself" in live.sentence()
    assert "&lt;b&gt;" in live.at().data[0].text[0]


EXAMPLES = [
    ({"form": "label", "input": ["a"], "label": {"en": "even", "zh": "偶"}}, "**even**"),
    ({"form": "stream", "input": ["a", "b"], "target": ["b", None]}, "1 of 2 places is asked"),
    ({"form": "pairs", "source": ["x"], "input": ["<s>", "a"], "target": ["a", "</s>"]}, "2 times at once"),
    ({"form": "answer", "input": ["a", "b"], "span": [1, 1]}, "starts at place 1 and ends at place 1"),
    ({"form": "spans", "input": ["a", "b"], "spans": [[0, 0, 1]], "labels": [{"en": "x", "zh": "y"}]}, "**1** of 3 × 1"),
    ({"form": "tags", "input": ["a"], "labels": [{"en": "B-PER", "zh": "B-PER"}], "names": [{"en": "B-PER", "zh": "B-PER"}]}, "1 of them other than O"),
    ({"form": "masked", "text": ["a", "b"], "input": ["[MASK]", "b"], "target": ["a", None], "fates": ["masked", None], "follows": {"en": "f", "zh": "承"}}, "1 masked, 0 replaced"),
]  # fmt: skip


@pytest.mark.parametrize(("example", "words"), EXAMPLES)
def test_an_example_of_training(example, words):
    live = training_example({"number": 0, "of": 24, **example})
    assert words in live.sentence() and "Example 1 of 24" in live.sentence()
    live.at(theme="dark")
    assert live.parts is not None and len(live.parts.boxes) == len(live.at().data[0].text)
    assert live.table["text"][: len(example.get("source", example["input"]))]
    assert all(isinstance(live.tip_text(point=point), str) for point in range(len(live.parts.boxes)))


def test_rows_of_tokens_are_walked_and_text_is_not_markup():
    rows = [Row("first", [Cell(ODD, ODD), Cell("b", "tip")]), Row("second", [Cell("c", ""), None])]
    live = token_rows(
        rows, [((0, 1), (1, 0))], [Span(0, 1, in_languages({"en": ODD, "zh": "片段"}), ODD, kind_colour(1))]
    )
    figure = live.at()
    assert figure.data[0].text[0] == "&lt;b&gt;x&lt;/b&gt;&amp;amp;" and "<b>" not in "".join(figure.data[0].text)
    assert (
        live.parts is not None
        and live.parts.steps["ArrowDown"] == [3, 3, 2, 2]
        and live.parts.steps["ArrowUp"][2] == 3
    )
    assert live.tip_text(point=0) == ODD and live.table["text"] == [ODD, "b", "c", "", "1"]
    bars = share_bars([BarGroup([BarRow(ODD, 0.5, ODD)])])
    assert bars.at().data[1].text[0].strip() == "&lt;b&gt;x&lt;/b&gt;&amp;amp;"
