"""Numbers read off a model or its tape: what its parameters are, what its heads do."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from core.tape import capture
from core.tasks.layouts import Batch


def count_parameters(model: nn.Module, depth: int = 1) -> dict[str, int]:
    """True parameter counts by module path, down to `depth` levels; shared weights count where they are first."""
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        *modules, leaf = name.split(".")
        path = ".".join(modules[:depth]) or leaf
        counts[path] = counts.get(path, 0) + parameter.numel()
    return counts


def entropy(weights: Tensor) -> Tensor:
    """(…, query, key) → (…): −Σ w log₂ w in bits, averaged over queries; 0 = looks at one token"""
    return -(weights * weights.clamp(min=1e-12).log2()).sum(-1).mean(-1)


def distance(weights: Tensor) -> Tensor:
    """(…): how far back or ahead it looks, Σ w |query − key|, averaged over queries"""
    query, key = (torch.arange(n, device=weights.device) for n in weights.shape[-2:])
    return (weights * (query[:, None] - key).abs()).sum(-1).mean(-1)


def previous_token(weights: Tensor) -> Tensor:
    """(…): weight on the token before, averaged over the queries that have one"""
    return weights.diagonal(-1, -2, -1).mean(-1)


def own_token(weights: Tensor) -> Tensor:
    """(…): weight on the token itself"""
    return weights.diagonal(0, -2, -1).mean(-1)


def first_token(weights: Tensor) -> Tensor:
    """(…): weight on the first token, where idle heads rest; the first query, which may have no choice, left out"""
    return weights[..., 1:, 0].mean(-1)


def after_last_occurrence(ids: Tensor) -> Tensor:
    """(query, key): True at the token after the last earlier occurrence of the current one, if it is not itself."""
    time = torch.arange(len(ids), device=ids.device)
    earlier = (ids[:, None] == ids) & (time < time[:, None])  # (query, key)
    last = (earlier * (time + 1)).max(-1).values  # one behind that occurrence; 0: there is none
    return (time == last[:, None]) & (last > 0)[:, None] & (last < time)[:, None]


def induction(weights: Tensor, ids: Tensor) -> Tensor:
    """(…): weight on the token after the last occurrence of the current one (Olsson et al. 2022)

    weights (…, time, time), ids (time,); averaged over the queries that have such a token, 0 when none has.
    """
    after = after_last_occurrence(ids)
    asked = after.any(-1)
    if not asked.any():
        return weights.new_zeros(weights.shape[:-2])
    return (weights * after).sum(-1)[..., asked].mean(-1)


def agreement(weights: Tensor, ideal: list[list[int]]) -> Tensor:
    """(…): weight on the right source tokens; weights (…, target, source), `ideal` names them per target"""
    marks = torch.zeros(len(ideal), weights.shape[-1], device=weights.device)
    for row, sources in enumerate(ideal):
        marks[row, sources] = 1.0
    asked = marks.any(-1)
    return (weights[..., : len(ideal), :] * marks).sum(-1)[..., asked].mean(-1)


def saturation(gate: Tensor) -> Tensor:
    """(batch, time, unit) → (unit,): how often a gate is all but open or shut, above 0.9 or below 0.1"""
    return ((gate > 0.9) | (gate < 0.1)).float().mean((0, 1))


def half_life(forget: Tensor) -> Tensor:
    """(batch, time, unit) → (unit,): steps until half of a cell's content is gone, ln ½ / mean ln f

    For a GRU, whose update gate keeps the old state, give it the update gate.
    """
    return math.log(0.5) / forget.clamp(1e-6, 1 - 1e-6).log().mean((0, 1))


def gradient_through_time(model: nn.Module, batch: Batch, point: str = "*.hidden") -> dict[str, Tensor]:
    """Per layer and direction, (time,): |∂ loss / ∂ h_t|, averaged over the batch: how much the past can be taught.

    Gradients of the parameters are left as they were.
    """
    with capture(model, point, gradients=True) as tape:
        loss = model.head.loss(model(*batch.inputs).logits, batch.target, batch.lengths)
        reached = [step for steps in tape.steps() for step in steps if step.requires_grad]
        torch.autograd.backward(loss, inputs=reached)
    return {name: tape.grad(name).norm(dim=-1).mean(0) for name in tape}
