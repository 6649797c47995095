"""All figures of the Attention tab for one run and input, packed once and kept while others ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from app.components.live_plot import PackedPlots, Value, by_state, derived_value, pack_plots, text_value
from app.figures.arcs import MOST_TOKENS
from app.figures.attention import one_head
from app.figures.attention_view import CHOSEN, AttentionView
from app.figures.axes import shortened
from app.figures.expressions import Affine, Choose, Clamp, Expression, Fill, Format, Sentences, State
from app.figures.live import Live
from app.routes.runs import file_name
from app.service.attention_figures import attention_figures, stack_views
from app.service.attention_stack import AttentionStack
from app.service.bertviz_frame import MAX_LINES, VIEWS, drawable_layers, lines_needed
from app.service.figure_payload import text_expression
from app.service.runs import run_registry
from app.service.runs.input_arrays import input_arrays
from core.translatable import Text

GROUPS = {
    "blocks": Text("Self-attention"),
    "encoder.blocks": Text("Encoder"),
    "decoder.blocks": Text("Decoder"),
    "decoder.cross": Text("Decoder looks at encoder"),
}
PLACES = ("map", "arcs", "rollout", *VIEWS)  # what the middle of the tab can show
ROW_NUMBERS = (
    1_000_000  # terms of one row at all snapshots and heads; where there are more, they are asked for one by one
)
MANY_HEADS = 6  # in a layer: from more on the grid takes more room


@dataclass(frozen=True)
class AttentionPlots:
    """What the tab shows of one input, ready to be sent; `stacks`: facts about each kind of attention, by name."""

    plots: PackedPlots
    stacks: dict[str, dict[str, Any]]
    strongest: dict[str, Any]  # expressions: the key with the largest weight in the chosen row
    bertviz_caption: Value
    long: bool  # are exact maps, and the arithmetic, asked for one head at a time?

    @property
    def nbytes(self) -> int:
        return self.plots.nbytes

    def values(self, of: dict[str, Any]) -> dict[str, Any]:
        """For the components of the tab, by name."""
        values = self.plots.values(of)
        address = next(value["arrays"] for value in values.values() if value)

        def by_group(name: str) -> Value:
            return by_state("group", {group: values.get(f"{group}/{name}") for group in self.stacks})

        for group, facts in self.stacks.items():
            if (grid := values.get(f"{group}/grid")) and facts["shape"][2] > MANY_HEADS:
                grid["classes"] = "many"
        middle = {
            group: by_state("focus", {name: values.get(f"{group}/{name}") for name in PLACES})
            for group in self.stacks
        }
        return {
            "grid": by_group("grid"),
            "middle": by_state("group", middle),
            "sources": by_group("sources"),
            "report": by_group("report"),
            "bertviz": {"stacks": self.stacks, "arrays": address},
            "bertviz_caption": self.bertviz_caption,
            "derived": derived_value(self.strongest, address),
        }


@run_registry.cached
def attention_plots(run: str, text: str | None, held_out: int | None) -> AttentionPlots:
    arrays, figures, stacks, captions, long = input_arrays(run, text, held_out), {}, {}, {}, False
    steps = [Format("step {step}", step=step) for step in arrays.steps] if arrays.trained else [Format("checkpoint")]
    moment = Choose(State("snapshot"), steps)
    views = stack_views(arrays, file_name(run))
    config = run_registry.open_run(run).run.model.config
    width = max(getattr(config, name, 0) or 0 for name in ("d_model", "d_hidden"))
    for stack in arrays.attention:
        view, name = views[stack.name], stack.name
        figures |= {f"{name}/{place}": figure for place, figure in stack_plots(stack, view).items()}
        stacks[name] = stack.describe() | {
            "layers": {kind: drawable_layers(kind, stack.shape) for kind in VIEWS},
            "steps": arrays.steps,
            "rows": view.queries,
            "columns": view.keys,
            "file": view.file,
        }
        long |= stack.pooled > 0 or prod(stack.shape[:2]) * stack.shape[-1] * width > ROW_NUMBERS
        captions[name] = bertviz_caption(stack, run_registry.open_run(run).run.model, moment)
    strongest = {"key": Choose(State("group"), {name: strongest_key(view) for name, view in views.items()})}
    title = text_expression(run_registry.entry_title(run_registry.open_run(run)))
    about = Fill(
        "{run} · {group} · {step} · {text}",
        run=title,
        group=Choose(State("group"), {name: text_expression(words) for name, words in GROUPS.items()}),
        step=moment,
        text=shortened(arrays.model_input.text, 60),
    )
    packed, caption = pack_plots(figures, about, strongest), text_value(Choose(State("group"), captions))
    return AttentionPlots(packed, stacks, strongest, caption, long)


def bertviz_caption(stack: AttentionStack, model: Any, moment: Expression) -> Expression:
    """What BertViz's view in focus shows and what to do there; nothing where it cannot be drawn."""
    _, layers, heads, _, _ = stack.shape
    fit = {view: drawable_layers(view, stack.shape) for view in VIEWS}
    first = Clamp(State("layer"), 0, layers - fit["model"])
    which = Format(
        "layers {first} to {last} of {layers}", first=first, last=Affine(first, 1, fit["model"] - 1), layers=layers
    )
    if fit["model"] in (1, layers):
        which = (
            Format("layer {first} of {layers}", first=first, layers=layers)
            if fit["model"] == 1
            else Format("all {layers} layers", layers=layers)
        )
    neuron: list[Any] = [
        Format(
            "BertViz neuron view, {moment}: point at a token on the left to see its q, every k, and their products.",
            moment=moment,
        )
    ]
    module: Any = model.get_submodule(stack.points[0].removesuffix(".weights"))
    if abs(getattr(module, "scale", 1) * getattr(module, "d_head", 1) ** 0.5 - 1) > 1e-6:
        neuron.append(Format("The view divides q · k by √d; this model does not."))
    if getattr(model.config, "position", None) in ("alibi", "t5"):
        neuron.append(Format("The weights include this model's position bias, which the view does not draw."))
    sentences = {
        "map": "",  # unknown keys of a choice stand for the first
        "head": Format("BertViz head view, {moment}: one colour per head of layer {layer}. Point at a token; double-click a colour for one head alone.", moment=moment, layer=State("layer")),
        "model": Format("BertViz model view, {moment}: {which}, {heads}. Click a head to enlarge it.", moment=moment, which=which, heads=Format("{n} heads each", n=heads) if heads > 1 else Format("one head each")),
        "neuron": Sentences(neuron),
    }  # fmt: skip
    return Choose(State("focus"), {name: said for name, said in sentences.items() if fit.get(name, 1)})


def stack_plots(stack: AttentionStack, view: AttentionView) -> dict[str, Live]:
    """By where they stand; where something is not drawn for so long an input, the map and the reason."""
    drawn = attention_figures(view)
    plots = {"map": drawn["one_head"], "report": drawn["report_card"]}
    plots |= {name: drawn[name] for name in ("arcs", "rollout", "sources") if name in drawn}
    if prod(stack.shape[1:3]) > 1:
        plots["grid"] = drawn["all_heads"]
    if "arcs" not in plots:
        plots["arcs"] = noted(
            view,
            Format(
                "Arcs are drawn for up to {most} tokens and this input has {length}, so this is the map.",
                most=MOST_TOKENS,
                length=max(stack.shape[-2:]),
            ),
        )
    for name in VIEWS:
        if not drawable_layers(name, stack.shape):
            lines = lines_needed(name, stack.shape)
            about = {"lines": lines, "most": MAX_LINES}
            note = Format(
                "BertViz draws every weight as a line: {lines:,} here, more than the {most:,} it can draw without freezing, so this is the map.",
                **about,
            )
            if name == "neuron":
                note = Format(
                    "BertViz's neuron view draws {lines:,} lines and boxes here, more than the {most:,} it can draw without freezing, so this is the map. Click a cell for its arithmetic.",
                    **about,
                )
            plots[name] = noted(view, note)
    return plots


def noted(view: AttentionView, note: Expression) -> Live:
    live = one_head(view)
    live.caption = Sentences([note, live.caption])
    return live


def strongest_key(view: AttentionView) -> Expression:
    side = max(1, view.pooled)
    keys, _ = view.strongest(-1)
    place = keys[(*CHOSEN, Affine(State("query"), 1 / side, whole=True))]
    return Affine(place, side) if side > 1 else place
