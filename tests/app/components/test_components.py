import gradio as gr
import numpy as np
import plotly.graph_objects as go
import pytest

from app import payload
from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, plot_values, text_value
from app.components.page_state import Controls, Question, told
from app.components.words import chips, page_words, word
from app.figures.expressions import Array, Format
from app.figures.live import Live
from app.i18n import translate
from app.service.array_store import ArrayStore, array_store
from core import ConfigError, InputError
from core.translatable import Text


def test_equal_arrays_have_one_address_that_follows_from_a_secret():
    store, other = ArrayStore(), ArrayStore()
    address = store.address(b"weights")
    assert store.address(b"weights") == address and store.size == 7
    assert store.get(address.rpartition("/")[2]) == b"weights"
    assert other.address(b"weights") != address
    assert store.get("0" * 40) is None


def test_the_store_forgets_what_was_not_used_for_longest():
    store = ArrayStore(capacity=10)
    first, second = (store.address(data).rpartition("/")[2] for data in (b"aaaa", b"bbbb"))
    store.get(first)
    store.address(b"cccc")
    assert store.get(second) is None and store.get(first) == b"aaaa" and store.size == 8


def test_figures_of_one_answer_share_their_arrays():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    live = Live(go.Figure(go.Scatter()), {"data[0].y": Array("values", values)["snapshot"]})
    plots = plot_values({"one": live, "two": live}, about=Format("a picture"))
    assert plots["one"]["arrays"] == plots["two"]["arrays"]
    _, arrays = payload.unpack(array_store.get(plots["one"]["arrays"].rpartition("/")[2]))
    np.testing.assert_array_equal(arrays["values"], values)


def test_a_sentence_follows_the_language():
    by = text_value(Text("Attention"))["text"]
    assert by["by"] == {"$": "state", "key": "language"}
    assert by["among"] == {"en": "Attention", "zh": translate(Text("Attention"), "zh")}


def make_page(answer):
    with gr.Blocks() as page:
        problem, layer, plot = LiveText(role="alert"), chips({0: Text("Map"), 1: Text("Arcs")}, 0), LivePlot()
        controls, question = Controls(layer=layer), Question(["run"])
        ask([question.change], answer, [question], [controls, plot], problem)
    event = next(fn for fn in page.fns.values() if fn.fn is not None)
    return page, event, (problem, controls, plot)


def test_controls_move_without_a_request_and_events_are_private():
    page, *_ = make_page(lambda question: [told(), None])
    dependencies = page.get_config_file()["dependencies"]
    assert [one["js"] for one in dependencies if not one["backend_fn"]] == [
        f'(value) => innerview.move(value, "layer", "{_identifier(page)}")', f'() => innerview.follow("{_identifier(page)}")'
    ]  # fmt: skip
    assert all(one["api_visibility"] == "private" for one in dependencies if one["backend_fn"])
    (controls,) = (block for block in page.blocks.values() if isinstance(block, Controls))
    assert controls.props["names"]["layer"][1] == ({"en": "Arcs", "zh": translate(Text("Arcs"), "zh")}, 1)


def _identifier(page):
    return next(block.props["identifier"] for block in page.blocks.values() if isinstance(block, Controls))


@pytest.mark.parametrize(
    "error",
    [
        InputError("There is no run called {name!r}.", name="x"),
        ConfigError("n_heads", 3, Text("it does not divide."), Text("Take 4.")),
    ],
)
def test_a_refusal_is_a_sentence_and_leaves_the_rest_as_it_is(error):
    def refuse(question):
        raise error

    _, event, (problem, *_) = make_page(refuse)
    (answer,) = event.fn({"run": "x"})
    assert set(answer) == {problem} and answer[problem]["text"]["among"]["en"] == str(error.text)


def test_an_answer_takes_the_refusal_away():
    _, event, (problem, controls, _) = make_page(lambda question: [told({"layer": 1}), None])
    (answer,) = event.fn({"run": "x"})
    assert answer[problem] is None and answer[controls]["state"] == {"layer": 1}


def test_what_will_pass_is_tried_again(monkeypatch):
    monkeypatch.setattr("app.components.events.RETRY_SECONDS", 0)
    loading = InputError("It is being loaded.")
    loading.again = True
    answers = iter([loading, loading, None])

    def answer(question):
        found = next(answers)
        if found is not None:
            raise found
        return [told(), None]

    _, event, (problem, *_) = make_page(answer)
    said = [one[problem] for one in event.fn({"run": "x"})]
    assert [one is None for one in said] == [False, False, True]


def test_messages_of_components_are_translated_for_every_name_of_a_language():
    word("Attention")
    words = page_words()
    assert words["en"]["Attention"] == "Attention"
    assert words["zh"]["Attention"] == words["zh-CN"]["Attention"] == translate(Text("Attention"), "zh")
