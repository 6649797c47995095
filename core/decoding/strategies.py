"""Greedy decoding and sampling; the record of a choice and the result, which beam search shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.decoding.filters import process_logits, warp_logits
from core.decoding.options import Decoding
from core.decoding.sessions import DecodingSession


@dataclass(frozen=True)
class TokenChoice:
    """The choice of one token in every row, with the distributions it was made from."""

    logits: Tensor  # (row, vocabulary) as the model gave them
    filtered: Tensor  # (row, vocabulary) as they were chosen from; beam: log-probabilities
    tokens: Tensor  # (row,) chosen; beam: (batch, candidate), the best, at least twice as many as beams
    parents: Tensor | None = None  # beam: (batch, candidate) index of the beam that each one continues
    scores: Tensor | None = None  # beam: (batch, candidate) log-likelihood of the full text
    survivors: Tensor | None = None  # beam: (batch, beam) indices of the candidates that continue
    finished: Tensor | None = None  # beam: (batch, candidate) is the text complete?


@dataclass(frozen=True)
class GenerationResult:
    tokens: Tensor  # (batch · n_best, ≤ max_new), filled with padding behind the end
    scores: Tensor  # (batch · n_best,) log-likelihood; beam: divided by length ** length_penalty


ChoiceCallback = Callable[[TokenChoice], None]


def greedy_or_sample(
    session: DecodingSession,
    texts: list[list[int]],
    options: Decoding,
    max_new: int,
    eos_ids: Tensor,
    pad: int,
    on_choice: ChoiceCallback,
) -> GenerationResult:
    """One text per row, greedy or sampled. `texts` are the tokens so far, which some filters depend on."""
    logits, device = session.prefill(), session.ids.device
    generator = torch.Generator(device).manual_seed(options.seed)
    generated = torch.empty(len(texts), 0, dtype=torch.long, device=device)
    finished = torch.zeros(len(texts), dtype=torch.bool, device=device)
    scores = torch.zeros(len(texts), device=device)
    while True:
        filtered = process_logits(logits, texts, options)
        finished = finished | filtered.isneginf().all(-1)  # every token is forbidden
        if bool(finished.all()):
            return GenerationResult(generated, scores)
        if options.strategy == "sample":
            filtered = warp_logits(filtered, options)
            probabilities = filtered.softmax(-1).masked_fill(finished[:, None], 1.0)
            token = torch.multinomial(probabilities, 1, generator=generator)[:, 0]
        else:
            token = filtered.argmax(-1)
        token = token.masked_fill(finished, pad)
        on_choice(TokenChoice(logits, filtered, token))
        log_likelihood = logits.log_softmax(-1).gather(1, token[:, None])[:, 0]
        scores = scores + log_likelihood.masked_fill(finished, 0.0)
        generated = torch.cat([generated, token[:, None]], dim=1)
        texts = [[*text, new] for text, new in zip(texts, token.tolist(), strict=True)]
        finished = finished | torch.isin(token, eos_ids)
        if generated.shape[1] == max_new or bool(finished.all()):
            return GenerationResult(generated, scores)
        logits = session.append(token)
