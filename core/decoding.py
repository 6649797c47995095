"""From a model to text: the next token, again and again."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from core.layers.masks import check_input
from core.models import takes_two
from core.options import ConfigError, Text

PAD, BOS, EOS = 0, 1, 2
STRATEGIES = ("greedy",)


@torch.no_grad()
def generate(
    model: nn.Module,
    ids: Tensor,
    lengths: Tensor | None = None,
    *,
    strategy: str = "greedy",
    max_new: int = 20,
    bos: int = BOS,
    eos: int | None = EOS,
) -> Tensor:
    """(batch, ≤ max_new): what the model writes after `ids` (one-sequence families) or as their translation.

    A row ends with `eos` and is then filled with padding; nothing is written past the model's max_len. The model is
    left in the mode it was in.
    """
    if strategy not in STRATEGIES:
        listed = ", ".join(STRATEGIES)
        raise ConfigError(
            "strategy",
            strategy,
            Text("there is no such strategy.", "没有这种策略。"),
            Text(f"Use {listed}.", f"请用 {listed}。"),
        )
    if not isinstance(max_new, int) or max_new < 1:
        raise ConfigError(
            "max_new",
            max_new,
            Text("there must be something to write.", "必须要写点什么。"),
            Text("Use at least 1.", "请至少用 1。"),
        )
    if not writes(model):
        raise ConfigError(
            "head",
            model.config.head,
            Text("this model does not predict next tokens.", "此模型不预测下一个符号。"),
            Text("Build it with head='lm', or use an encoder–decoder.", "请用 head='lm' 构建，或使用编码器–解码器。"),
        )
    check_input(ids, lengths, model.config.vocab_size, model.config.max_len)
    room = model.config.max_len if takes_two(model) else model.config.max_len - _longest(ids, lengths)
    was_training = model.training
    model.eval()
    try:
        next_logits = _translator(model, ids, lengths, bos) if takes_two(model) else _continuer(model, ids, lengths)
        return _greedy(next_logits, len(ids), ids.device, min(max_new, room), eos)
    finally:
        model.train(was_training)


def writes(model: nn.Module) -> bool:
    """Does it predict next tokens?"""
    return takes_two(model) or model.config.head == "lm"


def _longest(ids: Tensor, lengths: Tensor | None) -> int:
    return ids.shape[1] if lengths is None else int(lengths.max())


def _greedy(next_logits, batch: int, device: torch.device, max_new: int, eos: int | None) -> Tensor:
    written = torch.empty(batch, 0, dtype=torch.long, device=device)
    ended = torch.zeros(batch, dtype=torch.bool, device=device)
    while written.shape[1] < max_new and not ended.all():
        token = next_logits(written).argmax(-1).masked_fill(ended, PAD)
        written = torch.cat([written, token[:, None]], dim=1)
        ended = ended | (token == eos) if eos is not None else ended
    return written


def _translator(model: nn.Module, src: Tensor, lengths: Tensor | None, bos: int):
    """What has been written → logits of the next target token; the source is encoded once."""
    memory = model.encode(src, lengths)
    start = src.new_full((len(src), 1), bos)
    return lambda written: model.decode(torch.cat([start, written], dim=1), memory).logits[:, -1]


def _continuer(model: nn.Module, ids: Tensor, lengths: Tensor | None):
    """What has been written → logits of the next token; each row goes on where its own prefix ends."""
    prefix = torch.full((len(ids),), ids.shape[1], device=ids.device) if lengths is None else lengths
    rows = torch.arange(len(ids), device=ids.device)

    def next_logits(written: Tensor) -> Tensor:
        new = written.shape[1]
        joined = torch.cat([ids, ids.new_zeros(len(ids), new)], dim=1)
        places = prefix[:, None] + torch.arange(new, device=ids.device)  # (batch, new)
        joined = joined.scatter(1, places, written)[:, : int(prefix.max()) + new]
        return model(joined, prefix + new).logits[rows, prefix + new - 1]

    return next_logits
