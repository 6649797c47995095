"""The arithmetic behind one attention weight at one snapshot, term by term, from the captured tensors.

    dot       score = q · k · scale + bias              (Vaswani et al. 2017)
    luong     score = q · W k, W = 1 for the plain dot  (Luong et al. 2015)
    additive  score = v · tanh(W_q q + W_k k)           (Bahdanau et al. 2015)

then weight = exp(score) / Σ exp(score) over the keys that the mask keeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Size, Tensor, nn

import core
from app.figures.arithmetic import RowArithmetic
from app.service.inputs import AnyRun, ModelInput
from core import InputError
from core.analysis import measures
from core.capture.point_names import INPUT_SELF_ATTENTION_WEIGHTS
from core.capture.tape import Keep, Tape
from core.layers.attention import Attention
from core.layers.recurrent.alignment import AdditiveAlignment, Alignment
from core.translatable import Text


@torch.no_grad()
def capture_at_step(
    run: AnyRun, model_input: ModelInput, step: int, *patterns: str, keep: Keep | None = None
) -> tuple[nn.Module, Tape]:
    """The model with the weights of the snapshot at a step, and the tape of its forward pass."""
    for _, model in run.snapshot_models(step):
        with core.capture(model, *patterns, keep=keep) as tape:
            model(*model_input.batch.inputs)
        return model, tape
    raise InputError("There is no snapshot of step {step}.", step=step)


def weights_point(tape: Tape, point: str) -> str:
    """`blocks.0.attn` → `blocks.0.attn.weights`; `InputError` if the model has no attention there."""
    name = f"{point}.weights"
    if name not in tape:
        raise no_attention_error(point)
    return name


def no_attention_error(point: str) -> InputError:
    return InputError("The model has no attention at {point!r}.", point=point[:60])


def exact_head(
    run: AnyRun, model_input: ModelInput, step: int, point: str, head: int
) -> tuple[Tensor, Tensor | None]:
    """(query, key): one head's weights without pooling, and the mask."""
    _, tape = capture_at_step(run, model_input, step, f"{point}.weights", f"{point}.mask")
    weights = tape[weights_point(tape, point)][0]
    check_index(head, len(weights), Text("head"))
    mask = tape.get(f"{point}.mask")
    return weights[head], None if mask is None else mask[0, 0].expand(weights.shape[1:])


def exact_rollout(run: AnyRun, model_input: ModelInput, step: int, points: list[str]) -> Tensor:
    """(query, key): attention rollout (Abnar & Zuidema 2020) up to the last of these layers, without pooling.

    Only the mean over each layer's heads is held in memory.
    """
    if not all(INPUT_SELF_ATTENTION_WEIGHTS.fullmatch(f"{point}.weights") for point in points):
        raise InputError(
            "A rollout goes through the layers in which the input looks at itself; ask for those alone.",
        )
    names = [f"{point}.weights" for point in points]
    _, tape = capture_at_step(run, model_input, step, *names, keep=lambda name, weights: weights[0].mean(0))
    for point in points:
        weights_point(tape, point)
    return measures.rollout(torch.stack(list(tape.values()))[:, None])[-1]


def query_key_shapes(model: nn.Module, model_input: ModelInput, points: list[str]) -> tuple[Size, Size]:
    """(layer, head, query, unit) and (layer, head, key, unit) of these points, without running the model."""
    shapes = {_query_key_shapes(model, model_input, point) for point in points}
    if len(shapes) > 1:
        raise InputError(
            "These layers do not look from and at the same tokens; ask for those of one stack.",
        )
    queries, keys = shapes.pop()
    return Size([len(points), *queries]), Size([len(points), *keys])


def _query_key_shapes(model: nn.Module, model_input: ModelInput, point: str) -> tuple[Size, Size]:
    module = dict(model.named_modules()).get(point)
    config: Any = model.config
    if isinstance(module, AdditiveAlignment):
        raise InputError(
            "This attention adds query and key instead of multiplying them; click a cell of the map "
            "for its arithmetic.",
        )
    if not isinstance(module, Attention | Alignment):
        raise no_attention_error(point)
    heads, unit = (1, config.d_hidden) if isinstance(module, Alignment) else (module.n_heads, module.d_head)
    is_decoder = point.startswith("decoder")
    queries = keys = len(model_input.decoder_tokens if is_decoder else model_input.source)
    if point.endswith("cross"):
        keys = -(-len(model_input.source) // getattr(config, "downsample", 1))
    return Size([heads, queries, unit]), Size([heads, keys, unit])


@torch.no_grad()
def query_key_vectors(
    run: AnyRun, model_input: ModelInput, step: int, points: list[str]
) -> tuple[Tensor, Tensor, float]:
    """Queries and keys of every head, (layer, head, time, unit) each, and the factor on their product."""
    query_key_shapes(run.model, model_input, points)  # refuses points that cannot be stacked
    model, tape = capture_at_step(run, model_input, step, *(f"{point}.[qk]" for point in points), "decoder.layers.*")
    queries, keys, scales = zip(*(queries_and_keys(model, tape, model_input, point) for point in points), strict=True)
    return torch.stack(queries), torch.stack(keys), scales[0]


def row_arithmetic(
    run: AnyRun, model_input: ModelInput, steps: list[int], points: list[str], query: int
) -> RowArithmetic:
    """The arithmetic of one row of every map at these steps and points, so that the page can scrub without a request."""
    rows = []
    for step in steps:
        model, tape = capture_at_step(run, model_input, step, *(f"{point}.*" for point in points), "decoder.layers.*")
        rows.append([_row(model, tape, model_input, point, query) for point in points])
    first = rows[0][0]
    arrays = {
        name: torch.stack([torch.stack([one[name] for one in layers]) for layers in rows]).numpy()
        for name, value in first.items()
        if isinstance(value, Tensor)
    }
    return RowArithmetic(first["kind"], first["rotated"], first["scale"], **arrays)


def weight_arithmetic(
    run: AnyRun, model_input: ModelInput, step: int, point: str, head: int, query: int, key: int
) -> dict[str, Any]:
    """Every number between one query, one key and the weight between them."""
    model, tape = capture_at_step(run, model_input, step, f"{point}.*", "decoder.layers.*")
    row = _row(model, tape, model_input, point, query)
    check_index(head, len(row["weight"]), Text("head"))
    check_index(key, row["weight"].shape[1], Text("key"))
    numbers = {name: float(row[name][head, key]) for name in ("bias", "kept", "score", "exp", "weight")}
    return {
        **{name: row[name] for name in ("kind", "rotated", "scale")},
        **{name: None if np.isnan(value) else value for name, value in numbers.items()},
        "kept": None if np.isnan(numbers["kept"]) else bool(numbers["kept"]),
        "sum_exp": float(row["sum_exp"][head]),
        "q": row["q"][head].tolist(),
        "k": row["k"][head, key].tolist(),
        "terms": row["terms"][head, key].tolist(),
        "dot": float(row["terms"][head, key].double().sum()),
    }


@torch.no_grad()
def _row(model: nn.Module, tape: Tape, model_input: ModelInput, point: str, query: int) -> dict[str, Any]:
    """As `RowArithmetic`, at one snapshot and layer."""
    weights = tape[weights_point(tape, point)][0]  # (head, query, key)
    check_index(query, weights.shape[1], Text("query"))
    scores = tape[f"{point}.scores"][0, :, query].double()  # (head, key)
    bias, mask, missing = tape.get(f"{point}.bias"), tape.get(f"{point}.mask"), torch.full_like(scores, torch.nan)
    allowed = (
        torch.ones_like(scores) if mask is None else mask[0, 0].expand(weights.shape[1:])[query].expand_as(scores)
    )
    exponentials = scores.exp() * allowed
    return {
        **_terms(model, tape, model_input, point, query),
        "bias": (missing if bias is None else bias[0, :, query].expand_as(scores)).float(),
        "kept": (missing if mask is None else allowed).float(),
        "score": scores.float(),
        "exp": exponentials.float(),
        "sum_exp": exponentials.sum(-1).float(),
        "weight": weights[:, query].clone(),
    }


def _terms(model: nn.Module, tape: Tape, model_input: ModelInput, point: str, query: int) -> dict[str, Any]:
    """Query and keys, and the terms that add up to their scores before bias and mask."""
    q, k, scale = queries_and_keys(model, tape, model_input, point)
    module = model.get_submodule(point)
    if k is None:
        assert isinstance(module, AdditiveAlignment)
        kind = "additive"
        q = module.query_proj(q[:, query])  # (1, unit)
        k = module.key_proj(encoder_outputs(model, model_input))[None]  # (1, key, unit)
        terms = module.v.weight[0] * torch.tanh(q[:, None] + k)
    else:
        kind, q = "luong" if isinstance(module, Alignment) else "dot", q[:, query]
        terms = q[:, None] * k
    return {"kind": kind, "rotated": _is_rotated(model, point), "scale": scale, "q": q, "k": k, "terms": terms}


def _is_rotated(model: nn.Module, point: str) -> bool:
    """Has RoPE been applied to the captured q and k?"""
    config: Any = model.config
    if getattr(config, "position", None) != "rope":
        return False
    return point.endswith("attn") or config.cross_position


def queries_and_keys(
    model: nn.Module, tape: Tape, model_input: ModelInput, point: str
) -> tuple[Tensor, Tensor | None, float]:
    """(head, query, unit), (head, key, unit) and the factor on their product; no keys where the score is additive."""
    module = model.get_submodule(point)
    if not isinstance(module, Alignment):
        assert isinstance(module, Attention)
        q, k = tape[f"{point}.q"][0], tape[f"{point}.k"][0]
        return q, k.repeat_interleave(len(q) // len(k), 0), module.scale
    seq2seq: Any = model
    states = tape[f"decoder.layers.{len(seq2seq.decoder.layers) - 1}.fwd.hidden"]  # (1, query, unit)
    if seq2seq.config.attention == "bahdanau":  # the query is the state before the current position
        first = seq2seq.encode(model_input.batch.inputs[0], model_input.batch.inputs[2]).states[-1][0]
        states = torch.cat([first[:, None], states[:, :-1]], dim=1)
    if isinstance(module, AdditiveAlignment):
        return states, None, 1.0
    return states, module.prepare(encoder_outputs(model, model_input))[None], 1.0


def encoder_outputs(model: nn.Module, model_input: ModelInput) -> Tensor:
    """(key, unit): the states that a recurrent decoder attends to"""
    seq2seq: Any = model
    return seq2seq.encode(model_input.batch.inputs[0], model_input.batch.inputs[2]).outputs[0]


def check_index(index: int, size: int, what: Text) -> None:
    if not 0 <= index < size:
        raise InputError("There is no {what} {index}: there are {size}.", what=what, index=index, size=size)
