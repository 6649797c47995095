"""The Attention tab's figures of a run on an input: views made of the arrays, and the figures drawn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from app.figures.arcs import MOST_TOKENS, arcs
from app.figures.attention import all_heads, one_head
from app.figures.attention_view import AttentionView
from app.figures.expressions import Array
from app.figures.live import Live
from app.figures.report_card import report_card
from app.figures.rollout import rollout, sources
from app.service.attention_stack import AttentionStack, attention_axes, measure_heads, stack_name, unit
from app.service.inputs import AnyRun, ModelInput, token_axes
from core.analysis.training_events import ROLE_THRESHOLD

if TYPE_CHECKING:
    from app.service.snapshot_arrays import SnapshotArrays


def stack_views(arrays: SnapshotArrays, file: str) -> dict[str, AttentionView]:
    """By the name of the stack."""
    return {stack.name: attention_view(arrays, stack, file) for stack in arrays.attention}


def attention_view(arrays: SnapshotArrays, stack: AttentionStack, file: str) -> AttentionView:
    name, axes = stack.name, arrays.axes
    return AttentionView(
        name,
        Array(f"{name}.weights", stack.weights.numpy(), unit(stack.weights)),
        {measure: Array(f"{name}.{measure}", values.numpy()) for measure, values in stack.measures.items()},
        arrays.steps,
        axes[stack.queries],
        axes[stack.keys],
        stack.queries,
        stack.keys,
        None if stack.allowed is None else stack.allowed.numpy(),
        None
        if stack.rollout is None
        else Array(f"{name}.rollout.weights", stack.rollout.numpy(), unit(stack.rollout)),
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


def attention_figures(view: AttentionView) -> dict[str, Live]:
    """By name; without those that the input is too long for."""
    figures = {"all_heads": all_heads(view), "one_head": one_head(view), "report_card": report_card(view)}
    if not view.pooled and max(len(view.queries), len(view.keys)) <= MOST_TOKENS:
        figures["arcs"] = arcs(view)
    if view.rollout is not None:
        figures |= {"rollout": rollout(view), "sources": sources(view)}
    return figures
