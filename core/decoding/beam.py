"""Beam search: several texts grow side by side, and the likeliest as a whole wins.

Scores and the rule for stopping are those of Hugging Face's `generate` with its defaults, so that texts can be compared.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from core.decoding.decoders import Writer
from core.decoding.filters import steer
from core.decoding.options import Decoding
from core.decoding.strategies import Choice, Watch, Written

UNLIKELY = -1e9  # the score of what is not there


def beam(
    writer: Writer, texts: list[list[int]], how: Decoding, max_new: int, ends: Tensor, pad: int, watch: Watch
) -> Written:
    """Beam search. A complete text scores log-likelihood / length ** length_penalty; a batch row is done when its
    best unfinished text, scored at the length it has, is worse than its worst complete one.

    Shapes: (batch, beam) for texts that grow, (batch, candidate) for their best continuations, twice as many or more,
    so that enough are left when some of them end, by whichever of the `ends`.
    """
    batch, width, device = len(texts), how.beams, writer.ids.device
    ways = max(2, 1 + len(ends))  # to go on from each beam
    first = torch.arange(batch, device=device).repeat_interleave(width)  # every row once per beam
    logits = writer.begin()[first]
    writer.follow(first)
    written = torch.empty(batch, width, 0, dtype=torch.long, device=device)
    running = torch.full((batch, width), UNLIKELY, device=device)
    running[:, 0] = 0.0  # all beams are alike at first: let one of them speak
    best = Complete(batch, width, max_new, pad, device)
    hopeful = torch.ones(batch, 1, dtype=torch.bool, device=device)
    for length in range(1, max_new + 1):
        flat = [texts[row // width] + text for row, text in enumerate(written.flatten(0, 1).tolist())]
        filtered = steer(logits.log_softmax(-1), flat, how)
        totals = (filtered.unflatten(0, (batch, width)) + running[..., None]).flatten(1)  # (batch, beam · vocabulary)
        scores, places = totals.topk(min(ways * width, totals.shape[1]))
        stuck = scores[:, :1].isneginf()  # nothing may follow: what there is, is complete
        if bool((stuck & hopeful).any()):
            best.add(
                written, running / max(1, length - 1) ** how.length_penalty, stuck & hopeful & (running > UNLIKELY)
            )
            hopeful = hopeful & ~stuck
        parents, tokens = places // logits.shape[-1], places % logits.shape[-1]
        grown = torch.cat([take(written, parents), tokens[..., None]], dim=-1)
        ended = torch.isin(tokens, ends) | (length == max_new)
        best.add(grown[:, :width], scores[:, :width] / length**how.length_penalty, ended[:, :width] & hopeful)
        open_scores = scores.masked_fill(ended, UNLIKELY)
        running, kept = open_scores.topk(width)
        watch(Choice(logits, filtered, tokens, parents, scores, kept, ended))
        written = take(grown, kept)
        hopeful = hopeful & (running[:, :1] / length**how.length_penalty > best.worst)
        if length == max_new or not bool(hopeful.any()):
            break
        rows = (torch.arange(batch, device=device)[:, None] * width + parents.gather(1, kept)).flatten()
        writer.follow(rows)
        logits = writer.write(take(tokens, kept).flatten())
    return best.written(how.n_best)


class Complete:
    """The best complete texts of every row of the batch, best first."""

    def __init__(self, batch: int, width: int, max_new: int, pad: int, device: torch.device):
        self.pad = pad
        self.texts = torch.full((batch, width, max_new), pad, dtype=torch.long, device=device)
        self.lengths = torch.zeros(batch, width, dtype=torch.long, device=device)
        self.scores = torch.full((batch, width), UNLIKELY, device=device)

    @property
    def worst(self) -> Tensor:
        """(batch, 1): what a new text must beat"""
        return self.scores[:, -1:]

    def add(self, texts: Tensor, scores: Tensor, complete: Tensor) -> None:
        """texts (batch, beam, time), those of them that are complete"""
        time = texts.shape[2]
        padded = F.pad(texts, (0, self.texts.shape[2] - time), value=self.pad)
        every = torch.cat([self.scores, scores.masked_fill(~complete, UNLIKELY)], dim=1)
        self.scores, best = every.topk(self.scores.shape[1])
        self.texts = take(torch.cat([self.texts, padded], dim=1), best)
        self.lengths = take(torch.cat([self.lengths, torch.full_like(self.lengths, time)], dim=1), best)

    def written(self, n_best: int) -> Written:
        longest = int(self.lengths[:, :n_best].max())
        return Written(self.texts[:, :n_best, :longest].flatten(0, 1), self.scores[:, :n_best].flatten())


def take(values: Tensor, places: Tensor) -> Tensor:
    """values (batch, n, …) at places (batch, m) → (batch, m, …)"""
    return values[torch.arange(len(values), device=values.device)[:, None], places]
