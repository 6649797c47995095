"""Choosing tokens one after the other, greedily or by chance, and what there is to see of any choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.decoding.decoders import Writer
from core.decoding.filters import narrow, steer
from core.decoding.options import Decoding


@dataclass(frozen=True)
class Choice:
    """One step of writing, for whoever watches."""

    logits: Tensor  # (row, vocabulary) as the model gave them
    filtered: Tensor  # (row, vocabulary) as they were chosen from; beam: log-probabilities
    tokens: Tensor  # (row,) chosen; beam: (batch, candidate), the best, at least twice as many as beams
    parents: Tensor | None = None  # beam: (batch, candidate) which beam each one continues
    scores: Tensor | None = None  # beam: (batch, candidate) log-likelihood of the whole text
    kept: Tensor | None = None  # beam: (batch, beam) which candidates go on
    ended: Tensor | None = None  # beam: (batch, candidate) which ones are complete


@dataclass(frozen=True)
class Written:
    tokens: Tensor  # (batch · n_best, ≤ max_new), filled with padding behind the end
    scores: Tensor  # (batch · n_best,) log-likelihood; beam: divided by length ** length_penalty


Watch = Callable[[Choice], None]


def one_by_one(
    writer: Writer, texts: list[list[int]], how: Decoding, max_new: int, ends: Tensor, pad: int, watch: Watch
) -> Written:
    """Greedy or sampled. `texts` are the rows so far, which some filters look at."""
    logits, device = writer.begin(), writer.ids.device
    generator = torch.Generator(device).manual_seed(how.seed)
    written = torch.empty(len(texts), 0, dtype=torch.long, device=device)
    ended = torch.zeros(len(texts), dtype=torch.bool, device=device)
    scores = torch.zeros(len(texts), device=device)
    while True:
        filtered = steer(logits, texts, how)
        ended = ended | filtered.isneginf().all(-1)  # nothing may follow
        if bool(ended.all()):
            return Written(written, scores)
        if how.strategy == "sample":
            filtered = narrow(filtered, how)
            shares = filtered.softmax(-1).masked_fill(ended[:, None], 1.0)
            token = torch.multinomial(shares, 1, generator=generator)[:, 0]
        else:
            token = filtered.argmax(-1)
        token = token.masked_fill(ended, pad)
        watch(Choice(logits, filtered, token))
        likely = logits.log_softmax(-1).gather(1, token[:, None])[:, 0]
        scores = scores + likely.masked_fill(ended, 0.0)
        written = torch.cat([written, token[:, None]], dim=1)
        texts = [[*text, new] for text, new in zip(texts, token.tolist(), strict=True)]
        ended = ended | torch.isin(token, ends)
        if written.shape[1] == max_new or bool(ended.all()):
            return Written(written, scores)
        logits = writer.write(token)
