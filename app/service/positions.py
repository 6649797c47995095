"""Arrays of the Positions tab: each position scheme as core's modules compute it, and trained tables and biases.

Every function returns (header, arrays) of small size; the page moves about in them without a request.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import core
from app.i18n import in_all_languages
from app.payload import Parts
from app.service.inputs import AnyRun
from app.service.runs import run_registry, shipped
from app.service.runs.shipped_introductions import INTRODUCTIONS
from core import InputError
from core.layers.masks import causal_mask
from core.layers.positions import Alibi, Learned, Rotary, Sinusoidal, T5Bias, t5_bucket
from core.runs.pretrained_run import PretrainedRun
from core.seeding import seeded
from core.translatable import Text, verbatim

FALLBACK_RUNS: dict[type[nn.Module], str] = {
    Learned: "reverse-transformer",
    T5Bias: "reverse-t5",
}  # if the run has none
MAX_TABLE_ROWS = 64  # positions of a learned table that are drawn
MAX_CHECKPOINT_ROWS = 128  # the same for a checkpoint, which has one snapshot only
MAX_OFFSET = 32  # on either side, for which a trained bias is drawn
SCHEMES = ("none", "sinusoidal", "learned", "rope", "alibi", "t5")
MAX_WORDS = 12
SMALL_MODEL = {"n_layers": 2, "n_heads": 4, "d_model": 32, "vocab_size": MAX_WORDS, "max_len": MAX_WORDS}


@dataclass(frozen=True)
class SliderRange:
    """The values an option may take; the page makes its sliders from these."""

    low: int
    high: int
    default: int
    step: int = 1


SLIDERS = {
    "d_model": SliderRange(4, 128, 32, 2),
    "d_head": SliderRange(2, 64, 16, 2),
    "n_heads": SliderRange(1, 16, 8),
    "length": SliderRange(8, 128, 64),
    "side": SliderRange(4, 48, 16),  # of a matrix drawn cell by cell
    "n_buckets": SliderRange(4, 64, 32, 4),
    "max_distance": SliderRange(4, 256, 128, 4),
    "seed": SliderRange(0, 999, 0),
}


def check_ranges(**values: int) -> None:
    for name, value in values.items():
        slider = SLIDERS[name]
        if not slider.low <= value <= slider.high or (value - slider.low) % slider.step:
            raise InputError(
                "{name} goes from {low} to {high}{by}; {value} is not possible.",
                name=name,
                low=slider.low,
                high=slider.high,
                by=Text(" in steps of {step}", step=slider.step) if slider.step > 1 else verbatim(""),
                value=value,
            )


def sinusoidal(d_model: int, length: int) -> Parts:
    check_ranges(d_model=d_model, length=length)
    table = Sinusoidal(length, d_model)(torch.arange(length))  # (position, d_model)
    sliders = {"position": [0, length - 1], "pair": [0, d_model // 2 - 1]}
    return {"sliders": sliders}, _to_numpy(table=table, dots=table @ table.T)


def rope(d_head: int, length: int, seed: int) -> Parts:
    """The rotation of every pair of units at every position, and q·k of one query with two keys: q and another."""
    check_ranges(d_head=d_head, length=length, seed=seed)
    rotary, positions = Rotary(length, d_head), torch.arange(length)
    unit_x = torch.tensor([1.0, 0.0]).repeat(d_head // 2).expand(1, 1, length, d_head)
    rotated = rotary.rotate(unit_x, positions)[0, 0].unflatten(-1, (-1, 2))  # (position, pair, 2)
    q, k = torch.randn(2, d_head, generator=torch.Generator().manual_seed(seed)) / d_head**0.5
    keys = torch.stack([q, k])
    rotated_q = rotary.rotate(q.expand(1, 1, length, d_head), positions)  # (1, 1, query, d_head)
    rotated_k = rotary.rotate(keys[None, :, None].expand(1, 2, length, d_head), positions)  # (1, 2, key, d_head)
    scores = (rotated_q @ rotated_k.transpose(-2, -1))[0]  # (2, query, key)
    sliders = {"position": [0, length - 1], "offset": [1 - length, length - 1]}
    return {"sliders": sliders}, _to_numpy(turned=rotated, scores=scores, unturned=keys @ q)


def alibi(n_heads: int, side: int) -> Parts:
    check_ranges(n_heads=n_heads, side=side)
    scheme, positions = Alibi(n_heads), torch.arange(side)
    bias = scheme.bias(positions, positions)  # (head, query, key)
    return {"heads": n_heads}, _to_numpy(
        slopes=scheme.slopes, bias=bias, causal=causal_mask(positions, positions).byte()
    )


def t5(n_buckets: int, max_distance: int, side: int) -> Parts:
    """Buckets one-sided (0) and two-sided (1), by offset and as a matrix."""
    check_ranges(n_buckets=n_buckets, max_distance=max_distance, side=side)
    if max_distance <= n_buckets // 2:
        raise InputError(
            "max_distance must be more than {half}: so many distances have a bucket of their own.",
            half=n_buckets // 2,
        )
    farthest = max_distance + max_distance // 4
    offsets, positions = torch.arange(-farthest, farthest + 1), torch.arange(side)
    matrix = positions - positions[:, None]  # key − query

    def buckets(offset: Tensor) -> Tensor:
        sides = [t5_bucket(offset, n_buckets, max_distance, two_sided) for two_sided in (False, True)]
        return torch.stack(sides).int()

    return {"n_buckets": n_buckets}, _to_numpy(
        offsets=offsets.int(), buckets=buckets(offsets), matrix=buckets(matrix)
    )


def no_positions(text: str, order: str, seed: int) -> Parts:
    """One sentence and a permutation of its words, read by the same untrained model with each scheme.

    cosines (scheme, word, permuted word) of the output vectors; apart (scheme,): the largest difference between the
    outputs for the same word in both orders. The last row of both: no positions, but a causal mask.
    """
    check_ranges(seed=seed)
    words = text.split()
    if not 2 <= len(words) <= MAX_WORDS or any(len(word) > 24 for word in words):
        raise InputError(
            "Type 2 to {most_words} words of at most 24 letters, with spaces between them.",
            most_words=MAX_WORDS,
        )
    permutation = _permutation(len(words), order, seed)
    vocabulary = list(dict.fromkeys(words))
    ids = torch.tensor([[vocabulary.index(word) for word in words]])
    cosines, differences = [], []
    for scheme, causal in [*((scheme, False) for scheme in SCHEMES), ("none", True)]:
        first, second = (_encode(scheme, causal, rows) for rows in (ids, ids[:, permutation]))  # (word, d_model)
        cosines.append(nn.functional.normalize(first, dim=-1) @ nn.functional.normalize(second, dim=-1).T)
        differences.append((first[permutation] - second).abs().max())
    header = {"words": words, "places": permutation.tolist(), "order": order, "schemes": [*SCHEMES, "causal"]}
    return header, _to_numpy(cosines=torch.stack(cosines), apart=torch.stack(differences))


def _permutation(n: int, order: str, seed: int) -> Tensor:
    """For each word of the new order, its position in the old one."""
    if order == "reverse":
        return torch.arange(n).flip(0)
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def _encode(scheme: str, causal: bool, ids: Tensor) -> Tensor:
    """(word, d_model): the last layer of an untrained model, the same weights every time."""
    with seeded(0):
        model: Any = core.build("gpt" if causal else "transformer", position=scheme, **SMALL_MODEL).eval()
    return model(ids).hidden[0] if causal else model.encode(ids).hidden[0]


def learned(run: str) -> Parts:
    """A run's learned tables at every snapshot, their change since the first, the cosines of both, and its norm."""
    source = _find_trained(run, Learned)
    if source.is_checkpoint:
        return source.header("learnedSnapshot"), _checkpoint_tables(source)
    rows = min(MAX_TABLE_ROWS, source.max_len, 2 * source.trained)
    arrays = {}
    for name in source.modules:
        tables = source.weights(f"{name}.weight")[:, :rows]  # (snapshot, position, d_model)
        added = tables - tables[0]
        for kind, vectors in {"": tables, "added_": added}.items():
            unit = nn.functional.normalize(vectors, dim=-1)
            arrays |= _to_numpy(**{f"{name}.{kind}table": vectors, f"{name}.{kind}cosines": unit @ unit.mT})
        arrays |= _to_numpy(**{f"{name}.moved": added.norm(dim=-1)})  # (snapshot, position)
    return source.header("learnedSnapshot"), arrays


def _checkpoint_tables(source: TrainedPositions) -> dict[str, np.ndarray]:
    """Tables and their cosines, each (1, position, …); there is no first snapshot to compare with."""
    arrays = {}
    for name, module in source.modules.items():
        table = source.weights(f"{name}.weight")[:, module.offset : module.offset + MAX_CHECKPOINT_ROWS]
        unit = nn.functional.normalize(table, dim=-1)
        arrays |= _to_numpy(**{f"{name}.table": table, f"{name}.cosines": unit @ unit.mT})
    return arrays


def t5_trained(run: str) -> Parts:
    """The trained bias on the scores by offset, at every snapshot: (snapshot, head, offset)."""
    source = _find_trained(run, T5Bias)
    offsets = torch.arange(-MAX_OFFSET, MAX_OFFSET + 1)
    arrays = {}
    for name, module in source.modules.items():
        query, keys = torch.tensor([MAX_OFFSET]), torch.arange(2 * MAX_OFFSET + 1)
        viewer = deepcopy(module)  # a new one would draw from torch's global generator, which other threads use
        biases = []
        for table in source.weights(f"{name}.table.weight"):  # (bucket, head)
            viewer.table.weight.data = table
            biases.append(viewer.bias(query, keys)[:, 0].detach())
        arrays |= _to_numpy(**{f"{name}.bias": torch.stack(biases)})
    one_sided = [name for name, module in source.modules.items() if not module.two_sided]
    heads = arrays[f"{name}.bias"].shape[1]
    header = {**source.header("t5Snapshot"), "offsets": offsets.tolist(), "one_sided": one_sided, "heads": heads}
    return header, arrays


@dataclass(frozen=True)
class TrainedPositions:
    """A run and its position modules of one kind."""

    name: str | None  # of the run; None: an untrained model
    requested: bool  # is it the run in the request, not one shown in its place?
    max_len: int
    modules: dict[str, Any]  # `Learned` or `T5Bias`, by path
    snapshots: list[tuple[int, dict[str, Tensor]]]  # step and weights
    trained: int  # tokens in the longest row of its training
    is_checkpoint: bool = False

    def weights(self, name: str) -> Tensor:
        """(snapshot, …)"""
        return torch.stack([weights[name].float() for _, weights in self.snapshots])

    def header(self, own_key: str) -> dict[str, Any]:
        """`moment`: the key of the page's state that chooses the snapshot; a run shown in place of another has its own."""
        title = in_all_languages(INTRODUCTIONS[self.name].title) if self.name and not self.requested else None
        return {
            "run": self.name,
            "asked": self.requested,
            "moment": "snapshot" if self.requested else own_key,
            "title": title,
            "steps": [step for step, _ in self.snapshots],
            "trained": self.trained,
            "parts": list(self.modules),
            "checkpoint": {"positions": self.max_len} if self.is_checkpoint else None,
        }


def _find_trained(name: str, kind: type[nn.Module]) -> TrainedPositions:
    """The requested run, if it has such modules; else a shipped run; else, for T5's bias, an untrained T5."""
    fallback = FALLBACK_RUNS[kind]
    for candidate in (name, fallback) if fallback in shipped.names() else (name,):
        run = run_registry.open_run(candidate).run
        if modules := _modules_of_kind(run.model, kind):
            return _trained_positions(candidate, candidate == name, run, modules)
    if kind is Learned:
        raise InputError("No run here has learned positions.")
    with seeded(0):
        model = core.build("t5", d_model=64, n_heads=4, vocab_size=32)
    weights = {path: parameter.detach() for path, parameter in model.named_parameters()}
    return TrainedPositions(None, False, _max_len(model), _modules_of_kind(model, kind), [(0, weights)], 0)


def _trained_positions(name: str, requested: bool, run: AnyRun, modules: dict[str, nn.Module]) -> TrainedPositions:
    snapshots = [(snapshot.step, snapshot.weights) for snapshot in run.snapshots]
    trained = run.task.max_tokens(run.task.form(run.model))
    return TrainedPositions(
        name, requested, _max_len(run.model), modules, snapshots, trained, isinstance(run, PretrainedRun)
    )


def _max_len(model: nn.Module) -> int:
    config: Any = model.config
    return config.max_len


def _modules_of_kind(model: nn.Module, kind: type[nn.Module]) -> dict[str, nn.Module]:
    return {name: module for name, module in model.named_modules() if isinstance(module, kind)}


def _to_numpy(**tensors: Tensor) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}
