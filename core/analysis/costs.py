"""What a model costs as its input grows: operations, activations, and the state it carries while it writes.

Predictions are formulas in the number of tokens n; `count_flops` and `measure` are what they are held against. One
multiplication with its addition counts as two operations; only products of matrices count, as is usual.
Encoder–decoders read n tokens and write n. For a family without a formula the operations are counted.
"""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from core.architecture.anatomy import anatomy
from core.architecture.build_meta import build_meta
from core.capture.tape import capture
from core.config.families import Config, EncoderDecoderConfig, RecurrentConfig, Seq2SeqConfig, TransformerConfig
from core.layers.feedforward import GATED
from core.models import build, is_encoder_decoder
from core.seeding import seeded

GATES = {"rnn": 1, "gru": 3, "lstm": 4}  # products per step and direction
STATES = {"rnn": 1, "gru": 1, "lstm": 2}
BYTES = 4  # of a float32
POINTER_HEAD = 64  # d_head of GlobalPointer
ROUNDS, PATIENCE = 7, 0.6  # a time is the quickest of so many passes, or of those that fit into so many seconds


@lru_cache(maxsize=256)
def parameter_count(config: Config) -> int:
    """Of a model that need not be built."""
    return sum(weight.numel() for weight in build_meta(config).parameters())


def flops(config: Config, n: int) -> dict[str, int]:
    """Operations of one pass over n tokens, by what they are for where that is known."""
    if isinstance(config, RecurrentConfig) and config.family in GATES:
        return _recurrent_flops(config, n)
    if isinstance(config, Seq2SeqConfig):
        return _seq2seq_flops(config, n)
    if isinstance(config, TransformerConfig):
        return _transformer_flops(config, n)
    return {"all": _hollow_flops(config, n)}


@lru_cache(maxsize=256)
def _hollow_flops(config: Config, n: int) -> int:
    return count_flops(build_meta(config), n)


def _transformer_flops(config: TransformerConfig, n: int) -> dict[str, int]:
    d, inner, kv = config.d_model, config.n_heads * config.head_width, config.kv_heads * config.head_width
    two = isinstance(config, EncoderDecoderConfig)
    layers = config.n_layers + (config.decoder_layers if two else 0)
    matrices = 3 if config.activation in GATED else 2
    found = {
        "projections": layers * (4 * n * d * inner + 4 * n * d * kv),
        "attention": sum(4 * compared(config, n, causal) * inner for causal in _stacks(config)),
        "feed-forward": layers * 2 * matrices * n * d * config.ff_width,
    }
    if two:
        memory = -(-n // config.downsample)
        found["projections"] += config.decoder_layers * (4 * n * d * inner + 4 * memory * d * kv)
        found["attention"] += config.decoder_layers * 4 * n * memory * inner
    return {**found, "head": _head_flops(config, d, n)}


def _stacks(config: TransformerConfig) -> list[bool]:
    """For every layer: is it causal?"""
    if isinstance(config, EncoderDecoderConfig):
        return [False] * config.n_layers + [True] * config.decoder_layers
    return [getattr(config, "causal", False)] * config.n_layers


def compared(config: TransformerConfig, n: int, causal: bool) -> int:
    """How many pairs of query and key one head compares: n², or n times a few windows."""
    if config.attention == "full":
        return n * n
    window = min(config.window, n)
    return -(-n // window) * window * (2 if causal else 3) * window


def _recurrent_flops(config: RecurrentConfig, n: int) -> dict[str, int]:
    directions = 2 if config.bidirectional else 1
    return {
        "recurrence": _layers_flops(config.family, n, config.d_embed, config.d_hidden, config.n_layers, directions),
        "head": _head_flops(config, directions * config.d_hidden, n),
    }


def _layers_flops(cell: str, n: int, d_in: int, unit: int, layers: int, directions: int) -> int:
    inputs = d_in + (layers - 1) * directions * unit
    return 2 * n * GATES[cell] * unit * directions * (inputs + layers * unit)


def recurrent_steps(config: Config, n: int) -> int:
    """Steps of all recurrent layers in one pass: few operations each, but taken one by one while somebody looks."""
    if not isinstance(config, RecurrentConfig | Seq2SeqConfig):
        return 0
    decoders = 1 if isinstance(config, Seq2SeqConfig) else 0
    return n * config.n_layers * ((2 if config.bidirectional else 1) + decoders)


def _seq2seq_flops(config: Seq2SeqConfig, n: int) -> dict[str, int]:
    unit, looks = config.d_hidden, config.attention != "none"
    directions = 2 if config.bidirectional else 1
    extra = unit if config.attention == "bahdanau" else 0
    encoder = _layers_flops(config.cell, n, config.d_embed, unit // directions, config.n_layers, directions)
    decoder = _layers_flops(config.cell, n, config.d_embed + extra, unit, config.n_layers, 1)
    projected = {"luong-general": 1, "bahdanau": 2, "luong-concat": 2}.get(config.attention, 0)
    # v · tanh(…) costs as much as query · key; the last term is W_c [context; h]
    attention = looks * (4 * n * n * unit + projected * 2 * n * unit * unit + 4 * n * unit * unit)
    return {
        "recurrence": encoder + decoder,
        "attention": attention,
        "head": 2 * n * unit * config.vocab_size,
    }


def _head_flops(config: Config, width: int, n: int) -> int:
    head = getattr(config, "head", "lm")
    labels = config.vocab_size if head in ("lm", "mlm") else getattr(config, "n_labels", 0)
    pooler = 2 * width * width if getattr(config, "pooler", "none") != "none" else 0
    if head == "none":
        return pooler
    if head == "classifier":
        return pooler + 2 * width * labels
    if head == "pointer":
        return pooler + 4 * n * width * labels * POINTER_HEAD + 2 * labels * n * n * POINTER_HEAD
    if head == "qa":
        return pooler + 4 * n * width
    dense = 2 * n * width * width + 4 * width * config.has_next_sentence_head if head == "mlm" else 0
    return pooler + dense + 2 * n * width * labels


@lru_cache(maxsize=64)
def activation_formula(config: Config) -> tuple[int, int, int]:
    """(a, b, c): all stations of one pass take a + b·n + c·n² bytes; read off their shapes at three lengths."""
    step = getattr(config, "downsample", 1)
    x = [step * i for i in (1, 2, 3) if step * i <= config.max_len]
    sizes = [_station_bytes(config, n) for n in x]
    while len(sizes) < 3:  # a model that takes so few tokens is a constant, or a line
        sizes.append(2 * sizes[-1] - sizes[-2] if len(sizes) > 1 else sizes[-1])
    c = (sizes[2] - 2 * sizes[1] + sizes[0]) // (2 * step * step)
    b = (sizes[1] - sizes[0] - 3 * c * step * step) // step
    return sizes[0] - b * step - c * step * step, b, c


def _station_bytes(config: Config, n: int) -> int:
    parts = anatomy(config, time=n, target_time=n).root.walk()
    return sum(
        _size(part.shape) * (1 if part.path.endswith(".mask") else BYTES) for part in parts if part.kind == "point"
    )


def _size(shape: tuple[int, ...]) -> int:
    total = 1
    for side in shape:
        total *= side
    return total


def activation_bytes(config: Config, n: int) -> int:
    a, b, c = activation_formula(config)
    return a + b * n + c * n * n


def state_bytes(config: Config, n: int) -> int | None:
    """What must be kept to write the next token after n: a recurrent state, or keys and values.

    None: it writes nothing, or is of a family that nobody told about here.
    """
    if isinstance(config, RecurrentConfig) and config.family in STATES:
        return None if config.bidirectional else BYTES * STATES[config.family] * config.n_layers * config.d_hidden
    if isinstance(config, Seq2SeqConfig):
        memory = n * config.d_hidden if config.attention != "none" else 0
        return BYTES * (STATES[config.cell] * config.n_layers * config.d_hidden + memory)
    if not isinstance(config, TransformerConfig):
        return None
    kept = min(n, config.window + 1) if config.attention == "local" else n
    width = 2 * config.kv_heads * config.head_width
    if isinstance(config, EncoderDecoderConfig):
        return BYTES * config.decoder_layers * width * (kept + -(-n // config.downsample))
    return BYTES * config.n_layers * width * kept if getattr(config, "causal", False) else None


@dataclass(frozen=True)
class Measured:
    n: int
    seconds: float  # of one pass as it runs while nobody looks
    flops: int  # as torch counts them
    activation_bytes: int  # of everything on the tape
    saved_bytes: int  # what torch keeps for the backward pass


def measure(model: nn.Module, n: int) -> Measured:
    """One length, on this machine."""
    inputs = _example(model, n)
    with torch.no_grad(), capture(model) as tape:
        model(*inputs)
    on_tape = sum(value.numel() * value.element_size() for value in tape.values())
    return Measured(n, _seconds(model, inputs), count_flops(model, n), on_tape, _saved_bytes(model, inputs))


@torch.no_grad()
def count_flops(model: nn.Module, n: int) -> int:
    """By torch's counter, which knows products of matrices: attention without its fused kernel, cells step by step."""
    inputs = [ids.to(next(model.parameters()).device) for ids in _example(model, n)]
    with sdpa_kernel(SDPBackend.MATH), capture(model, "*layers.*"), FlopCounterMode(display=False) as counter:
        model(*inputs)
    return counter.get_total_flops()


def _example(model: nn.Module, n: int) -> list[Tensor]:
    ids = torch.randint(1, model.config.vocab_size, (1, n), generator=torch.Generator().manual_seed(0))
    return [ids, ids] if is_encoder_decoder(model) else [ids]


@torch.no_grad()
def _seconds(model: nn.Module, inputs: list[Tensor]) -> float:
    model(*inputs)
    taken: list[float] = []
    while len(taken) < ROUNDS and sum(taken) < PATIENCE:
        start = clock.perf_counter()
        model(*inputs)
        taken.append(clock.perf_counter() - start)
    return min(taken)


def _saved_bytes(model: nn.Module, inputs: list[Tensor]) -> int:
    """Storages kept for the backward pass, less the parameters, which are there anyway."""
    own = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, int] = {}
    held: list[Any] = []  # so that no address is used twice

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        held.append(storage)
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(*inputs)
    return sum(kept.values())


def fresh(config: Config, seed: int = 0) -> nn.Module:
    with seeded(seed):
        return build(config).eval()
