"""What each position scheme looks like: arrays read off core's own modules, for the Positions tab.

Every function takes small numbers and gives (header, arrays); the page moves about in them without asking again.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

import core
from app.i18n import in_all_languages
from app.service.runs import run_registry, shipped
from app.service.runs.shipped_introductions import INTRODUCTIONS
from core import InputError
from core.layers.masks import causal_mask
from core.layers.positions import AlibiBias, LearnedPosition, RotaryPosition, SinusoidalPosition, T5Bias, t5_bucket
from core.messages import Text, verbatim
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run
from core.seeding import seeded

Picture = tuple[dict, dict[str, np.ndarray]]
# shown when the run looked at has no such part
STAND_IN = {LearnedPosition: "reverse-transformer", T5Bias: "reverse-t5"}
LONGEST_TABLE = 64  # positions of a learned table that are drawn
LONGEST_GIVEN = 128  # of a checkpoint's, of which there is only one to be drawn
OFFSETS = 32  # offsets on either side for which a trained bias is drawn
SCHEMES = ("none", "sinusoidal", "learned", "rope", "alibi", "t5")
MOST_WORDS = 12
READER = {"n_layers": 2, "n_heads": 4, "d_model": 32, "vocab_size": MOST_WORDS, "max_len": MOST_WORDS}


@dataclass(frozen=True)
class Limit:
    """What a slider may be; the page makes its sliders from these."""

    low: int
    high: int
    default: int
    step: int = 1


LIMITS = {
    "d_model": Limit(4, 128, 32, 2),
    "d_head": Limit(2, 64, 16, 2),
    "n_heads": Limit(1, 16, 8),
    "length": Limit(8, 128, 64),
    "side": Limit(4, 48, 16),  # of a matrix drawn cell by cell
    "n_buckets": Limit(4, 64, 32, 4),
    "max_distance": Limit(4, 256, 128, 4),
    "seed": Limit(0, 999, 0),
}


def check(**values: int) -> None:
    for name, value in values.items():
        limit = LIMITS[name]
        if not limit.low <= value <= limit.high or (value - limit.low) % limit.step:
            raise InputError(
                "{name} goes from {low} to {high}{by}; {value} is not possible.",
                name=name,
                low=limit.low,
                high=limit.high,
                by=Text(" in steps of {step}", step=limit.step) if limit.step > 1 else verbatim(""),
                value=value,
            )


def sinusoidal(d_model: int, length: int) -> Picture:
    check(d_model=d_model, length=length)
    table = SinusoidalPosition(length, d_model)(torch.arange(length))  # (position, d_model)
    return {}, _plain(table=table, dots=table @ table.T)


def rope(d_head: int, length: int, seed: int) -> Picture:
    """The turn of every pair at every position, and q·k for one q and two keys: q itself, and another."""
    check(d_head=d_head, length=length, seed=seed)
    rotary, positions = RotaryPosition(length, d_head), torch.arange(length)
    east = torch.tensor([1.0, 0.0]).repeat(d_head // 2).expand(1, 1, length, d_head)
    turned = rotary.rotate(east, positions)[0, 0].unflatten(-1, (-1, 2))  # (position, pair, 2)
    q, other = torch.randn(2, d_head, generator=torch.Generator().manual_seed(seed)) / d_head**0.5
    keys = torch.stack([q, other])
    turned_q = rotary.rotate(q.expand(1, 1, length, d_head), positions)  # (1, 1, query, d_head)
    turned_k = rotary.rotate(keys[None, :, None].expand(1, 2, length, d_head), positions)  # (1, 2, key, d_head)
    scores = (turned_q @ turned_k.transpose(-2, -1))[0]  # (2, query, key)
    return {}, _plain(turned=turned, scores=scores, unturned=keys @ q)


def alibi(n_heads: int, side: int) -> Picture:
    check(n_heads=n_heads, side=side)
    scheme, positions = AlibiBias(n_heads), torch.arange(side)
    bias = scheme.bias(positions, positions)  # (head, query, key)
    return {}, _plain(slopes=scheme.slopes, bias=bias, causal=causal_mask(positions, positions).byte())


def t5(n_buckets: int, max_distance: int, side: int) -> Picture:
    """Buckets one-sided (0) and two-sided (1), by offset and as a matrix."""
    check(n_buckets=n_buckets, max_distance=max_distance, side=side)
    if max_distance <= n_buckets // 2:
        raise InputError(
            "max_distance must be more than {half}: so many distances have a bucket of their own.",
            half=n_buckets // 2,
        )
    far = max_distance + max_distance // 4
    offsets, positions = torch.arange(-far, far + 1), torch.arange(side)
    between = positions - positions[:, None]  # key − query

    def buckets(of: Tensor) -> Tensor:
        return torch.stack([t5_bucket(of, n_buckets, max_distance, two_sided) for two_sided in (False, True)]).int()

    return {}, _plain(offsets=offsets.int(), buckets=buckets(offsets), matrix=buckets(between))


def none(text: str, order: str, seed: int) -> Picture:
    """One sentence and its words in another order, read by the same untrained model with each scheme.

    cosines (scheme, word, word of the other order) of what comes out; apart (scheme,): the largest change of any number
    in the output at a word that has only moved. The last row of both: no positions, but a causal mask.
    """
    check(seed=seed)
    words = text.split()
    if not 2 <= len(words) <= MOST_WORDS or any(len(word) > 24 for word in words):
        raise InputError(
            "Type 2 to {most_words} words of at most 24 letters, with spaces between them.",
            most_words=MOST_WORDS,
        )
    places = _places(len(words), order, seed)
    known = list(dict.fromkeys(words))
    ids = torch.tensor([[known.index(word) for word in words]])
    cosines, apart = [], []
    for scheme, causal in [*((scheme, False) for scheme in SCHEMES), ("none", True)]:
        first, second = (_read(scheme, causal, rows) for rows in (ids, ids[:, places]))  # (word, d_model)
        cosines.append(nn.functional.normalize(first, dim=-1) @ nn.functional.normalize(second, dim=-1).T)
        apart.append((first[places] - second).abs().max())
    header = {"words": words, "places": places.tolist(), "schemes": [*SCHEMES, "causal"]}
    return header, _plain(cosines=torch.stack(cosines), apart=torch.stack(apart))


def _places(n: int, order: str, seed: int) -> Tensor:
    """For each word of the other order, where it stood."""
    if order == "reverse":
        return torch.arange(n).flip(0)
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def _read(scheme: str, causal: bool, ids: Tensor) -> Tensor:
    with seeded(0):
        model = core.build("gpt" if causal else "transformer", position=scheme, **READER).eval()
    return model(ids).hidden[0] if causal else model.encode(ids).hidden[0]


def learned(run: str) -> Picture:
    """A run's learned tables at every snapshot, and what training added; the cosines of both; how far each row moved."""
    source = _source(run, LearnedPosition)
    if source.given:
        return source.header(), _given_tables(source)
    rows = min(LONGEST_TABLE, source.model.config.max_len, 2 * source.trained)
    arrays = {}
    for name in source.parts:
        tables = source.weights(f"{name}.weight")[:, :rows]  # (snapshot, position, d_model)
        added = tables - tables[0]
        for kind, rows_of in {"": tables, "added_": added}.items():
            unit = nn.functional.normalize(rows_of, dim=-1)
            arrays |= _plain(**{f"{name}.{kind}table": rows_of, f"{name}.{kind}cosines": unit @ unit.mT})
        arrays |= _plain(**{f"{name}.moved": added.norm(dim=-1)})  # (snapshot, position)
    return source.header(), arrays


def _given_tables(source: Source) -> dict[str, np.ndarray]:
    """Of a checkpoint: its tables and their cosines, each (1, position, …); nobody knows how they began."""
    arrays = {}
    for name, part in source.parts.items():
        table = source.weights(f"{name}.weight")[:, part.offset : part.offset + LONGEST_GIVEN]
        unit = nn.functional.normalize(table, dim=-1)
        arrays |= _plain(**{f"{name}.table": table, f"{name}.cosines": unit @ unit.mT})
    return arrays


def t5_trained(run: str) -> Picture:
    """What a run's heads add to their scores by offset, at every snapshot: (snapshot, head, offset)."""
    source = _source(run, T5Bias)
    offsets = torch.arange(-OFFSETS, OFFSETS + 1)
    arrays = {}
    for name, part in source.parts.items():
        query, keys = torch.tensor([OFFSETS]), torch.arange(2 * OFFSETS + 1)
        viewer = deepcopy(part)  # a new one would draw its table, perhaps while another thread draws weights
        biases = []
        for table in source.weights(f"{name}.table.weight"):  # (bucket, head)
            viewer.table.weight.data = table
            biases.append(viewer.bias(query, keys)[:, 0].detach())
        arrays |= _plain(**{f"{name}.bias": torch.stack(biases)})
    one_sided = [name for name, part in source.parts.items() if not part.two_sided]
    return {**source.header(), "offsets": offsets.tolist(), "one_sided": one_sided}, arrays


@dataclass(frozen=True)
class Source:
    """Where trained positions are read from: a run and its parts of one kind."""

    name: str | None  # None: an untrained model
    asked: bool  # is it the run that is being looked at?
    model: nn.Module
    parts: dict[str, nn.Module]
    snapshots: list[tuple[int, dict[str, Tensor]]]
    trained: int  # tokens in the longest row of its training
    given: bool = False  # is it a checkpoint?

    def weights(self, name: str) -> Tensor:
        """(snapshot, …)"""
        return torch.stack([weights[name].float() for _, weights in self.snapshots])

    def header(self) -> dict:
        stands_in = self.name and not self.asked
        return {
            "run": self.name,
            "asked": self.asked,
            "title": in_all_languages(INTRODUCTIONS[self.name].title) if stands_in else None,
            "steps": [step for step, _ in self.snapshots],
            "trained": self.trained,
            "parts": list(self.parts),
            "checkpoint": {"positions": self.model.config.max_len} if self.given else None,
        }


def _source(run: str, kind: type[nn.Module]) -> Source:
    """The run asked for, if it has such parts; else the shipped one that stands in; else, for buckets, an untrained T5."""
    stand_in = STAND_IN[kind]
    for name in (run, stand_in) if stand_in in shipped.names() else (run,):
        opened = run_registry.open_run(name).run
        if parts := _parts(opened.model, kind):
            return _of_run(name, name == run, opened, parts)
    if kind is LearnedPosition:
        raise InputError("No run here has learned positions.")
    with seeded(0):
        model = core.build("t5", d_model=64, n_heads=4, vocab_size=32)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    return Source(None, False, model, _parts(model, kind), [(0, weights)], 0)


def _of_run(name: str, asked: bool, run: Run | PretrainedRun, parts: dict[str, nn.Module]) -> Source:
    snapshots = [(snapshot.step, snapshot.weights) for snapshot in run.snapshots]
    return Source(
        name,
        asked,
        run.model,
        parts,
        snapshots,
        run.task.room(run.task.form(run.model)),
        isinstance(run, PretrainedRun),
    )


def _parts(model: nn.Module, kind: type[nn.Module]) -> dict[str, nn.Module]:
    return {name: module for name, module in model.named_modules() if isinstance(module, kind)}


def _plain(**tensors: Tensor) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}
