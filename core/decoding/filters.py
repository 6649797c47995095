"""Filters on the logits of the next token, (row, vocabulary), before one is chosen. A forbidden token gets −∞."""

from __future__ import annotations

import torch
from torch import Tensor

from core.decoding.options import Decoding

FORBIDDEN = float("-inf")


def process_logits(logits: Tensor, texts: list[list[int]], options: Decoding) -> Tensor:
    """The filters that depend on the text so far, for every strategy: repetition penalty, no repeated n-grams."""
    if options.repetition_penalty != 1:
        logits = penalise_repetition(logits, texts, options.repetition_penalty)
    if options.no_repeat:
        logits = forbid_repeats(logits, texts, options.no_repeat)
    return logits


def warp_logits(logits: Tensor, options: Decoding) -> Tensor:
    """The filters that shape the sampling distribution: temperature, top-k, top-p."""
    logits = logits / options.temperature
    if options.top_k:
        logits = keep_top_k(logits, options.top_k)
    return keep_top_p(logits, options.top_p) if options.top_p < 1 else logits


def penalise_repetition(logits: Tensor, texts: list[list[int]], penalty: float) -> Tensor:
    """Tokens of the text so far: z / penalty where z > 0, z · penalty where not (Keskar et al. 2019)."""
    logits = logits.clone()
    for row, text in enumerate(texts):
        tokens = torch.tensor(sorted(set(text)), device=logits.device)
        z = logits[row, tokens]
        logits[row, tokens] = torch.where(z < 0, z * penalty, z / penalty)
    return logits


def forbid_repeats(logits: Tensor, texts: list[list[int]], n: int) -> Tensor:
    """No token that would complete an n-gram which is in the text already (Paulus et al. 2018)."""
    logits = logits.clone()
    for row, text in enumerate(texts):
        ending = text[len(text) - n + 1 :]  # the last n − 1 tokens
        if len(text) < n:
            continue
        completing = [text[i + n - 1] for i in range(len(text) - n + 1) if text[i : i + n - 1] == ending]
        logits[row, completing] = FORBIDDEN
    return logits


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Only tokens at least as likely as the k-th (Fan et al. 2018)."""
    kth = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return logits.masked_fill(logits < kth, FORBIDDEN)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """The nucleus: the fewest tokens whose probabilities add up to p or more (Holtzman et al. 2020)."""
    ascending, order = logits.sort(dim=-1)
    outside = ascending.softmax(-1).cumsum(-1) <= 1 - p
    outside[:, -1] = False  # the likeliest stays
    return logits.masked_fill(outside.scatter(1, order, outside), FORBIDDEN)
