"""`generate`: the text a model continues its input with, or translates it to, by any decoding strategy."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from core.config.families import CONFIGS, Config
from core.decoding.beam import beam_search
from core.decoding.options import Decoding
from core.decoding.sessions import make_session
from core.decoding.special_tokens import OWN, EosIds, resolve_special_tokens
from core.decoding.strategies import ChoiceCallback, GenerationResult, greedy_or_sample
from core.errors import ConfigError, InputError
from core.layers.input_checks import check_input
from core.models import FAMILIES, is_encoder_decoder
from core.models.eval_mode import eval_mode
from core.translatable import Text


def generate(model: nn.Module, ids: Tensor, lengths: Tensor | None = None, **options: Any) -> Tensor:
    """(batch · n_best, ≤ max_new): the tokens after `ids` (one-sequence families), or of their translation.

    `core.generate(model, ids, strategy="beam", beams=4, max_new=20)`; the options are those of `Decoding` and of
    `generate_with_scores`.
    """
    return generate_with_scores(model, ids, lengths, **options).tokens


@torch.no_grad()
def generate_with_scores(
    model: nn.Module,
    ids: Tensor,
    lengths: Tensor | None = None,
    *,
    bos: int | str = OWN,
    eos: EosIds | str = OWN,
    pad: int | str = OWN,
    prefix: Tensor | None = None,
    cache: bool = True,
    watch: ChoiceCallback | None = None,
    **options: Any,
) -> GenerationResult:
    """As `generate`, with the scores of the texts; `watch` is called with every choice of a token.

    A row ends with `eos` (or any of several), where every token is forbidden, or at the model's max_len, and is then
    filled with `pad`. The target of an encoder–decoder begins with `bos` and, if given, `prefix` (batch, time). These
    tokens are the model's own unless given. The model is left in the mode it was in. Without `cache` the full text is
    read again for every token: slower, the same numbers.
    """
    decoding = Decoding.make(**options)
    config = getattr(model, "config", None)
    if not isinstance(config, Config):
        raise InputError(
            "Only models made by core.build can write, not {kind}.",
            kind=type(model).__name__,
        )
    if not can_generate(model):
        raise _cannot_generate(config)
    lengths = check_input(ids, lengths, config.vocab_size, config.max_len)
    ids = ids.long()
    special = resolve_special_tokens(model, config.vocab_size, bos=bos, eos=eos, pad=pad)
    check_prefix(model, config, ids, prefix)
    start = ids.new_full((len(ids), 1), special.bos)
    if is_encoder_decoder(model):
        start = start if prefix is None else torch.cat([start, prefix.to(ids.device)], dim=1)
        texts, room = start.tolist(), config.max_len + 1 - start.shape[1]
    else:
        texts = unpad(ids, lengths)
        room = config.max_len - max(map(len, texts))
    with eval_mode(model):
        session = make_session(model, ids, lengths, start, cache)
        if room < 1:
            n_texts = len(ids) * decoding.n_best
            return GenerationResult(ids.new_empty(n_texts, 0), torch.zeros(n_texts))
        search = beam_search if decoding.strategy == "beam" else greedy_or_sample
        eos_ids = torch.tensor(special.eos_ids, dtype=torch.long, device=ids.device)
        max_new = min(decoding.max_new, room)
        return search(session, texts, decoding, max_new, eos_ids, special.pad, watch or (lambda choice: None))


def can_generate(model: nn.Module) -> bool:
    """Does the model predict next tokens?"""
    return is_encoder_decoder(model) or getattr(model.config, "head", None) == "lm"


def _has_lm_head(family: str) -> bool:
    return any(option.name == "head" and "lm" in option.choices for option in CONFIGS[family].options())


def _cannot_generate(config: Config) -> ConfigError:
    with_lm_head = [family for family in FAMILIES if _has_lm_head(family)]
    encoder_decoders = [family for family, kind in FAMILIES.items() if is_encoder_decoder(kind)]
    if _has_lm_head(config.family):
        remedy = Text("Build it with head='lm', or use an encoder–decoder.")
    else:
        remedy = Text(
            "Models that can: {able}, each with head='lm'; {pairs}.",
            able=with_lm_head,
            pairs=encoder_decoders,
        )
    why = Text("this {family} does not predict next tokens.", family=config.family)
    return ConfigError("head", getattr(config, "head", None), why, remedy)


def check_prefix(model: nn.Module, config: Config, ids: Tensor, prefix: Tensor | None) -> None:
    if prefix is None:
        return
    if not is_encoder_decoder(model):
        raise InputError(
            "This model goes on from the tokens it is given: they are the prefix.",
        )
    check_input(prefix, None, config.vocab_size, config.max_len - 1)
    if len(prefix) != len(ids):
        raise InputError(
            "There must be one prefix per source: {n_tokens}, not {n_prefix}.",
            n_tokens=len(ids),
            n_prefix=len(prefix),
        )


def unpad(ids: Tensor, lengths: Tensor | None) -> list[list[int]]:
    """The rows without their padding."""
    if lengths is None:
        return ids.tolist()
    return [row[:length] for row, length in zip(ids.tolist(), lengths.tolist(), strict=True)]
