"""The runs as they learn: the events behind the right column of the Train tab."""

from __future__ import annotations

import time
from typing import Any

import gradio as gr

from app.components.live_plot import plot_values, text_value
from app.components.page_state import told
from app.figures.expressions import Affine, Choose, Expression, Fill, Format, State
from app.figures.train_problems import held_out_problems
from app.i18n import translate, translate_all
from app.service.figure_payload import text_expression
from app.service.runs.job_service import job_service
from app.service.training import commands, figures
from app.service.training.job_view import job_facts
from app.service.training.menu import fresh_recipe, options_of_parts, variants_of
from app.service.training.probes import probe_at
from app.service.training.run_titles import run_title, short_names
from app.tabs.train.recipe import Question, body_of, language_of
from core import ConfigError, InputError, Text
from core.jobs import Job

RUNNING = ("running", "queued")
STATUS = {
    "queued": Text("waiting"), "running": Text("training"), "paused": Text("paused"), "done": Text("trained"),
    "stopped": Text("stopped"), "failed": Text("failed"),
}  # fmt: skip
ORDERS = ("pause", "go", "step", "stop", "rewind", "fork")


class Runs(gr.HTML):
    """The page's half, `static/js/train.js`: the runs on the list, their stream, the pace at which they are shown. Its
    value, {"job", "order"}, tells it what an event answered.
    """

    def __init__(self) -> None:
        super().__init__(
            value=None,
            html_template="<i hidden></i>",
            js_on_load="import(new URL('ours/js/train.js', document.baseURI)).then(({ trainingRuns }) => trainingRuns(element, props, watch))",
            apply_default_css=False,
            elem_classes=["page-state"],
        )

    def get_block_name(self) -> str:
        return "html"


def page_of(question: Question) -> str:
    """The name that a page gives itself, for a fair share of the workers: a guard against mistakes, not against abuse."""
    return str(question.get("trainPage"))[:40]


def answer_of(job: dict[str, Any], order: str) -> dict[str, Any]:
    return translate_all({"job": job, "order": order, "at": time.time()})


def start(question: Question) -> list[Any]:
    return [answer_of(commands.start(body_of(question), page_of(question)), "start")]


def command(order: str, question: Question) -> list[Any]:
    """What a button asks of the run in focus; while it is shown at a slower pace than it was trained, the page holds it."""
    seen = question["trainJob"] or {}
    job = job_service.job(str(seen.get("key")))
    shown_later = bool(seen.get("behind"))
    idle = {"pause": job.status not in RUNNING, "step": True, "go": job.status not in ("paused", "stopped", "failed")}
    if shown_later and idle.get(order, False):
        return [answer_of(job_facts(job), order)]
    return [answer_of(commands.command(job.key, order, page_of(question)), order)]


def refusals(seen: dict[str, Any]) -> dict[str, Text | None]:
    """By button: why it cannot be pressed now."""
    status, begun, later, held = (seen.get(name) for name in ("status", "begun", "behind", "held"))
    running, playing = status in RUNNING, bool(later) and not held
    at_end = Text("It has reached its last step: rewind it, fork it with more steps, or watch it again.")
    not_running = Text("It is not being trained now.")
    missing = (
        Text("Nothing of it is stored yet: wait a moment.")
        if begun or running
        else Text("It stands at its start: train it for at least one step first.")
    )
    ended = status == "done" and not later
    return {
        "pause": None if (running and not (later and held)) or playing else not_running,
        "go": Text("It is being trained already.") if (running and not held) or playing else at_end if ended else None,
        "step": at_end if ended else None if (status == "paused" and not later) or (later and held) else Text("Pause it first: then it can be moved step by step."),
        "stop": None if running or status == "paused" else not_running,
        "rewind": None if begun else Text("It stands at its start."),
        "fork": None if seen.get("forkable") else missing,
        "look": None if seen.get("stored") is not None else missing,
        "again": None if begun else Text("It stands at its start."),
    }  # fmt: skip


def hint_of(seen: dict[str, Any]) -> Text:
    """What can be done with the run now, and why the rest cannot."""
    status = seen.get("status")
    if seen.get("behind") and not seen.get("held"):
        return Text(
            "You watch it at the pace chosen below; it is the same run, only slower. Pause holds it, then it goes step by step."
        )
    if seen.get("behind"):
        return Text("Held. One step shows the next one; Continue goes on at the pace chosen below.")
    if status in RUNNING:
        return Text(
            "Pause holds it where it is, to go on or step by step; Stop ends it here and gives its worker to others, and it can still be continued later. Step by step only while it is paused."
        )
    if status == "paused" and not seen.get("begun"):
        return Text(
            "It stands at its start: continue, and it takes exactly the same path. There is nothing to fork or to look into yet."
        )
    if status == "paused":
        return Text("It keeps its worker's place while it is paused: continue, make one step, or stop it.")
    if status == "done":
        return Text(
            "It has reached its last step: Rewind sets it back to the same random start, Fork trains on from any step with other options."
        )
    return Text("It ended before its last step and can be continued; Rewind sets it back to the same random start.")


def focus_values(question: Question) -> list[Any]:
    """Title and status of the run in focus, which buttons can be pressed, and what was noticed about it."""
    seen, language = question["trainJob"], language_of(question)
    if not seen:
        return [None, None, None, *[gr.update(interactive=False)] * 8, *[None, gr.update(visible=False)] * 2]
    job = job_service.job(str(seen["key"]))
    why = refusals(seen)
    buttons = [gr.update(interactive=why[name] is None) for name in (*ORDERS, "again", "look")]
    noticed = job.probe_results.diagnoses[:2]
    rows: list[Any] = []
    for one in noticed:
        remedy = translate(one["remedy"], language) if one["remedy"] else ""
        rows += [text_value(one["what"]), gr.update(value=remedy, visible=bool(remedy))]
    rows += [None, gr.update(visible=False)] * (2 - len(noticed))
    if job.problem and not noticed:
        rows[0] = text_value(job.problem)
    return [
        text_value(run_title(job.recipe, job.seed)),
        text_value(status_line(job, seen)),
        text_value(hint_of(seen)),
        *buttons,
        *rows,
    ]


def status_line(job: Job, seen: dict[str, Any]) -> Expression:
    parts: list[Any] = [text_expression(STATUS[job.status])]
    index, steps = State("trainIndex"), job.recipe.training.steps
    parts.append(Format("step {step:,} of {last:,}", step=index, last=steps))
    if seen.get("behind"):
        parts.append(Format("already trained to step {step:,}", step=State("trainMade")))
    if job.status == "running":
        left = State("trainLeft")
        minutes = Format("about {m} min left", m=Affine(left, 1 / 60, 0.5, whole=True))
        about = Choose(Affine(left, 1 / 90, whole=True), [Format("about {s} s left", s=left), minutes])
        parts.append(Choose(left, ["…", about]))
    queue = [waiting.key for waiting in job_service.jobs.queued]
    if job.key in queue:
        parts.append(Format("place {place} in the queue", place=queue.index(job.key) + 1))
    if job.status in RUNNING:
        runs, workers = len(job_service.jobs.in_progress), job_service.jobs.size
        if runs > workers:
            parts.append(Format("{runs} runs take turns, {workers} at a time", runs=runs, workers=workers))
    accuracy = job.probe_results.accuracy
    if accuracy is not None and job.status in ("done", "stopped"):
        parts.append(Format("{share:.1%} on held-out problems", share=accuracy))
    line = parts[0]
    for part in parts[1:]:
        line = Fill("{line} · {part}", line=line, part=part)
    return line


def list_values(question: Question) -> list[Any]:
    """The runs on the list by name, those on the charts by number."""
    shown, language = question["trainRuns"] or [], language_of(question)
    jobs = [(job_service.find(str(key)), number, visible) for key, number, visible, *_ in shown]
    found = [(job, number, visible) for job, number, visible in jobs if job is not None]
    names = short_names([(job.recipe, job.seed, job.key) for job, *_ in found])
    runs = [
        (_run_name(job, number, name, language, len(found) > 1), job.key)
        for (job, number, _), name in zip(found, names, strict=True)
    ]
    numbers = [(str(number), job.key) for job, number, _ in found]
    return [
        gr.update(choices=runs, value=question["trained"], visible=bool(runs)),
        gr.update(choices=numbers, value=[job.key for job, _, visible in found if visible], visible=len(runs) > 1),
        gr.update(visible=bool(runs)),
    ]


def _run_name(job: Job, number: int, name: Text, language: str, several: bool) -> str:
    accuracy = job.probe_results.accuracy
    ended = job.status not in (*RUNNING, "paused") and accuracy is not None
    share = f"{accuracy:.0%}" if ended else translate(STATUS[job.status], language)
    title = translate(name if several else run_title(job.recipe, job.seed), language)
    return f"{number} · {title} · {share}"


def chart_values(question: Question) -> list[Any]:
    """The charts of the runs that are shown; their numbers reach the page by the stream."""
    width, focus = question["trainWidth"] or 0, question["trained"]
    shown = [run for run in question["trainRuns"] or [] if run[2]]
    language = language_of(question)
    jobs = [(job_service.find(str(run[0])), run) for run in shown]
    found = [(job, run) for job, run in jobs if job is not None]
    if not found or width < 160:
        return [None]
    names = short_names([(job.recipe, job.seed, job.key) for job, _ in found])
    runs = [
        figures.ShownRun(job.key, run[1], translate(name, language), bool(run[6]))
        for (job, run), name in zip(found, names, strict=True)
    ]
    runs.sort(key=lambda run: run.key == focus)  # the one in focus on top
    spec = figures.charts(runs, str(focus), width, any(run[7] for _, run in found))
    keys = [run.key for run in runs]
    return [{"spec": spec, "arrays": "#train", "runs": keys, "focus": focus if focus in keys else keys[-1]}]


def inside_values(question: Question) -> list[Any]:
    """What the run in focus says and looks at, at the step that is shown."""
    sight, width = question["trainSight"], question["trainWidth"] or 0
    if not sight:
        return [None, None, None]
    probe = probe_at(str(sight["key"]), int(sight["step"]) if sight.get("kept") else None)
    if probe is None:
        return [None, None, None]
    plain = translate_all(dict(probe))
    named = (
        {"problems": held_out_problems(plain["problems"], probe["step"], str(sight["key"]))}
        if plain["problems"]
        else {}
    )
    if probe["heads"] or probe["gates"]:
        named["inside"] = figures.inside_maps(str(sight["key"]), probe, max(96, figures.inside_width(width)))
    values = plot_values(named) if named else {}
    pinned = question["trainPinned"]
    note = (
        text_value(Format(
            "Step **{step:,}** was clicked in the chart: the pictures below and “Look inside” are of the nearest step whose weights were kept, **{kept:,}**.", step=pinned, kept=probe["step"]))
        if pinned is not None
        else None
    )  # fmt: skip
    return [values.get("problems"), values.get("inside"), note]


def remedy(index: int, question: Question) -> list[Any]:
    """Trains the change that would help beside the run it was noticed about."""
    seen = question["trainJob"] or {}
    job = job_service.job(str(seen.get("key")))
    one = job.probe_results.diagnoses[index]
    recipe = recipe_of_run(job, one["changes"], one["variant"])
    file = question.get("file") or {}
    own = getattr(job.recipe.task, "content", None)
    if own is not None and own.digest != file.get("digest"):
        raise InputError("This run was trained on a file. Choose the file again to train on it.")
    started = commands.start(body_of({**question, "recipe": recipe}), page_of(question))
    return [answer_of(started, "start"), told(state={"recipe": recipe})]


def recipe_of_run(job: Job, changes: dict[str, Any] | None = None, variant: str | None = None) -> dict[str, Any]:
    """The choice on the page that makes a run, with changes: of each part, what differs from its variant."""
    recipe, changes = job.recipe, changes or {}
    choice = fresh_recipe(recipe.family, recipe.task.name, variant, job.seed)
    base = variants_of(recipe.family, recipe.task.name).get(choice["variant"], {})
    values = {
        "task_options": recipe.task.to_dict(),
        "model": recipe.model.to_dict(),
        "training": recipe.training.to_dict(),
    }
    of = {"task_options": recipe.task.name, "model": recipe.family, "training": ""}
    for part, options in options_of_parts().items():
        wanted = {**values[part], **changes.get(part, {})}
        usual = {o.name: base.get(part, {}).get(o.name, o.default) for o in options[of[part]]}
        choice[part] = {name: wanted[name] for name in usual if name in wanted and wanted[name] != usual[name]}
    return choice


# Forks


def open_fork(question: Question) -> list[Any]:
    """The panel of a fork of the run in focus: from the kept step nearest to the one that was clicked."""
    job = job_service.job(str((question["trainJob"] or {}).get("key")))
    steps = job_facts(job)["forkable"] or []
    if not steps:
        raise InputError("Nothing of this run is stored yet. Pause it, then fork it.")
    pinned, language = question["trainPinned"], language_of(question)
    aim = steps[-1] if pinned is None else min(steps, key=lambda step: abs(step - pinned))
    base = {"model": job.recipe.model.to_dict(), "training": job.recipe.training.to_dict()}
    names = [(translate(Text("step {step:,}", step=step), language), step) for step in steps]
    recipe = {"family": job.recipe.family, "task": "", "base": base, "model": {}, "training": {}, "task_options": {}}
    return [
        gr.update(visible=True),
        text_value(Text("Fork of {title}", title=run_title(job.recipe, job.seed))),
        gr.update(choices=names, value=aim),
        gr.update(value=job.seed),
        told(state={"fork": {**recipe, "of": job.key}}),
        None,
    ]


def fork(step: int, seed: float | None, question: Question) -> list[Any]:
    changes = question["fork"] or {}
    job = job_service.job(str(changes.get("of")))
    if seed is None or seed != int(seed):
        raise ConfigError("seed", seed, Text("it must be a whole number."), Text("Use 0 or more."))
    body = commands.ForkBody(
        step=int(step),
        seed=None if int(seed) == job.seed else int(seed),
        model=changes["model"],
        training=changes["training"],
    )
    return [answer_of(commands.fork(job.key, body, page_of(question)), "fork"), gr.update(visible=False)]
