"""Measures of models: parameter counts, attention (entropy, roles, rollout), gates, states and gradients."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.capture.tape import capture
from core.layers.masks import valid_mask
from core.tasks.layouts import Batch
from core.training.loop import head_of


def count_parameters(model: nn.Module, depth: int = 1) -> dict[str, int]:
    """True parameter counts by module path, down to `depth` levels; shared weights count where they are first."""
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        *modules, leaf = name.split(".")
        path = ".".join(modules[:depth]) or leaf
        counts[path] = counts.get(path, 0) + parameter.numel()
    return counts


def entropy(weights: Tensor) -> Tensor:
    """(…, query, key) → (…): −Σ w log₂ w in bits, averaged over queries; 0: all weight on one token"""
    return _entropy_per_query(weights).mean(-1)


def normalised_entropy(weights: Tensor, allowed: Tensor) -> Tensor:
    """(…, query, key) → (…, query): −Σ w log₂ w / log₂ n, 0 to 1, with n the keys that a query may attend to

    allowed is True for those keys, broadcastable to the weights; nan for queries with fewer than two.
    """
    choices = allowed.sum(-1)  # (…, query)
    return torch.where(choices > 1, _entropy_per_query(weights) / choices.clamp(min=2).log2(), torch.nan)


def _entropy_per_query(weights: Tensor) -> Tensor:
    return -(weights * weights.clamp(min=1e-12).log2()).sum(-1)


def distance(weights: Tensor) -> Tensor:
    """(…): mean attention distance Σ w |query − key|, averaged over queries"""
    query, key = (torch.arange(n, device=weights.device) for n in weights.shape[-2:])
    return (weights * (query[:, None] - key).abs()).sum(-1).mean(-1)


def previous_token(weights: Tensor) -> Tensor:
    """(…): weight on the token before, averaged over the queries that have one; 0 when none has"""
    return _mean(weights.diagonal(-1, -2, -1))


def own_token(weights: Tensor) -> Tensor:
    """(…): weight on the token itself"""
    return weights.diagonal(0, -2, -1).mean(-1)


def first_token(weights: Tensor) -> Tensor:
    """(…): weight on the first token (the attention sink); the first query, which may have no other, left out

    0 when there is no other query.
    """
    return _mean(weights[..., 1:, 0])


def induction_targets(ids: Tensor) -> Tensor:
    """(query, key): True where the key followed an earlier occurrence of the query's token, the query itself excluded

    M_qk = 1 where ids_{k−1} = ids_q and k < q.
    """
    position = torch.arange(len(ids), device=ids.device)
    follows = torch.zeros(len(ids), len(ids), dtype=torch.bool, device=ids.device)
    follows[:, 1:] = ids[:, None] == ids[:-1]
    return follows & (position < position[:, None])


def induction(weights: Tensor, ids: Tensor) -> Tensor:
    """(…): weight on the tokens that followed the earlier occurrences of the current one, all of them together

    Σ_k M_qk w_qk, M from `induction_targets`, averaged over the queries that have such tokens; 0 when none has.
    weights (…, time, time), ids (time,). In a text repeated once each token has one earlier occurrence, and this is the
    prefix-matching score of Olsson et al. 2022 (arxiv.org/abs/2209.11895).
    """
    targets = induction_targets(ids)
    return _mean((weights * targets).sum(-1)[..., targets.any(-1)])


def agreement(weights: Tensor, ideal: list[list[int]]) -> Tensor:
    """(…): weight on the ideal source positions; weights (…, target, source), `ideal` lists them per target

    Averaged over the targets that have any; 0 when none has.
    """
    marks = torch.zeros(len(ideal), weights.shape[-1], device=weights.device)
    for row, sources in enumerate(ideal):
        marks[row, sources] = 1.0
    return _mean((weights[..., : len(ideal), :] * marks).sum(-1)[..., marks.any(-1)])


def _mean(values: Tensor) -> Tensor:
    """(…, query) → (…): 0 when there are none"""
    return values.mean(-1) if values.shape[-1] else values.new_zeros(values.shape[:-1])


def rollout(weights: Tensor) -> Tensor:
    """(…, layer, head, time, time) → (…, layer, time, time): attention rollout, the share of each token in each position

    R_l = Â_l R_{l−1},  R_{−1} = I,  where Â_l is ½ A_l + ½ I with its rows scaled to sum to 1 and A_l the mean over
    heads; the I stands for the residual (Abnar & Zuidema 2020, arxiv.org/abs/2005.00928).
    """
    mixed = mix_residual(weights.mean(-3))  # (…, layer, time, time)
    products = [mixed[..., 0, :, :]]
    for layer in range(1, mixed.shape[-3]):
        products.append(mixed[..., layer, :, :] @ products[-1])
    return torch.stack(products, -3)


def mix_residual(weights: Tensor) -> Tensor:
    """(…, time, time): ½ A + ½ I with rows scaled to sum to 1; the I stands for the residual connection"""
    own = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = 0.5 * weights + 0.5 * own
    return mixed / mixed.sum(-1, keepdim=True)


def saturation(gate: Tensor) -> Tensor:
    """(batch, time, unit) → (unit,): share of gate values above 0.9 or below 0.1"""
    return ((gate > 0.9) | (gate < 0.1)).float().mean((0, 1))


def half_life(forget: Tensor) -> Tensor:
    """(batch, time, unit) → (unit,): positions until half of a cell's content is gone, ln ½ / mean ln f

    For a GRU pass the update gate, which multiplies the old state.
    """
    return math.log(0.5) / forget.clamp(1e-6, 1 - 1e-6).log().mean((0, 1))


def correlation(values: Tensor, signal: Tensor) -> Tensor:
    """(…, time, unit), (time,) → (…, unit): Pearson's r = Σ (x − x̄)(s − s̄) / √(Σ (x − x̄)² Σ (s − s̄)²)

    0 for a constant unit or signal.
    """
    x, s = values - values.mean(-2, keepdim=True), (signal - signal.mean())[:, None]
    scale = (x.square().sum(-2) * s.square().sum()).sqrt()
    return torch.where(scale > 1e-12, (x * s).sum(-2) / scale.clamp(min=1e-12), 0.0)


def principal_axes(states: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """(time, unit) → centre (unit,), axes (n, unit), shares (n,): PCA of the states

    X − x̄ = U S Vᵀ: the axes are the first rows of Vᵀ, each with its largest entry positive, and s² / Σ s² is the
    share of the variance along each. Too few states for n axes: the rest are 0.
    """
    centre = states.mean(0)
    _, strengths, axes = torch.linalg.svd(states - centre, full_matrices=False)
    missing = max(0, n - len(strengths))
    axes = torch.cat([axes, axes.new_zeros(missing, axes.shape[1])])[:n]
    largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
    shares = strengths.square() / strengths.square().sum().clamp(min=1e-12)
    return centre, axes * torch.where(largest < 0, -1.0, 1.0), F.pad(shares, (0, missing))[:n]


def gradient_through_time(model: nn.Module, batch: Batch, point: str = "*.hidden") -> dict[str, Tensor]:
    """Per layer and direction, (time,): ‖∂ loss / ∂ h_t‖, averaged over the batch.

    It shows how far back the loss can teach the states (vanishing gradients). Sequences that have ended by t do not
    count. The parameters' own gradients are left unchanged.
    """
    with capture(model, point, gradients=True) as tape:
        loss = head_of(model).loss(model(*batch.inputs).logits, batch.target, batch.lengths)
        states = [state for state in tape.tensors() if state.requires_grad]
        torch.autograd.backward(loss, inputs=states)
    source_lengths, target_lengths = sequence_lengths(batch)
    norms_by_name = {}
    for name in tape:
        norms = tape.grad(name).norm(dim=-1)  # (batch, time)
        lengths = target_lengths if name.startswith("decoder") else source_lengths
        valid = valid_mask(lengths, norms.shape[1])
        norms_by_name[name] = (norms * valid).sum(0) / valid.sum(0).clamp(min=1)
    return norms_by_name


def sequence_lengths(batch: Batch) -> tuple[Tensor, Tensor]:
    """(batch,) each: of the sources (or the only sequences) and of the targets."""
    if len(batch.inputs) == 4:
        return batch.inputs[2], batch.inputs[3]
    return batch.inputs[1], batch.inputs[1]
