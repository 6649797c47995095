"""What the Build tab answers: the drawing of one or two configurations, what is known of a part, costs as they are measured."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import gradio as gr
import pandas as pd

from app.components.live_plot import plot_values, text_value
from app.components.page_state import told
from app.figures.build import activations as activations_figure
from app.figures.build import parameter_treemap
from app.figures.diagram_drawing import Words
from app.figures.diagram_layout import walk_parts
from app.i18n import translate
from app.routes.build import shown_diagram
from app.service.build import activations, costs, model_plan
from app.service.build.part_html import first_point, part_html
from app.service.build.requests import BuildQuestion, ConfigBody, DiagramBody, PlanBody
from app.service.build.to_train import RecipeChoice, model_to_train, recipe_to_train
from app.service.runs import run_registry
from app.service.runs.model_slots import MODEL_SLOTS
from core import ConfigError, InputError, Text
from core.config.families import Config

DRAWN, DESCRIBED = 13, 5  # outputs of `draw` and `describe`
POINTS_SHOWN = 24  # of those inside a part
STILL = Text("The drawing still shows the last configuration that could be built.")
Answer = dict[str, Any]


def draw(value: dict[str, Any]) -> list[Any]:
    """Both configurations: see the outputs in `app.tabs.build.build_tab`. One that cannot be is explained beside its
    option, and everything else stays as it is.
    """
    question = BuildQuestion.read(value)
    try:
        bodies = question.bodies()
        plans = {side: body.plan() for side, body in bodies.items()}
    except ConfigError as error:
        sentence = translate(Text("{sentence} {still}", sentence=error.text, still=STILL), question.language)
        return [told(state={"refused": error.option, "refusal": sentence}), *[gr.skip()] * (DRAWN - 1)]
    if not bodies:
        return [gr.skip()] * DRAWN
    side, language, comparing = question.side, question.language, len(plans) == 2
    plan, config = plans[side], bodies[side].config()
    state = {
        "built": {
            "run": own.model_dump() if (own := question.of_run()) else None,
            **{one: _built(body, plans[one]) for one, body in bodies.items()},
        },
        "compared": 1 + (side == "b") if comparing else 0,
        "refused": None,
        "refusal": "",
    }
    differs = model_plan.differing_parts(*plans.values()) if comparing else []
    drawings = [_drawing(bodies.get(one), plans.get(one), one, language, comparing, differs) for one in "ab"]
    cost_values, measurable = predicted(config)
    return [
        told(state=state),
        *drawings,
        text_value(whose(question, config)),
        *_difference_table(plans, language),
        plan["python"],
        plot_values({"treemap": parameter_treemap(plan)})["treemap"],
        "\n".join(f"- {translate(note, language)}" for note in plan["notes"]),
        *cost_values,
        gr.update(visible=bool(measurable)),
        None if measurable else text_value(Text("Too large to run here: predicted only.")),
    ]


def _built(body: ConfigBody, plan: Answer) -> Answer:
    foldable = [part["id"] for part in walk_parts(plan["root"]) if part["rows"] and part["path"]]
    return {"family": body.family, "options": body.options, "foldable": foldable}


def _drawing(
    body: PlanBody | None, plan: Answer | None, side: str, language: str, comparing: bool, differs: list[str]
) -> Answer | None:
    if body is None or plan is None:
        return None
    drawn = DiagramBody(**body.model_dump(), language=language).diagram()
    name = plan["preset"] or plan["family"]
    return {
        "title": f"{side.upper()} · {name}" if comparing else name,
        "question": body.model_dump(),
        "drawn": shown_diagram(drawn),
        "differs": differs,
    }


def whose(question: BuildQuestion, config: Config) -> Text:
    """Whose model it is: the run's, one of a ready-made size, or one's own."""
    if question.run is not None:
        loaded = run_registry.open_run(question.run)
        if loaded.run.model.config == config:
            title = run_registry.entry_title(loaded)
            return Text("This is the model of the run you are looking at: {title}.", title=title)
    preset = model_plan.preset_of(config)
    help = model_plan.family_help(config.family)
    if preset:
        return Text("{help}. A ready-made size, {name}: untrained.", help=help, name=preset)
    return Text("{help}. A configuration of your own: untrained.", help=help)


def _difference_table(plans: dict[str, Answer], language: str) -> list[Any]:
    """The table, which is hidden where there is nothing to compare, and its caption."""
    if len(plans) < 2:
        return [gr.update(visible=False), None]
    rows = model_plan.differences(*plans.values())
    cells = [[translate(cell, language) if isinstance(cell, Text) else cell for cell in row] for row in rows]
    ratio = plans["b"]["parameters"] / plans["a"]["parameters"]
    caption = Text(
        "B has {ratio:.2f} times the parameters of A. What differs is marked in both drawings.", ratio=ratio
    )  # fmt: skip
    table = pd.DataFrame(cells, columns=pd.Index(["", "A", "B"]))
    none = Text("No difference yet: change an option of B.")
    return [gr.update(value=table, visible=True), text_value(caption if len(rows) > 1 else none)]


@lru_cache(maxsize=64)
def _predicted(config: Config) -> Answer:
    return costs.predict_costs(config)


def predicted(config: Config, measured: list[Answer] | None = None) -> tuple[list[Any], list[int]]:
    """Operations and memory by length as plots, with what has been measured; and which lengths can be."""
    prediction = _predicted(config)
    values = plot_values(costs.cost_figures(prediction, measured or []))
    return [values["operations"], values["memory"]], prediction["measurable"]


def measure(value: dict[str, Any]) -> Iterator[list[Any]]:
    """One length after the other, each drawn as it comes: status, operations, memory, and the two buttons."""
    question = BuildQuestion.read(value)
    config = question.bodies()[question.side].config()
    measured: list[Answer] = []
    for length in _predicted(config)["measurable"]:
        status = text_value(Text("measuring {n:,} tokens …", n=length))
        yield [status, *predicted(config, measured)[0], gr.update(visible=False), gr.update(visible=True)]
        with MODEL_SLOTS:
            measured.append(costs.measure_costs(config, length))
    yield [None, *predicted(config, measured)[0], *measuring_stopped()[1:]]


def measuring_stopped() -> list[Any]:
    """Status and the two buttons."""
    return [None, gr.update(visible=True), gr.update(visible=False)]


def describe(value: dict[str, Any]) -> list[Any]:
    """The selected part: names of the points in it, its heads, words, code that captures it, and what flows there now."""
    question = BuildQuestion.read(value)
    body = question.bodies().get(question.side)
    if body is None:
        return [gr.skip()] * DESCRIBED
    plan = body.plan()
    parts = {part["id"]: part for part in walk_parts(plan["root"])}
    part = parts.get(question.part or "") or first_point(plan["root"])
    words = Words(plan["family"], question.copies, question.language)
    path, is_point = words.path(part), part["kind"] == "point"
    inside = [one for one in walk_parts(part) if one["kind"] == "point"] if not is_point else []
    prefix = f"{part['path']}." if part["path"] else ""
    choices = [(one["path"].removeprefix(prefix), one["id"]) for one in inside[:POINTS_SHOWN]]
    side = f"{question.side.upper()} · " if question.build.b else ""
    pattern = path if is_point else f"{path}.*" if path else "*"
    code = f'core.capture(model, "{pattern}")' if is_point or inside else ""
    plot, heads, refusal = None, [], None
    if is_point:
        try:
            plot, heads = _activations(question, body, path)
        except InputError as error:
            if getattr(error, "again", False):
                raise
            refusal = text_value(error.text)
    return [
        told(
            choices={"part": choices, "partHead": heads},
            visible={"part": bool(choices), "partHead": len(heads) > 1},
        ),
        part_html(part, path or plan["family"], question.language, side),
        gr.update(value=code, visible=bool(code)),
        plot,
        refusal,
    ]


def _activations(question: BuildQuestion, body: PlanBody, path: str) -> tuple[Answer | None, list[tuple[str, int]]]:
    """A plot of the tensor at a capture point, and its heads as choices."""
    config, problem = body.config(), question.input()
    with MODEL_SLOTS:
        header, arrays = activations.point_activations(
            config, path, question.run, problem, body.time, body.target_time
        )
    view = activations.activations_view(config, path, header, arrays["values"])
    plot = plot_values({"activations": activations_figure(view)})["activations"]
    return plot, [(str(head), head) for head in range(view.values.shape[1])]


def train_this(value: dict[str, Any], recipe: dict[str, Any]) -> list[Any]:
    """The drawn model as the recipe that is trained next."""
    question = BuildQuestion.read(value)
    config = question.bodies()[question.side].config()
    chosen = recipe_to_train(config, RecipeChoice.model_validate(recipe["recipe"]))
    return [told(state={"recipe": chosen.model_dump()})]


def to_be_trained(value: dict[str, Any], recipe: dict[str, Any]) -> list[Any]:
    """The model of the recipe that is trained next, as the configuration that is drawn."""
    question = BuildQuestion.read(value)
    config = model_to_train(RecipeChoice.model_validate(recipe["recipe"]))
    build = question.build.model_copy(update={question.side: ConfigBody.of(config)})
    fold = {"folded": {"open": None, "unrolled": []}, "copies": {}, "part": None}
    return [told(state={"build": build.model_dump(), **fold})]
