"""Endpoints that open a run and let its model read a text: what `/runs` lists, runs by their key, and checkpoints."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from gradio import FileData
from plotly.io.json import to_json_plotly
from pydantic import Field

from app.api.endpoint import InputText, Name, RunName, Step
from app.api.result_files import result_files
from app.service.captures import capture_points, snapshot_index, snapshot_step
from app.service.evaluation import evaluate_run
from app.service.generation.generation import make_prompt, write_texts
from app.service.inputs import read_input, token_axes
from app.service.measure_rows import head_rows, unit_rows
from app.service.run_figures import figure_at, figure_names, run_figure
from app.service.runs import run_registry
from app.service.runs.input_arrays import input_arrays
from app.service.runs.model_slots import exclusive_run
from app.service.snapshot_arrays import SnapshotArrays

Length = Annotated[int, Field(ge=1)]
State = dict[str, str | int | float | None]


def runs() -> list[dict[str, Any]]:
    """List the runs and checkpoints that can be opened by name; a run that was trained here is opened by its key.

    Returns:
        One entry a run: name, title, family, task, seed, accuracy on held-out problems; of a checkpoint only name and title
    """
    facts = ("name", "family", "task", "seed", "accuracy")
    return [{"title": run["title"]["en"], **{name: run[name] for name in facts}} for run in run_registry.list_runs()]


def look(run: RunName, text: InputText | None = None) -> tuple[dict[str, Any], FileData]:
    """Let a run read a text at every snapshot of its training; get its tokens and heads, and all arrays as a file.

    Parameters:
        run: Name or key of a run
        text: What it reads, in the tokens of its task; None: the first held-out problem
    Returns:
        text, tokens by axis, steps of the snapshots, heads with roles and measures at the last one, layers of gates, names of figures
        safetensors file: weights (snapshot, layer, head, query, key), measures (snapshot, layer, head), gates and states (snapshot, time, unit)
    """
    arrays = input_arrays(run, text)
    loaded = run_registry.open_run(run)
    tensors, units = _tensors(arrays)
    facts = {
        "run": run,
        "text": arrays.model_input.text,
        "tokens": token_axes(arrays.model_input, arrays.downsample),
        "steps": arrays.steps,
        "heads": head_rows(arrays, len(arrays.steps) - 1),
        "layers": [
            {"point": layer.name, "axis": layer.axis, "points": list(layer.points)} for layer in arrays.recurrent
        ],
        "units": units,
        "figures": figure_names(loaded, arrays),
    }
    metadata = {name: facts[name] for name in ("run", "text", "tokens", "steps", "units")}
    return facts, result_files.save("arrays", tensors, metadata)


def _tensors(arrays: SnapshotArrays) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """All arrays by name, and what 1 stands for in those that are bytes."""
    tensors: dict[str, np.ndarray] = {}
    for stack in arrays.attention:
        tensors[f"{stack.name}.weights"] = stack.weights.numpy()
        tensors |= {f"{stack.name}.{name}": values.numpy() for name, values in stack.measures.items()}
        if stack.rollout is not None:
            tensors[f"{stack.name}.rollout"] = stack.rollout.numpy()
    units = {name: 1 / 255 for name, values in tensors.items() if values.dtype == np.uint8}
    for layer in arrays.recurrent:
        tensors |= {f"{layer.name}.{point}": values.numpy() for point, values in layer.points.items()}
    return tensors, units


def capture(
    run: RunName, text: InputText | None = None, pattern: Name = "*.weights", step: Step | None = None
) -> FileData:
    """Capture tensors of a run's model while it reads a text, exactly as `core.capture` has them.

    Parameters:
        run: Name or key of a run
        text: What it reads, in the tokens of its task; None: the first held-out problem
        pattern: Which points, as a file pattern: "*.weights", "blocks.0.*", "*" for all
        step: Training step of a snapshot; None: the last
    Returns:
        safetensors file: a tensor for every point, by its name
    """
    with exclusive_run(run) as opened:
        model_input = read_input(opened, text)
        at = snapshot_step(opened, step)
        tensors = capture_points(opened, model_input, pattern, at)
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    facts = {
        "run": run,
        "text": model_input.text,
        "step": at,
        "tokens": model_input.source,
        "decoder_tokens": model_input.decoder_tokens,
    }
    return result_files.save("capture", arrays, facts)


def evaluate(run: RunName, length: Length | None = None) -> dict[str, Any]:
    """Measure a run's accuracy on held-out problems, by free generation where it writes its answers.

    Parameters:
        run: Name or key of a run
        length: Length of the problems, also beyond those of its training; None: as in its training
    Returns:
        accuracy (0 to 1) and the number of problems
    """
    with exclusive_run(run) as opened:
        result = evaluate_run(opened, length)
    return {"accuracy": result.accuracy, "problems": result.problems}


def generate(
    run: RunName,
    prompt: InputText,
    strategy: Literal["greedy", "sample", "beam"] = "greedy",
    options: dict[str, Any] | None = None,
    step: Step | None = None,
) -> list[dict[str, Any]]:
    """Let a run or a checkpoint continue a prompt, or translate it, as `core.generate` does.

    Parameters:
        run: Name or key of a run, or name of a checkpoint
        prompt: Text before the first token that is written
        strategy: greedy, sample or beam
        options: max_new, temperature, top_k, top_p, seed, beams, n_best, length_penalty, no_repeat, repetition_penalty
        step: Training step of a snapshot; None: the last
    Returns:
        The texts, the best first, each with its text, tokens, ids (end token included) and log-likelihood
    """
    with exclusive_run(run) as opened:
        laid_out = make_prompt(opened, prompt, 0)
        generated = write_texts(
            opened, laid_out, snapshot_step(opened, step), {**(options or {}), "strategy": strategy}
        )
    task, end = opened.task, laid_out.special_tokens.eos_ids
    return [
        {
            "text": task.say([token for token in ids if token not in end]),
            "tokens": task.show(ids),
            "ids": ids,
            "score": score,
        }
        for ids, score in zip(generated.texts, generated.scores, strict=True)
    ]


def measures(run: RunName, text: InputText | None = None, step: Step | None = None) -> list[dict[str, Any]]:
    """Measure every attention head, or every recurrent unit, of a run while it reads a text.

    Parameters:
        run: Name or key of a run
        text: What it reads, in the tokens of its task; None: the first held-out problem
        step: Training step of a snapshot; None: the last
    Returns:
        One row a head: point, layer, head, role, share, entropy, …; and one row a unit: point, unit, half_life, saturation_forget, …
    """
    arrays, loaded = input_arrays(run, text), run_registry.open_run(run)
    index = snapshot_index(arrays.steps, step)
    return [*head_rows(arrays, index), *unit_rows(loaded, arrays, index)]


def figure(name: Name, run: RunName, text: InputText | None = None, state: State | None = None) -> str:
    """Draw a figure of the page in one state, as Plotly JSON.

    Parameters:
        name: One of the figures that /look lists, such as "timeline", "blocks/one_head", "layers.0.fwd/units"
        run: Name or key of a run
        text: What it reads, in the tokens of its task; None: the first held-out problem
        state: What is shown, such as {"snapshot": 3, "layer": 1, "head": 0, "theme": "dark"}; snapshot counts the steps of /look, the last by default
    Returns:
        JSON text with data and layout, for plotly.io.from_json
    """
    arrays, loaded = input_arrays(run, text), run_registry.open_run(run)
    live = run_figure(loaded, arrays, name)
    drawn: Any = figure_at(live, state or {}, len(arrays.steps))
    data = [trace.to_plotly_json() for trace in drawn.data]  # arrays as lists; `drawn.to_json()` has them in base64
    return to_json_plotly({"data": data, "layout": drawn.layout.to_plotly_json()})
