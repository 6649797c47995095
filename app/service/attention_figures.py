"""The Attention tab's figures of a run on an input: views made of the arrays, and the figures drawn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from app.figures.arcs import MOST_TOKENS, arcs
from app.figures.attention import all_heads, one_head, rollout, score_terms
from app.figures.attention_view import AttentionView
from app.figures.expressions import Array
from app.figures.live import Live
from app.figures.report_card import report_card
from app.service.attention_stack import AttentionStack, attention_axes, measure_heads, stack_name
from app.service.inputs import AnyRun, ModelInput, token_axes
from core.analysis.training_events import ROLE_THRESHOLD

if TYPE_CHECKING:
    from app.service.snapshot_arrays import SnapshotArrays

BYTE = 1 / 255  # what 1 stands for where weights travel as bytes


def attention_view(
    arrays: SnapshotArrays, stack: AttentionStack, axes: dict[str, list[str]], file: str
) -> AttentionView:
    name = stack.name
    return AttentionView(
        name,
        weights_array(f"{name}.weights", stack.weights),
        {measure: Array(f"{name}.{measure}", values.numpy()) for measure, values in stack.measures.items()},
        arrays.steps,
        axes[stack.queries],
        axes[stack.keys],
        stack.queries,
        stack.keys,
        None if stack.allowed is None else stack.allowed.numpy(),
        None if stack.rollout is None else weights_array(f"{name}.rollout.weights", stack.rollout),
        arrays.model_input.alignment,
        stack.pooled,
        has_heads="blocks" in stack.points[0],
        clear=ROLE_THRESHOLD,
        trained=arrays.trained,
        file=f"{file}-{name}",
    )


def exact_view(
    run: AnyRun, model_input: ModelInput, point: str, step: int, weights: Tensor, allowed: Tensor | None, file: str
) -> AttentionView:
    """One map (query, key) of a long input, of a head or rolled out, without pooling: every index stands for it."""
    queries, keys = attention_axes(point, weights.shape[-1], model_input)
    axes = token_axes(model_input, getattr(run.model.config, "downsample", 1))
    measured = measure_heads(weights[None], queries, keys, model_input)
    stack = stack_name(point) or point
    values = weights.numpy().astype(np.float32)
    return AttentionView(
        stack,
        Array("exact.weights", values[None, None, None]),
        {name: Array(f"exact.{name}", value.numpy()[None, None]) for name, value in measured.items()},
        [step],
        axes[queries],
        axes[keys],
        queries,
        keys,
        None if allowed is None else allowed.numpy(),
        Array("exact.rollout", values[None, None]),
        model_input.alignment,
        has_heads="blocks" in point,
        clear=ROLE_THRESHOLD,
        file=f"{file}-{stack}",
    )


def weights_array(name: str, weights: Tensor) -> Array:
    return Array(name, weights.numpy(), 1.0 if weights.is_floating_point() else BYTE)


def attention_figures(view: AttentionView) -> dict[str, Live]:
    """By name: `blocks/one_head` …"""
    figures = {"all_heads": all_heads(view), "one_head": one_head(view), "report_card": report_card(view)}
    if not view.pooled and max(len(view.queries), len(view.keys)) <= MOST_TOKENS:
        figures["arcs"] = arcs(view)
    if view.rollout is not None:
        figures["rollout"] = rollout(view)
    return {f"{view.name}/{name}": figure for name, figure in figures.items()}


def arithmetic_figure(table: list[list[list[dict]]]) -> tuple[Live, dict[str, np.ndarray]]:
    """Of a table step → layer → head of `weight_arithmetic`: the bars of the terms, and all other numbers as arrays
    (snapshot, layer, head); NaN where there is none.
    """

    def stacked(name: str) -> np.ndarray:
        return np.array([[[_number(cell[name]) for cell in layer] for layer in step] for step in table], np.float64)

    first = table[0][0][0]
    terms, q, k = (stacked(name) for name in ("terms", "q", "k"))
    numbers = {
        name: stacked(name).astype(np.float32)
        for name in ("dot", "scale", "bias", "kept", "score", "exp", "sum_exp", "weight")
    }
    return score_terms(terms, q, k, first["kind"], first["rotated"]), numbers


def _number(value):
    return np.nan if value is None else value
