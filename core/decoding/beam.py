"""Beam search: the `beams` highest-scoring prefixes of every row are extended token by token; the `n_best` finished ones
by length-normalised log-likelihood are returned.

Scores and the stopping rule are those of Hugging Face's `generate` with its defaults, so that texts can be compared.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from core.decoding.filters import process_logits
from core.decoding.options import Decoding
from core.decoding.sessions import DecodingSession
from core.decoding.strategies import ChoiceCallback, GenerationResult, TokenChoice

NO_SCORE = -1e9  # of an empty place


def beam_search(
    session: DecodingSession,
    texts: list[list[int]],
    options: Decoding,
    max_new: int,
    eos_ids: Tensor,
    pad: int,
    on_choice: ChoiceCallback,
) -> GenerationResult:
    """A finished text scores log-likelihood / length ** length_penalty; a batch row is done when its best unfinished
    text, scored at its present length, is worse than its worst finished one.

    Shapes: (batch, beam) for the growing texts, (batch, candidate) for their best continuations: twice as many or
    more, so that enough are left when some of them finish, with any of the `eos_ids`.
    """
    batch, width, device = len(texts), options.beams, session.ids.device
    candidates_per_beam = max(2, 1 + len(eos_ids))
    repeated = torch.arange(batch, device=device).repeat_interleave(width)  # every row once per beam
    logits = session.prefill()[repeated]
    session.reorder(repeated)
    generated = torch.empty(batch, width, 0, dtype=torch.long, device=device)
    running = torch.full((batch, width), NO_SCORE, device=device)
    running[:, 0] = 0.0  # all beams begin with the same text, so only the first one counts
    best = BeamHypotheses(batch, width, max_new, pad, device)
    active = torch.ones(batch, 1, dtype=torch.bool, device=device)  # rows that are not done
    for length in range(1, max_new + 1):
        flat = [texts[row // width] + text for row, text in enumerate(generated.flatten(0, 1).tolist())]
        filtered = process_logits(logits.log_softmax(-1), flat, options)
        totals = (filtered.unflatten(0, (batch, width)) + running[..., None]).flatten(1)  # (batch, beam · vocabulary)
        scores, indices = totals.topk(min(candidates_per_beam * width, totals.shape[1]))
        stuck = scores[:, :1].isneginf()  # every token is forbidden: the texts are finished as they are
        if bool((stuck & active).any()):
            best.add(
                generated,
                running / max(1, length - 1) ** options.length_penalty,
                stuck & active & (running > NO_SCORE),
            )
            active = active & ~stuck
        parents, tokens = indices // logits.shape[-1], indices % logits.shape[-1]
        extended = torch.cat([gather_rows(generated, parents), tokens[..., None]], dim=-1)
        finished = torch.isin(tokens, eos_ids) | (length == max_new)
        best.add(
            extended[:, :width], scores[:, :width] / length**options.length_penalty, finished[:, :width] & active
        )
        running, survivors = scores.masked_fill(finished, NO_SCORE).topk(width)
        on_choice(TokenChoice(logits, filtered, tokens, parents, scores, survivors, finished))
        generated = gather_rows(extended, survivors)
        active = active & (running[:, :1] / length**options.length_penalty > best.worst)
        if length == max_new or not bool(active.any()):
            break
        rows = (torch.arange(batch, device=device)[:, None] * width + parents.gather(1, survivors)).flatten()
        session.reorder(rows)
        logits = session.append(gather_rows(tokens, survivors).flatten())
    return best.result(options.n_best)


class BeamHypotheses:
    """The best finished texts of every batch row, best first."""

    def __init__(self, batch: int, width: int, max_new: int, pad: int, device: torch.device):
        self.pad = pad
        self.texts = torch.full((batch, width, max_new), pad, dtype=torch.long, device=device)
        self.lengths = torch.zeros(batch, width, dtype=torch.long, device=device)
        self.scores = torch.full((batch, width), NO_SCORE, device=device)

    @property
    def worst(self) -> Tensor:
        """(batch, 1): the score a new text must beat"""
        return self.scores[:, -1:]

    def add(self, texts: Tensor, scores: Tensor, finished: Tensor) -> None:
        """texts (batch, beam, time), of which the finished ones, (batch, beam), compete"""
        time = texts.shape[2]
        padded = F.pad(texts, (0, self.texts.shape[2] - time), value=self.pad)
        candidates = torch.cat([self.scores, scores.masked_fill(~finished, NO_SCORE)], dim=1)
        self.scores, best = candidates.topk(self.scores.shape[1])
        self.texts = gather_rows(torch.cat([self.texts, padded], dim=1), best)
        self.lengths = gather_rows(torch.cat([self.lengths, torch.full_like(self.lengths, time)], dim=1), best)

    def result(self, n_best: int) -> GenerationResult:
        longest = int(self.lengths[:, :n_best].max())
        return GenerationResult(self.texts[:, :n_best, :longest].flatten(0, 1), self.scores[:, :n_best].flatten())


def gather_rows(values: Tensor, indices: Tensor) -> Tensor:
    """values (batch, n, …) at indices (batch, m) → (batch, m, …)"""
    return values[torch.arange(len(values), device=values.device)[:, None], indices]
