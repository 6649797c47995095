"""From a model to text: the next token, again and again."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from core.config import Config
from core.decoding.beam import beam
from core.decoding.options import Decoding
from core.decoding.strategies import Choice, Watch, Written, one_by_one
from core.decoding.writers import make_writer
from core.layers.masks import InputError, check_input
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
    prefix: Tensor | None = None,
    cache: bool = True,
    watch: Watch | None = None,
    **options: Any,
) -> Written:
    """As `generate`, with the texts' scores; `watch` is shown every choice.

    A row ends with `eos` and is then filled with `pad`; so it is where every token is ruled out, and nothing is
    written past the model's max_len. An encoder–decoder goes on from `bos` and, if it is given, from `prefix`
    (batch, time): how its text is to begin. The model is left in the mode it was in. Without `cache` the whole text
    is read again at every step: slower, the same numbers.
    """
    how = Decoding.make(**options)
    if not isinstance(getattr(model, "config", None), Config):
        raise InputError(
            f"Only models made by core.build can write, not {type(model).__name__}.",
            f"只有 core.build 构建的模型可以书写，{type(model).__name__} 不可以。",
        )
    if not writes(model):
        raise ConfigError(
            "head",
            model.config.head,
            Text("this model does not predict next tokens.", "此模型不预测下一个词元。"),
            Text("Build it with head='lm', or use an encoder–decoder.", "请用 head='lm' 构建，或使用编码器–解码器。"),
        )
    lengths = check_input(ids, lengths, model.config.vocab_size, model.config.max_len)
    check_tokens(model.config.vocab_size, bos=bos, eos=eos, pad=pad)
    check_prefix(model, ids, prefix)
    start = ids.new_full((len(ids), 1), bos)
    if takes_two(model):
        start = start if prefix is None else torch.cat([start, prefix.to(ids.device)], dim=1)
        texts, room = start.tolist(), model.config.max_len + 1 - start.shape[1]
    else:
        texts = texts_of(ids, lengths)
        room = model.config.max_len - max(map(len, texts))
    was_training = model.training
    model.eval()
    try:
        writer = make_writer(model, ids, lengths, start, cache)
        choose = beam if how.strategy == "beam" else one_by_one
        if room < 1:
            return Written(ids.new_empty(len(ids) * how.n_best, 0), torch.zeros(len(ids) * how.n_best))
        return choose(writer, texts, how, min(how.max_new, room), eos, pad, watch or (lambda choice: None))
    finally:
        model.train(was_training)


def writes(model: nn.Module) -> bool:
    """Does it predict next tokens?"""
    return takes_two(model) or model.config.head == "lm"


def check_tokens(vocab_size: int, **tokens: int | None) -> None:
    """bos, eos and pad are tokens of the model's; there may be no eos."""
    for name, token in tokens.items():
        if token is None and name == "eos":
            continue
        if type(token) is not int or not 0 <= token < vocab_size:
            none_en, none_zh = (
                (", or None to go on to the last", "，或 None（写到最后）") if name == "eos" else ("", "")
            )
            raise ConfigError(
                name,
                token,
                Text("that is no token of this model.", "这不是此模型的词元。"),
                Text(
                    f"Use a number from 0 to {vocab_size - 1}{none_en}.",
                    f"请用 0 到 {vocab_size - 1} 的整数{none_zh}。",
                ),
            )


def check_prefix(model: nn.Module, ids: Tensor, prefix: Tensor | None) -> None:
    if prefix is None:
        return
    if not takes_two(model):
        raise InputError(
            "This model goes on from the tokens it is given: they are the prefix.",
            "此模型从所给的词元接着写：它们就是前缀。",
        )
    check_input(prefix, None, model.config.vocab_size, model.config.max_len - 1)
    if len(prefix) != len(ids):
        raise InputError(
            f"There must be one prefix per source: {len(ids)}, not {len(prefix)}.",
            f"每个源文本须有一个前缀：{len(ids)} 个，而不是 {len(prefix)} 个。",
        )


def texts_of(ids: Tensor, lengths: Tensor | None) -> list[list[int]]:
    """The rows without their padding."""
    if lengths is None:
        return ids.tolist()
    return [row[:length] for row, length in zip(ids.tolist(), lengths.tolist(), strict=True)]


__all__ = ["Choice", "Decoding", "Written", "generate", "write", "writes"]
