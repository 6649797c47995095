"""How one attention weight came about at one moment of training, step by step, in the numbers of the captured tensors.

    dot       score = q · k · scale + bias              (Vaswani et al. 2017)
    luong     score = q · W k, W = 1 for the plain dot  (Luong et al. 2015)
    additive  score = v · tanh(W_q q + W_k k)           (Bahdanau et al. 2015)

then weight = exp(score) / Σ exp(score) over the keys that the mask keeps.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Size, Tensor, nn

import core
from app.service.inputs import Problem
from core import InputError
from core.analysis import measures
from core.capture.point_names import INPUT_SELF_ATTENTION_WEIGHTS
from core.capture.tape import Keep, Tape
from core.layers.attention import Attention
from core.layers.recurrent.alignment import AdditiveAlignment, Alignment
from core.messages import Text
from core.runs.run import Run


@torch.no_grad()
def tape_at(
    run: Run, problem: Problem, step: int, *patterns: str, keep: Keep | None = None
) -> tuple[nn.Module, Tape]:
    """The model as it was at a step, and what it did with the problem."""
    for _, model in run.snapshot_models(step):
        with core.capture(model, *patterns, keep=keep) as tape:
            model(*problem.batch.inputs)
        return model, tape
    raise InputError("There is no snapshot of step {step}.", step=step)


def weights_point(tape: Tape, point: str) -> str:
    """`blocks.0.attn` → `blocks.0.attn.weights`, if the model has attention there."""
    name = f"{point}.weights"
    if name not in tape:
        raise no_attention(point)
    return name


def no_attention(point: str) -> InputError:
    return InputError("The model has no attention at {point!r}.", point=point[:60])


def exact_head(run: Run, problem: Problem, step: int, point: str, head: int) -> tuple[Tensor, Tensor | None]:
    """(query, key): one head's weights as captured, and where it may look; for inputs whose maps travel pooled."""
    _, tape = tape_at(run, problem, step, f"{point}.weights", f"{point}.mask")
    weights = tape[weights_point(tape, point)][0]
    check_index(head, len(weights), Text("head"))
    mask = tape.get(f"{point}.mask")
    return weights[head], None if mask is None else mask[0, 0].expand(weights.shape[1:])


def exact_rollout(run: Run, problem: Problem, step: int, points: list[str]) -> Tensor:
    """(query, key): up to the last of these layers; only their means are held."""
    if not all(INPUT_SELF_ATTENTION_WEIGHTS.fullmatch(f"{point}.weights") for point in points):
        raise InputError(
            "A rollout goes through the layers in which the input looks at itself; ask for those alone.",
        )
    wanted = [f"{point}.weights" for point in points]
    _, tape = tape_at(run, problem, step, *wanted, keep=lambda name, weights: weights[0].mean(0))
    for point in points:
        weights_point(tape, point)
    return measures.rollout(torch.stack(list(tape.values()))[:, None])[-1]


def vector_sizes(model: nn.Module, problem: Problem, points: list[str]) -> tuple[Size, Size]:
    """(layer, head, query, unit) and (layer, head, key, unit) of these points, known before the model runs."""
    sizes = {_vector_sizes(model, problem, point) for point in points}
    if len(sizes) > 1:
        raise InputError(
            "These layers do not look from and at the same tokens; ask for those of one stack.",
        )
    queries, keys = sizes.pop()
    return Size([len(points), *queries]), Size([len(points), *keys])


def _vector_sizes(model: nn.Module, problem: Problem, point: str) -> tuple[Size, Size]:
    module, config = dict(model.named_modules()).get(point), model.config
    if isinstance(module, AdditiveAlignment):
        raise InputError(
            "This attention adds query and key instead of multiplying them; click a cell of the map "
            "for its arithmetic.",
        )
    if not isinstance(module, Attention | Alignment):
        raise no_attention(point)
    heads, unit = (1, config.d_hidden) if isinstance(module, Alignment) else (module.n_heads, module.d_head)
    queries = keys = len(problem.given if point.startswith("decoder") else problem.source)
    if point.endswith("cross"):
        keys = -(-len(problem.source) // getattr(config, "downsample", 1))
    return Size([heads, queries, unit]), Size([heads, keys, unit])


@torch.no_grad()
def vectors(run: Run, problem: Problem, step: int, points: list[str]) -> tuple[Tensor, Tensor, float]:
    """Queries and keys of every head, (layer, head, time, unit) each, and the factor on their product."""
    vector_sizes(run.model, problem, points)  # refuses those that cannot be put together
    model, tape = tape_at(run, problem, step, *(f"{point}.[qk]" for point in points), "decoder.layers.*")
    queries, keys, scales = zip(*(queries_and_keys(model, tape, problem, point) for point in points), strict=True)
    return torch.stack(queries), torch.stack(keys), scales[0]


def cells(
    run: Run, problem: Problem, steps: list[int], points: list[str], query: int, key: int
) -> list[list[list[dict[str, Any]]]]:
    """step → point → head: one cell's arithmetic wherever the reader may look next without asking again."""
    found = []
    for step in steps:
        model, tape = tape_at(run, problem, step, *(f"{point}.*" for point in points), "decoder.layers.*")
        heads = {point: len(tape[weights_point(tape, point)][0]) for point in points}
        found.append(
            [[_cell(model, tape, problem, p, head, query, key) for head in range(n)] for p, n in heads.items()]
        )
    return found


def cell(run: Run, problem: Problem, step: int, point: str, head: int, query: int, key: int) -> dict[str, Any]:
    """Every number between one query, one key and the weight between them."""
    model, tape = tape_at(run, problem, step, f"{point}.*", "decoder.layers.*")
    return _cell(model, tape, problem, point, head, query, key)


def _cell(
    model: nn.Module, tape: Tape, problem: Problem, point: str, head: int, query: int, key: int
) -> dict[str, Any]:
    weights = tape[weights_point(tape, point)][0]  # (head, query, key)
    check_index(head, weights.shape[0], Text("head"))
    check_index(query, weights.shape[1], Text("query"))
    check_index(key, weights.shape[2], Text("key"))
    scores = tape[f"{point}.scores"][0, head, query].double()  # (key,)
    bias, mask = tape.get(f"{point}.bias"), tape.get(f"{point}.mask")
    kept = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask[0, 0].expand(weights.shape[1:])[query]
    shares = scores.exp() * kept
    return {
        **_score(model, tape, problem, point, head, query, key),
        "bias": None if bias is None else float(bias[0, head, query, key]),
        "kept": None if mask is None else bool(kept[key]),
        "score": float(scores[key]),
        "exp": float(shares[key]),
        "sum_exp": float(shares.sum()),
        "weight": float(weights[head, query, key]),
    }


@torch.no_grad()
def _score(
    model: nn.Module, tape: Tape, problem: Problem, point: str, head: int, query: int, key: int
) -> dict[str, Any]:
    """Query and key, and the terms that add up to their score before bias and mask."""
    q, k, scale = queries_and_keys(model, tape, problem, point)
    alignment = model.get_submodule(point)
    if k is None:
        kind = "additive"
        q, k = alignment.query_proj(q[0, query]), alignment.key_proj(source_states(model, problem)[key])  # (unit,)
        terms = alignment.v.weight[0] * torch.tanh(q + k)
    else:
        kind = "luong" if isinstance(alignment, Alignment) else "dot"
        q, k = q[head, query], k[head, key]
        terms = q * k
    return {
        "kind": kind,
        "q": q.tolist(),
        "k": k.tolist(),
        "terms": terms.tolist(),
        "dot": float(terms.double().sum()),
        "scale": scale,
        "rotated": _rotates(model, point),
    }


def _rotates(model: nn.Module, point: str) -> bool:
    """Are these q and k already turned by RoPE?"""
    if getattr(model.config, "position", None) != "rope":
        return False
    return point.endswith("attn") or model.config.cross_position


def queries_and_keys(
    model: nn.Module, tape: Tape, problem: Problem, point: str
) -> tuple[Tensor, Tensor | None, float]:
    """(head, query, unit), (head, key, unit), the factor on their product; no keys where query and key are added."""
    module = model.get_submodule(point)
    if not isinstance(module, Alignment):
        q, k = tape[f"{point}.q"][0], tape[f"{point}.k"][0]
        return q, k.repeat_interleave(len(q) // len(k), 0), module.scale
    states = tape[f"decoder.layers.{len(model.decoder.layers) - 1}.fwd.hidden"]  # (1, query, unit)
    if model.config.attention == "bahdanau":  # the state before the step asks
        first = model.encode(problem.batch.inputs[0], problem.batch.inputs[2]).states[-1][0]
        states = torch.cat([first[:, None], states[:, :-1]], dim=1)
    if isinstance(module, AdditiveAlignment):
        return states, None, 1.0
    return states, module.prepare(source_states(model, problem))[None], 1.0


def source_states(model: nn.Module, problem: Problem) -> Tensor:
    """(key, unit): what a recurrent decoder looks back at"""
    return model.encode(problem.batch.inputs[0], problem.batch.inputs[2]).outputs[0]


def check_index(index: int, size: int, what: Text) -> None:
    if not 0 <= index < size:
        raise InputError("There is no {what} {index}: there are {size}.", what=what, index=index, size=size)
