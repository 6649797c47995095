"""Costs of a model as a function of the input length n: FLOPs, activation memory, and state while generating.

`flops`, `activation_bytes` and `state_bytes` predict by formulas in n; `count_flops` and `measure` run the model. A multiplication with its addition is two FLOPs;
only matrix products count, as is usual. Encoder–decoders read n tokens and write n. For a family without a formula the
FLOPs are counted on the meta device.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from core.architecture.anatomy import anatomy
from core.architecture.meta_model import build_meta
from core.capture.tape import capture
from core.config.families import (
    BertConfig,
    Config,
    EncoderDecoderConfig,
    RecurrentConfig,
    Seq2SeqConfig,
    TransformerConfig,
)
from core.layers.feedforward import GATED
from core.models import build, is_encoder_decoder
from core.seeding import seeded

GATES = {"rnn": 1, "gru": 3, "lstm": 4}  # matrix products per position and direction
STATES = {"rnn": 1, "gru": 1, "lstm": 2}  # vectors
FLOAT_BYTES = 4
POINTER_HEAD = 64  # d_head of GlobalPointer
MOST_PASSES, MOST_SECONDS = 7, 0.6  # a time is the minimum over several passes, up to either limit


@lru_cache(maxsize=256)
def parameter_count(config: Config) -> int:
    """The number of parameters, without allocating the model."""
    return sum(weight.numel() for weight in build_meta(config).parameters())


def flops(config: Config, n: int) -> dict[str, int]:
    """FLOPs of one forward pass over n tokens, by purpose; "all" for a family without a formula."""
    if isinstance(config, RecurrentConfig) and config.family in GATES:
        return _recurrent_flops(config, n)
    if isinstance(config, Seq2SeqConfig):
        return _seq2seq_flops(config, n)
    if isinstance(config, TransformerConfig):
        return _transformer_flops(config, n)
    return {"all": _counted_flops(config, n)}


@lru_cache(maxsize=256)
def _counted_flops(config: Config, n: int) -> int:
    return count_flops(build_meta(config), n)


def _transformer_flops(config: TransformerConfig, n: int) -> dict[str, int]:
    d, inner, kv = config.d_model, config.n_heads * config.head_width, config.kv_heads * config.head_width
    layers = config.n_layers + (config.decoder_layers if isinstance(config, EncoderDecoderConfig) else 0)
    matrices = 3 if config.activation in GATED else 2
    counts = {
        "projections": layers * (4 * n * d * inner + 4 * n * d * kv),
        "attention": sum(4 * query_key_pairs(config, n, causal) * inner for causal in _causal_layers(config)),
        "feed-forward": layers * 2 * matrices * n * d * config.ff_width,
    }
    if isinstance(config, EncoderDecoderConfig):
        memory = -(-n // config.downsample)
        counts["projections"] += config.decoder_layers * (4 * n * d * inner + 4 * memory * d * kv)
        counts["attention"] += config.decoder_layers * 4 * n * memory * inner
    return {**counts, "head": _head_flops(config, d, n)}


def _causal_layers(config: TransformerConfig) -> list[bool]:
    """For every layer, whether its self-attention is causal."""
    if isinstance(config, EncoderDecoderConfig):
        return [False] * config.n_layers + [True] * config.decoder_layers
    return [getattr(config, "causal", False)] * config.n_layers


def query_key_pairs(config: TransformerConfig, n: int, causal: bool) -> int:
    """Pairs of query and key that one head scores: n², or n times two or three windows."""
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
    input_width = d_in + (layers - 1) * directions * unit  # summed over layers
    return 2 * n * GATES[cell] * unit * directions * (input_width + layers * unit)


def recurrent_updates(config: Config, n: int) -> int:
    """State updates of all recurrent layers in one pass: few FLOPs each, but run one by one under capture."""
    if not isinstance(config, RecurrentConfig | Seq2SeqConfig):
        return 0
    decoders = 1 if isinstance(config, Seq2SeqConfig) else 0
    return n * config.n_layers * ((2 if config.bidirectional else 1) + decoders)


def _seq2seq_flops(config: Seq2SeqConfig, n: int) -> dict[str, int]:
    unit, attends = config.d_hidden, config.attention != "none"
    directions = 2 if config.bidirectional else 1
    extra = unit if config.attention == "bahdanau" else 0
    encoder = _layers_flops(config.cell, n, config.d_embed, unit // directions, config.n_layers, directions)
    decoder = _layers_flops(config.cell, n, config.d_embed + extra, unit, config.n_layers, 1)
    projected = {"luong-general": 1, "bahdanau": 2, "luong-concat": 2}.get(config.attention, 0)
    # v · tanh(…) costs as much as query · key; the last term is W_c [context; h]
    attention = attends * (4 * n * n * unit + projected * 2 * n * unit * unit + 4 * n * unit * unit)
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
    next_sentence = 4 * width * (isinstance(config, BertConfig) and config.has_next_sentence_head)
    dense = 2 * n * width * width + next_sentence if head == "mlm" else 0
    return pooler + dense + 2 * n * width * labels


@lru_cache(maxsize=64)
def activation_formula(config: Config) -> tuple[int, int, int]:
    """(a, b, c): all capture points of one pass take a + b·n + c·n² bytes; fitted to their shapes at three lengths."""
    step = getattr(config, "downsample", 1)
    lengths = [step * i for i in (1, 2, 3) if step * i <= config.max_len]
    sizes = [_capture_point_bytes(config, n) for n in lengths]
    while len(sizes) < 3:  # max_len allows too few lengths for a parabola: a line, or a constant
        sizes.append(2 * sizes[-1] - sizes[-2] if len(sizes) > 1 else sizes[-1])
    c = (sizes[2] - 2 * sizes[1] + sizes[0]) // (2 * step * step)
    b = (sizes[1] - sizes[0] - 3 * c * step * step) // step
    return sizes[0] - b * step - c * step * step, b, c


def _capture_point_bytes(config: Config, n: int) -> int:
    parts = anatomy(config, time=n, target_time=n).root.walk()
    return sum(
        math.prod(part.shape) * (1 if part.path.endswith(".mask") else FLOAT_BYTES)
        for part in parts
        if part.kind == "point" and part.shape is not None
    )


def activation_bytes(config: Config, n: int) -> int:
    a, b, c = activation_formula(config)
    return a + b * n + c * n * n


def state_bytes(config: Config, n: int) -> int | None:
    """Memory needed to generate the next token after n: the recurrent state, or cached keys and values.

    None for a model that does not generate, or a family without a formula.
    """
    if isinstance(config, RecurrentConfig) and config.family in STATES:
        return (
            None if config.bidirectional else FLOAT_BYTES * STATES[config.family] * config.n_layers * config.d_hidden
        )
    if isinstance(config, Seq2SeqConfig):
        memory = n * config.d_hidden if config.attention != "none" else 0
        return FLOAT_BYTES * (STATES[config.cell] * config.n_layers * config.d_hidden + memory)
    if not isinstance(config, TransformerConfig):
        return None
    cached = min(n, config.window + 1) if config.attention == "local" else n
    width = 2 * config.kv_heads * config.head_width
    if isinstance(config, EncoderDecoderConfig):
        return FLOAT_BYTES * config.decoder_layers * width * (cached + -(-n // config.downsample))
    return FLOAT_BYTES * config.n_layers * width * cached if getattr(config, "causal", False) else None


@dataclass(frozen=True)
class MeasuredCost:
    n: int
    seconds: float  # of one forward pass without capture
    flops: int  # by torch's counter
    activation_bytes: int  # of all captured tensors
    saved_bytes: int  # of tensors that autograd keeps for the backward pass


def measure(model: nn.Module, n: int) -> MeasuredCost:
    """The costs of one forward pass over n tokens, measured on this machine."""
    inputs = _example(model, n)
    with torch.no_grad(), capture(model) as tape:
        model(*inputs)
    captured_bytes = sum(value.numel() * value.element_size() for value in tape.values())
    return MeasuredCost(
        n, _seconds(model, inputs), count_flops(model, n), captured_bytes, _saved_bytes(model, inputs)
    )


@torch.no_grad()
def count_flops(model: nn.Module, n: int) -> int:
    """FLOPs by torch's counter, which sees matrix products only: so without fused attention, cells position by position."""
    inputs = [ids.to(next(model.parameters()).device) for ids in _example(model, n)]
    with sdpa_kernel(SDPBackend.MATH), capture(model, "*layers.*"), FlopCounterMode(display=False) as counter:
        model(*inputs)
    return counter.get_total_flops()


def _example(model: nn.Module, n: int) -> list[Tensor]:
    vocab_size = cast(Config, model.config).vocab_size
    ids = torch.randint(1, vocab_size, (1, n), generator=torch.Generator().manual_seed(0))
    return [ids, ids] if is_encoder_decoder(model) else [ids]


@torch.no_grad()
def _seconds(model: nn.Module, inputs: list[Tensor]) -> float:
    model(*inputs)
    durations: list[float] = []
    while len(durations) < MOST_PASSES and sum(durations) < MOST_SECONDS:
        start = time.perf_counter()
        model(*inputs)
        durations.append(time.perf_counter() - start)
    return min(durations)


def _saved_bytes(model: nn.Module, inputs: list[Tensor]) -> int:
    """Bytes of the storages that autograd saves for the backward pass, without those of the parameters."""
    parameters = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    sizes: dict[int, int] = {}
    storages: list[Any] = []  # keeps them alive, so that no address is reused

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages.append(storage)
        if storage.data_ptr() not in parameters:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(*inputs)
    return sum(sizes.values())


def build_seeded(config: Config, seed: int = 0) -> nn.Module:
    """A new model in evaluation mode, its weights determined by the seed."""
    with seeded(seed):
        return build(config).eval()
