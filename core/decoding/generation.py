"""From a model to text: the next token, again and again."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from core.config.families import CONFIGS, Config
from core.decoding.beam import beam
from core.decoding.decoders import make_writer
from core.decoding.options import Decoding
from core.decoding.special_tokens import OWN, Ends, resolve_special_tokens
from core.decoding.strategies import Watch, Written, one_by_one
from core.errors import ConfigError, InputError
from core.layers.input_checks import check_input
from core.messages import Text
from core.models import FAMILIES, is_encoder_decoder
from core.models.eval_mode import eval_mode


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
    bos: int | str = OWN,
    eos: Ends | str = OWN,
    pad: int | str = OWN,
    prefix: Tensor | None = None,
    cache: bool = True,
    watch: Watch | None = None,
    **options: Any,
) -> Written:
    """As `generate`, with the texts' scores; `watch` is shown every choice.

    A row ends with `eos` (or any of several) and is then filled with `pad`; so it is where every token is ruled out,
    and nothing is written past the model's max_len. An encoder–decoder goes on from `bos` and, if it is given, from
    `prefix` (batch, time): how its text is to begin. These signs are the model's own unless others are named. The
    model is left in the mode it was in. Without `cache` the whole text is read again at every step: slower, the same
    numbers.
    """
    how = Decoding.make(**options)
    if not isinstance(getattr(model, "config", None), Config):
        raise InputError(
            "Only models made by core.build can write, not {kind}.",
            kind=type(model).__name__,
        )
    if not writes(model):
        raise _does_not_write(model.config)
    lengths = check_input(ids, lengths, model.config.vocab_size, model.config.max_len)
    ids = ids.long()
    signs = resolve_special_tokens(model, bos=bos, eos=eos, pad=pad)
    check_prefix(model, ids, prefix)
    start = ids.new_full((len(ids), 1), signs.bos)
    if is_encoder_decoder(model):
        start = start if prefix is None else torch.cat([start, prefix.to(ids.device)], dim=1)
        texts, room = start.tolist(), model.config.max_len + 1 - start.shape[1]
    else:
        texts = texts_of(ids, lengths)
        room = model.config.max_len - max(map(len, texts))
    with eval_mode(model):
        writer = make_writer(model, ids, lengths, start, cache)
        choose = beam if how.strategy == "beam" else one_by_one
        if room < 1:
            return Written(ids.new_empty(len(ids) * how.n_best, 0), torch.zeros(len(ids) * how.n_best))
        ends = torch.tensor(signs.ends, dtype=torch.long, device=ids.device)
        return choose(writer, texts, how, min(how.max_new, room), ends, signs.pad, watch or (lambda choice: None))


def writes(model: nn.Module) -> bool:
    """Does it predict next tokens?"""
    return is_encoder_decoder(model) or model.config.head == "lm"


def _has_lm_head(family: str) -> bool:
    return any(option.name == "head" and "lm" in option.choices for option in CONFIGS[family].options())


def _does_not_write(config: Config) -> ConfigError:
    able = [family for family in FAMILIES if _has_lm_head(family)]
    pairs = [family for family, kind in FAMILIES.items() if is_encoder_decoder(kind)]
    if _has_lm_head(config.family):
        remedy = Text("Build it with head='lm', or use an encoder–decoder.")
    else:
        remedy = Text(
            "Models that can: {able}, each with head='lm'; {pairs}.",
            able=able,
            pairs=pairs,
        )
    why = Text("this {family} does not predict next tokens.", family=config.family)
    return ConfigError("head", config.head, why, remedy)


def check_prefix(model: nn.Module, ids: Tensor, prefix: Tensor | None) -> None:
    if prefix is None:
        return
    if not is_encoder_decoder(model):
        raise InputError(
            "This model goes on from the tokens it is given: they are the prefix.",
        )
    check_input(prefix, None, model.config.vocab_size, model.config.max_len - 1)
    if len(prefix) != len(ids):
        raise InputError(
            "There must be one prefix per source: {n_tokens}, not {n_prefix}.",
            n_tokens=len(ids),
            n_prefix=len(prefix),
        )


def texts_of(ids: Tensor, lengths: Tensor | None) -> list[list[int]]:
    """The rows without their padding."""
    if lengths is None:
        return ids.tolist()
    return [row[:length] for row, length in zip(ids.tolist(), lengths.tolist(), strict=True)]
