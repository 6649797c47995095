"""From a model to text: the next token, again and again."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from core.decoding.beam import beam
from core.decoding.options import Decoding
from core.decoding.strategies import Choice, Watch, Written, one_by_one
from core.decoding.writers import make_writer
from core.layers.masks import check_input
from core.models import takes_two
from core.options import ConfigError, Text

PAD, BOS, EOS = 0, 1, 2


def generate(model: nn.Module, ids: Tensor, lengths: Tensor | None = None, **options: Any) -> Tensor:
    """(batch · n_best, ≤ max_new): what the model writes after `ids` (one-sequence families) or as their translation.

    `core.generate(model, ids, strategy="beam", beams=4, max_new=20)`; the options are those of `Decoding` and `write`.
    """
    return write(model, ids, lengths, **options).tokens


@torch.no_grad()
def write(
    model: nn.Module,
    ids: Tensor,
    lengths: Tensor | None = None,
    *,
    bos: int = BOS,
    eos: int | None = EOS,
    pad: int = PAD,
    cache: bool = True,
    watch: Watch | None = None,
    **options: Any,
) -> Written:
    """As `generate`, with the texts' scores; `watch` is shown every choice.

    A row ends with `eos` and is then filled with `pad`; nothing is written past the model's max_len. The model is
    left in the mode it was in. Without `cache` the whole text is read again at every step: slower, the same numbers.
    """
    how = Decoding.make(**options)
    if not writes(model):
        raise ConfigError(
            "head",
            model.config.head,
            Text("this model does not predict next tokens.", "此模型不预测下一个词元。"),
            Text("Build it with head='lm', or use an encoder–decoder.", "请用 head='lm' 构建，或使用编码器–解码器。"),
        )
    lengths = check_input(ids, lengths, model.config.vocab_size, model.config.max_len)
    if takes_two(model):
        texts, room = [[bos] for _ in ids], model.config.max_len
    else:
        texts = texts_of(ids, lengths)
        room = model.config.max_len - max(map(len, texts))
    was_training = model.training
    model.eval()
    try:
        writer = make_writer(model, ids, lengths, bos, cache)
        choose = beam if how.strategy == "beam" else one_by_one
        if room < 1:
            return Written(ids.new_empty(len(ids) * how.n_best, 0), torch.zeros(len(ids) * how.n_best))
        return choose(writer, texts, how, min(how.max_new, room), eos, pad, watch or (lambda choice: None))
    finally:
        model.train(was_training)


def writes(model: nn.Module) -> bool:
    """Does it predict next tokens?"""
    return takes_two(model) or model.config.head == "lm"


def texts_of(ids: Tensor, lengths: Tensor | None) -> list[list[int]]:
    """The rows without their padding."""
    if lengths is None:
        return ids.tolist()
    return [row[:length] for row, length in zip(ids.tolist(), lengths.tolist(), strict=True)]


__all__ = ["Choice", "Decoding", "Written", "generate", "write", "writes"]
