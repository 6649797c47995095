"""The arithmetic behind one attention weight at one snapshot, term by term, from the captured tensors.

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


def weight_arithmetic_table(
    run: AnyRun, model_input: ModelInput, steps: list[int], points: list[str], query: int, key: int
) -> list[list[list[dict[str, Any]]]]:
    """step → point → head: `weight_arithmetic` of one query and key, so that the page can scrub without a request."""
    table = []
    for step in steps:
        model, tape = capture_at_step(run, model_input, step, *(f"{point}.*" for point in points), "decoder.layers.*")
        heads = {point: len(tape[weights_point(tape, point)][0]) for point in points}
        table.append(
            [
                [_arithmetic(model, tape, model_input, p, head, query, key) for head in range(n)]
                for p, n in heads.items()
            ]
        )
    return table


def weight_arithmetic(
    run: AnyRun, model_input: ModelInput, step: int, point: str, head: int, query: int, key: int
) -> dict[str, Any]:
    """Every number between one query, one key and the weight between them."""
    model, tape = capture_at_step(run, model_input, step, f"{point}.*", "decoder.layers.*")
    return _arithmetic(model, tape, model_input, point, head, query, key)


def _arithmetic(
    model: nn.Module, tape: Tape, model_input: ModelInput, point: str, head: int, query: int, key: int
) -> dict[str, Any]:
    weights = tape[weights_point(tape, point)][0]  # (head, query, key)
    check_index(head, weights.shape[0], Text("head"))
    check_index(query, weights.shape[1], Text("query"))
    check_index(key, weights.shape[2], Text("key"))
    scores = tape[f"{point}.scores"][0, head, query].double()  # (key,)
    bias, mask = tape.get(f"{point}.bias"), tape.get(f"{point}.mask")
    allowed = (
        torch.ones_like(scores, dtype=torch.bool) if mask is None else mask[0, 0].expand(weights.shape[1:])[query]
    )
    exponentials = scores.exp() * allowed
    return {
        **_score(model, tape, model_input, point, head, query, key),
        "bias": None if bias is None else float(bias[0, head, query, key]),
        "kept": None if mask is None else bool(allowed[key]),
        "score": float(scores[key]),
        "exp": float(exponentials[key]),
        "sum_exp": float(exponentials.sum()),
        "weight": float(weights[head, query, key]),
    }


@torch.no_grad()
def _score(
    model: nn.Module, tape: Tape, model_input: ModelInput, point: str, head: int, query: int, key: int
) -> dict[str, Any]:
    """Query and key, and the terms that add up to their score before bias and mask."""
    q, k, scale = queries_and_keys(model, tape, model_input, point)
    module = model.get_submodule(point)
    if k is None:
        assert isinstance(module, AdditiveAlignment)
        kind = "additive"
        q, k = module.query_proj(q[0, query]), module.key_proj(encoder_outputs(model, model_input)[key])  # (unit,)
        terms = module.v.weight[0] * torch.tanh(q + k)
    else:
        kind = "luong" if isinstance(module, Alignment) else "dot"
        q, k = q[head, query], k[head, key]
        terms = q * k
    return {
        "kind": kind,
        "q": q.tolist(),
        "k": k.tolist(),
        "terms": terms.tolist(),
        "dot": float(terms.double().sum()),
        "scale": scale,
        "rotated": _is_rotated(model, point),
    }


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
