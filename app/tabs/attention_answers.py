"""Answers to the events of the Attention tab."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app import payload
from app.components.live_plot import plot_values, text_value
from app.components.page_state import told
from app.figures.arithmetic import cell_numbers, score_terms
from app.figures.attention import one_head
from app.figures.attention_view import AttentionView
from app.figures.rollout import rollout
from app.i18n import in_all_languages
from app.routes.runs import InputRequest, file_name, load_input
from app.service import attention_arithmetic
from app.service.array_store import array_store
from app.service.attention_figures import exact_view, stack_views
from app.service.attention_focus import clearest_head, most_telling, strongest_cell
from app.service.bertviz_frame import MAX_NUMBERS
from app.service.inputs import AnyRun, ModelInput
from app.service.runs import run_registry
from app.service.runs.input_arrays import input_arrays
from app.service.runs.model_slots import exclusive_run
from app.tabs.attention_plots import GROUPS, AttentionPlots, attention_plots
from core import InputError
from core.translatable import Text

INPUT = ["run", "text", "heldOut", "version"]
CHOICE = ["attentionOf", "group", "layer", "head", "query", "key", "snapshot", "focus"]
PARTS = (
    "grid",
    "middle",
    "sources",
    "report",
    "bertviz",
    "bertviz_caption",
    "derived",
)  # what `show_attention` fills, in order
FOCUS = {
    "map": Text("Map"),
    "arcs": Text("Arcs"),
    "rollout": Text("Rollout"),
    "head": Text("BertViz head"),
    "model": Text("BertViz model"),
    "neuron": Text("BertViz neuron"),
}
FAMILIES = {"rnn": Text("an RNN"), "gru": Text("a GRU"), "lstm": Text("an LSTM"), "seq2seq": Text("a seq2seq model")}
RECURRENT = ("rnn", "gru", "lstm")
Asked = dict[str, Any]  # keys of the page's state


def show_attention(asked: Asked) -> list[Any]:
    """The figures of the tab, what is looked at first, and which of the tab's two halves is shown: figures, or that there is
    no attention and where there is some.
    """
    run, answer = asked["run"], attention_plots(*input_of(asked))
    if not answer.stacks:
        config: Any = run_registry.open_run(run).run.model.config
        family = FAMILIES.get(str(config.family), Text("a model of another kind"))
        nothing = Text(
            "This run is {family}: it has no attention. Its gates and states are under Gates.", family=family
        )
        state = {"attentionOf": identity(asked), "group": None, "long": False}
        runs = [(one["title"], one["name"]) for one in run_registry.list_runs() if one["family"] not in RECURRENT]
        return [*[None] * len(PARTS), told(state, {"attending": runs}), *halves(False), text_value(nothing)]
    values = answer.values(dict(zip(INPUT, identity(asked), strict=True)))
    return [*(values[part] for part in PARTS), choose_focus(asked, answer), *halves(True), None]


def halves(attends: bool) -> list[Any]:
    return [*(gr.update(visible=attends) for _ in range(3)), gr.update(visible=not attends)]


def input_of(asked: Asked) -> tuple[str, str | None, int | None]:
    """Run, text, and the number of a held-out problem where there is no text."""
    return asked["run"], asked["text"], asked["heldOut"] if asked["text"] is None else None


def identity(asked: Asked) -> list[Any]:
    return [asked.get(key) for key in INPUT]


def choose_focus(asked: Asked, answer: AttentionPlots) -> dict[str, Any]:
    """Kind of attention, head and cell: those of before as far as they are of the same run and input, else the clearest."""
    views = stack_views(input_arrays(*input_of(asked)), "")
    before, group = asked.get("attentionOf") or [None], asked.get("group")
    same_run = before[0] == asked["run"] and group in views
    if not same_run:
        entry = run_registry.run_entries().get(asked["run"])
        group = (entry.focus.get("group") if entry else None) or most_telling(views)
    assert group is not None
    view, layer, head = views[group], asked.get("layer") or 0, asked.get("head") or 0
    query, key = asked.get("query"), asked.get("key")
    _, layers, heads, _, _ = view.weights.values.shape
    if not same_run or layer >= layers or head >= heads:
        layer, head, _ = clearest_head(view)
    if before != identity(asked) or not _within(query, view.queries) or not _within(key, view.keys):
        query, key = strongest_cell(view, asked.get("snapshot") or 0, layer, head)
    state = {"attentionOf": identity(asked), "group": group, "long": answer.long, "hasTraining": view.trained}
    return offered(
        answer, view, {**state, "layer": layer, "head": head, "query": query, "key": key}, asked.get("focus")
    )


def _within(index: int | None, tokens: list[str]) -> bool:
    return index is not None and index < len(tokens)


def choose_group(asked: Asked, group: str) -> list[Any]:
    """The head to look at in another kind of attention; its strongest key follows (`strongest_key`)."""
    answer, view = attention_plots(*input_of(asked)), stack_views(input_arrays(*input_of(asked)), "")[group]
    layer, head, _ = clearest_head(view)
    query, _ = strongest_cell(view, len(view.steps) - 1, layer, head)
    return [offered(answer, view, {"group": group, "layer": layer, "head": head, "query": query}, asked.get("focus"))]


def offered(answer: AttentionPlots, view: AttentionView, state: dict[str, Any], focus: str | None) -> dict[str, Any]:
    """What is told to the controls: their keys, and what they offer for this kind of attention."""
    ways = {name: text for name, text in FOCUS.items() if name != "rollout" or view.rollout is not None}
    if focus not in (None, *ways):
        state = {**state, "focus": "map"}
    _, layers, heads, _, _ = view.weights.values.shape
    choices = {
        "group": [(in_all_languages(GROUPS[name]), name) for name in answer.stacks if name in GROUPS],
        "focus": [(in_all_languages(text), name) for name, text in ways.items()],
        "layer": [(str(layer), layer) for layer in range(layers)],
        "head": [(str(head), head) for head in range(heads)],
    }
    return told(state, choices, {name: len(choices[name]) > 1 for name in ("group", "layer", "head")})


def explain_row(asked: Asked) -> list[Any]:
    """The arithmetic of the chosen query with every key: at all snapshots and heads, or at those in `asked` alone."""
    request = asked_input(asked)
    if request is None or asked["query"] is None:
        return [gr.skip(), gr.skip()]
    run, _, arrays = request.run, request.text, input_arrays(request.run, request.text, request.held_out)
    view = stack_views(arrays, file_name(run))[asked["group"]]
    points = points_of(asked)
    steps = arrays.steps
    if "snapshot" in asked:
        steps, points = [steps[min(asked["snapshot"], len(steps) - 1)]], [points[asked["layer"]]]
    with exclusive_run(run) as model_run:
        row = attention_arithmetic.row_arithmetic(
            model_run, load_input(request, model_run), steps, points, asked["query"]
        )
    of = {**asked_keys(asked), **{key: asked[key] for key in ("group", "query", "layer", "snapshot") if key in asked}}
    values = plot_values({"numbers": cell_numbers(view, row), "terms": score_terms(view, row)}, of=of)
    return [values["numbers"], values["terms"]]


def show_exact(asked: Asked) -> list[Any]:
    """The map or the rollout of a long input as it is, for this head and snapshot alone."""
    request = asked_input(asked)
    if request is None or not stack_of(asked)["pooled"]:
        return [gr.skip()]
    points, steps = points_of(asked), input_arrays(request.run, request.text, request.held_out).steps
    step, layer = steps[min(asked["snapshot"], len(steps) - 1)], asked["layer"]
    with exclusive_run(request.run) as run:
        model_input, file = load_input(request, run), file_name(request.run)
        if asked["focus"] == "rollout":
            live = rollout(exact_rollout(run, model_input, step, points[: layer + 1], file))
        else:
            weights, allowed = attention_arithmetic.exact_head(run, model_input, step, points[layer], asked["head"])
            live = one_head(exact_view(run, model_input, points[layer], step, weights, allowed, file))
    only = {**asked_keys(asked), **{key: asked[key] for key in ("group", "focus", "layer", "snapshot")}}
    if asked["focus"] != "rollout":
        only["head"] = asked["head"]
    return [plot_values({"exact": live}, only=only)["exact"]]


def exact_rollout(run: AnyRun, model_input: ModelInput, step: int, points: list[str], file: str) -> AttentionView:
    shares = attention_arithmetic.exact_rollout(run, model_input, step, points)
    return exact_view(run, model_input, points[-1], step, shares, None, file)


def show_vectors(asked: Asked) -> list[Any]:
    """BertViz's value with the queries and keys, (layer, head, time, unit), that its neuron view needs."""
    request = asked_input(asked)
    if request is None or not (fit := stack_of(asked)["layers"]["neuron"]):
        return [gr.skip()]
    points, steps = points_of(asked), input_arrays(request.run, request.text, request.held_out).steps
    first = max(0, min(asked["layer"], len(points) - fit))
    points = points[first : first + fit]
    with exclusive_run(request.run) as run:
        model_input = load_input(request, run)
        check_size(run, model_input, points)
        step = steps[min(asked["snapshot"], len(steps) - 1)]
        queries, keys, _ = attention_arithmetic.query_key_vectors(run, model_input, step, points)
    packed = payload.pack({}, {"queries": queries.numpy(), "keys": keys.numpy()})
    vectors = {
        "arrays": array_store.address(packed),
        "of": {key: asked[key] for key in ("attentionOf", "group", "snapshot")},
        "layers": [first, first + fit],
    }
    values = attention_plots(*input_of(asked_keys(asked))).values({})
    return [{**values["bertviz"], "vectors": vectors}]


def check_size(run: AnyRun, model_input: ModelInput, points: list[str]) -> None:
    numbers = sum(shape.numel() for shape in attention_arithmetic.query_key_shapes(run.model, model_input, points))
    if numbers > MAX_NUMBERS:
        raise InputError(
            "Queries and keys are {numbers:,} numbers here, more than the {most_numbers:,} this view "
            "can hold. Try a shorter input.",
            numbers=numbers,
            most_numbers=MAX_NUMBERS,
        )


def asked_keys(asked: Asked) -> Asked:
    """Run and input that the chosen head and cell are of."""
    return dict(zip(INPUT, asked["attentionOf"] or [None] * len(INPUT), strict=True))


def asked_input(asked: Asked) -> InputRequest | None:
    """None before there is a kind of attention to ask about."""
    if not asked["attentionOf"] or not asked["group"]:
        return None
    run, text, held_out = input_of(asked_keys(asked))
    return InputRequest(run=run, text=text, held_out=held_out)


def stack_of(asked: Asked) -> dict[str, Any]:
    return attention_plots(*input_of(asked_keys(asked))).stacks[asked["group"]]


def points_of(asked: Asked) -> list[str]:
    """The modules of the chosen kind of attention, one a layer."""
    return [point.removesuffix(".weights") for point in stack_of(asked)["points"]]
