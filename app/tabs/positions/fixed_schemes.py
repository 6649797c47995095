"""Panels of the position schemes that are formulas: their options, the event that computes them, their pictures."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import gradio as gr

from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, Value, plot_values
from app.components.page_state import Controls, Question, told
from app.components.words import chips, word
from app.figures import position_schemes as figures
from app.figures.expressions import Format
from app.figures.live import Live
from app.i18n import in_all_languages, translate
from app.service import positions
from app.service.positions import SCHEMES, SLIDERS
from app.tabs.positions.words import NAMES
from core.translatable import Text

Answered = dict[str, Any]  # the value of a `Question`
PAUSE_MS = 350  # after the last key, before the words are read
TABLE = ("csv",)  # how numbers in a table are kept
LABELS = {
    "d_model": word("Dimensions"),
    "d_head": word("Head width"),
    "n_heads": word("Heads"),
    "length": word("Positions"),
    "side": word("Tokens"),
    "n_buckets": word("Buckets"),
    "max_distance": word("Largest distance"),
}
NEXT_SEED = "() => innerview.set('{key}', (innerview.state.{key} + 1) % {seeds})"
EXAMPLE = Text("the old dog bites the man")


def option(name: str) -> gr.Slider:
    """A slider for an option that an event answers to."""
    limits = SLIDERS[name]
    return gr.Slider(
        limits.low, limits.high, limits.default, step=limits.step, label=LABELS[name], interactive=True,
        min_width=150, elem_classes=f"slider-{name}",
    )  # fmt: skip


def place(name: str, label: Any, value: int) -> gr.Slider:
    """A slider that moves about in the arrays; its range follows them."""
    return gr.Slider(0, 1, value, step=1, label=label, interactive=True, min_width=150, elem_classes=f"slider-{name}")


def sides_chips() -> gr.Radio:
    names = {"one": Text("one-sided (causal)"), "two": Text("two-sided")}
    return chips(names, "two", label=word("Who may look where"), show_label=False)


def head_chips() -> gr.Radio:
    return chips({0: Text("head {n}", n=0)}, 0, label=word("Head"), show_label=False)


def told_heads(count: int, chosen: int) -> dict[str, Any]:
    """The heads on offer, and which of them is chosen."""
    heads = [(in_all_languages(Text("head {n}", n=head)), head) for head in range(count)]
    return told(state={"biasHead": min(chosen, count - 1)}, choices={"biasHead": heads})


def scheme_values(scheme: str, drawn: dict[str, Live]) -> dict[str, Value]:
    return plot_values(drawn, Format("Position scheme: {scheme}", scheme=figures.SCHEME_NAMES[scheme]))


@lru_cache(maxsize=64)
def computed(compute: Callable[..., Any], draw: Callable[..., Any], **options: Any) -> tuple[dict, dict[str, Live]]:
    """Header and figures of what depends on its options alone."""
    header, arrays = compute(**options)
    return header, draw(header, arrays)


def sinusoidal_panel() -> None:
    with gr.Row(elem_classes="positions-controls"):
        d_model, length = option("d_model"), option("length")
        position, pair = place("position", word("Position"), 5), place("pair", word("Pair"), 1)
    controls = Controls(d_model=d_model, length=length, position=position, pair=pair)
    problem = LiveText(classes="problem", role="alert")
    with gr.Column(elem_classes="positions-figures"):
        plots = [LivePlot(classes="sin-table"), LivePlot(classes="sin-waves")]
        plots.append(LivePlot(classes="sin-dots", elem_classes="wide"))
    question = Question(["d_model", "length"], when={"scheme": ["sinusoidal"]}, also=["position", "pair"])
    ask(question.change, sinusoidal, [question], [controls, position, pair, *plots], problem)


def sinusoidal(question: Answered) -> list[Any]:
    d_model, length = question["d_model"], question["length"]
    _, drawn = computed(positions.sinusoidal, figures.sinusoidal_figures, d_model=d_model, length=length)
    values = scheme_values("sinusoidal", drawn)
    last, last_pair = length - 1, d_model // 2 - 1
    state = {"position": min(question["position"], last), "pair": min(question["pair"], last_pair)}
    ranges = [gr.update(maximum=last), gr.update(maximum=last_pair)]
    return [told(state=state), *ranges, *(values[name] for name in ("table", "waves", "dots"))]


def rope_panel() -> None:
    with gr.Row(elem_classes="positions-controls"):
        d_head, length = option("d_head"), option("length")
        position, offset = place("position", word("Position"), 5), place("offset", word("Offset"), 3)
    with gr.Row(elem_classes="positions-controls"):
        key = chips(
            {"same": Text("k = q"), "other": Text("another k")}, "same", label=word("Which key"), show_label=False
        )
        another = gr.Button(word("Other random q and k"), elem_classes="small-button")
    controls = Controls(d_head=d_head, length=length, position=position, offset=offset, ropeKey=key)
    another.click(None, None, None, js=NEXT_SEED.format(key="ropeSeed", seeds=SLIDERS["seed"].high + 1))
    problem = LiveText(classes="problem", role="alert")
    with gr.Column(elem_classes="positions-figures"):
        plots = [LivePlot(classes=f"rope-{name}") for name in ("dials", "scores", "matrix")]
        plots.append(LivePlot(classes="rope-wavelengths", keep=TABLE))
    question = Question(["d_head", "length", "ropeSeed"], when={"scheme": ["rope"]}, also=["position"])
    ask(question.change, rope, [question], [controls, position, offset, *plots], problem)
    within = Question(
        ["position", "offset", "length"], when={"scheme": ["rope"]}
    )  # the key stays among the positions
    js = "({ position, offset, length }) => Math.max(-position, Math.min(length - 1 - position, offset))"
    within.change(None, [within], [offset], js=js, api_visibility="private")


def rope(question: Answered) -> list[Any]:
    d_head, length, seed = (question[name] for name in ("d_head", "length", "ropeSeed"))
    _, drawn = computed(positions.rope, figures.rope_figures, d_head=d_head, length=length, seed=seed)
    values = scheme_values("rope", drawn)
    ranges = [gr.update(maximum=length - 1), gr.update(minimum=1 - length, maximum=length - 1)]
    state = {"position": min(question["position"], length - 1)}
    return [told(state=state), *ranges, *(values[name] for name in ("dials", "scores", "matrix", "wavelengths"))]


def alibi_panel() -> None:
    with gr.Row(elem_classes="positions-controls"):
        n_heads, side = option("n_heads"), option("side")
        sides = sides_chips()
    head = head_chips()
    controls = Controls(n_heads=n_heads, side=side, sides=sides, biasHead=head)
    problem = LiveText(classes="problem", role="alert")
    with gr.Column(elem_classes="positions-figures"):
        plots = [LivePlot(classes="alibi-matrix"), LivePlot(classes="alibi-lines")]
        plots.append(LivePlot(classes="alibi-slopes", keep=TABLE, elem_classes="wide"))
    question = Question(["n_heads", "side"], when={"scheme": ["alibi"]}, also=["biasHead"])
    ask(question.change, alibi, [question], [controls, *plots], problem)


def alibi(question: Answered) -> list[Any]:
    options = {name: question[name] for name in ("n_heads", "side")}
    header, drawn = computed(positions.alibi, figures.alibi_figures, **options)
    values = scheme_values("alibi", drawn)
    return [
        told_heads(header["heads"], question["biasHead"]),
        *(values[name] for name in ("matrix", "lines", "slopes")),
    ]


def no_positions_panel() -> None:
    with gr.Row(elem_classes="positions-controls"):
        words = gr.Textbox(
            label=word("Words"),
            lines=1,
            max_lines=1,
            max_length=400,
            interactive=True,
            elem_id="positions-text",
            scale=2,
        )
        orders = {"shuffle": Text("shuffled"), "reverse": Text("reversed")}
        order = chips(orders, "shuffle", label=word("The other order"))
        again = gr.Button(word("Shuffle again"), elem_classes="small-button")
    controls = Controls(sentence=words, wordOrder=order)
    shuffle = NEXT_SEED.format(key="shuffleSeed", seeds=SLIDERS["seed"].high + 1)
    again.click(None, None, None, js=f"() => {{ innerview.set('wordOrder', 'shuffle'); ({shuffle})(); }}")
    problem = LiveText(classes="problem", role="alert")
    with gr.Column(elem_classes="positions-figures"):
        with gr.Column(min_width=0):
            names = {name: NAMES[name] for name in (*SCHEMES, "causal")}
            Controls(modelScheme=chips(names, "none", label=word("Which scheme the model has")))
            between = LivePlot(classes="none-map")
        apart = LivePlot(classes="none-apart")
    keys = ["sentence", "wordOrder", "shuffleSeed"]
    question = Question(keys, when={"scheme": ["none"]}, also=["language"], rest=PAUSE_MS)
    ask(question.change, no_positions, [question], [controls, between, apart], problem)


def no_positions(question: Answered) -> list[Any]:
    text, order, seed = (question[name] for name in ("sentence", "wordOrder", "shuffleSeed"))
    text = translate(EXAMPLE, question["language"]) if text is None else text
    options = {"text": text, "order": order, "seed": seed}
    _, drawn = computed(positions.no_positions, figures.reordered_figures, **options)
    values = scheme_values("none", drawn)
    return [told(state={"sentence": text}), values["map"], values["apart"]]
