"""Linear-chain conditional random field: scores whole tag paths instead of single tags.

    score(y) = start[y_1] + Σ emission_t[y_t] + Σ transition[y_t−1, y_t] + end[y_n]
    log p(y) = score(y) − log Σ_y' exp score(y')        (Lafferty et al. 2001)

Emissions are (batch, time, tag), tags and mask (batch, time); a sequence's valid positions come first.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


class Crf(nn.Module):
    """Start, end and transition scores; the log-likelihood of a path, and the best path (Viterbi)."""

    first: Tensor  # (tag,): −∞ where no path may begin, else 0
    next: Tensor  # (from, to): −∞ for transitions that are not allowed, else 0

    def __init__(self, n_tags: int):
        super().__init__()
        self.start = nn.Parameter(torch.empty(n_tags).uniform_(-0.1, 0.1))
        self.end = nn.Parameter(torch.empty(n_tags).uniform_(-0.1, 0.1))
        self.transition = nn.Parameter(torch.empty(n_tags, n_tags).uniform_(-0.1, 0.1))  # (from, to)
        self.register_buffer("first", torch.zeros(n_tags))
        self.register_buffer("next", torch.zeros(n_tags, n_tags))
        self.register_load_state_dict_pre_hook(_fill_missing_constraints)

    def constrain(self, may_follow: Callable[[int | None, int], bool]) -> None:
        """Restrict `decode` to transitions with `may_follow(tag, next_tag)`; None as tag is the beginning.

        Scores and likelihood are not constrained: the model still has to learn the impossible transitions.
        """
        tags = range(len(self.start))
        table = torch.tensor([[may_follow(before, tag) for tag in tags] for before in (None, *tags)])
        constraints = torch.zeros(table.shape).masked_fill(~table, float("-inf")).to(self.transition)
        self.first, self.next = constraints[0], constraints[1:]

    def log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """(batch,): log p(tags | emissions)"""
        return self.path_score(emissions, tags, mask) - self.log_partition(emissions, mask)

    def path_score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """(batch,): the score of one path"""
        tags = tags.masked_fill(~mask, 0)
        emission_scores = emissions.gather(-1, tags[..., None]).squeeze(-1)  # (batch, time)
        transition_scores = self.transition[tags[:, :-1], tags[:, 1:]]  # (batch, time − 1)
        last = tags.gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)
        total = self.start[tags[:, 0]] + (emission_scores * mask).sum(1)
        return total + (transition_scores * mask[:, 1:]).sum(1) + self.end[last]

    def log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """(batch,): log Σ exp score over all paths, by the forward algorithm"""
        alpha = self.start + emissions[:, 0]  # (batch, tag): log Σ exp over the paths that end in this tag
        for t in range(1, emissions.shape[1]):
            extended = alpha[:, :, None] + self.transition  # (batch, from, to)
            next_alpha = torch.logsumexp(extended, dim=1) + emissions[:, t]
            alpha = torch.where(mask[:, t, None], next_alpha, alpha)
        return torch.logsumexp(alpha + self.end, dim=-1)

    @torch.no_grad()
    def decode(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """The best allowed path of each sequence (Viterbi)."""
        start, transition = self.start + self.first, self.transition + self.next
        best = start + emissions[:, 0]  # (batch, tag): score of the best path that ends in this tag
        backpointers = []  # per position (batch, tag)
        for t in range(1, emissions.shape[1]):
            extended, previous = (best[:, :, None] + transition).max(dim=1)  # (batch, from, to) → (batch, to)
            best = torch.where(mask[:, t, None], extended + emissions[:, t], best)
            backpointers.append(previous)
        paths = []
        for row, length in enumerate(mask.sum(1).tolist()):
            path = [int((best[row] + self.end).argmax())]
            for previous in reversed(backpointers[: length - 1]):
                path.append(int(previous[row, path[-1]]))
            paths.append(path[::-1])
        return paths


def _fill_missing_constraints(crf: Crf, state: dict[str, Tensor], prefix: str, *_) -> None:
    """State dicts written by older versions have no constraints: then the current ones stay."""
    for name in ("first", "next"):
        state.setdefault(prefix + name, getattr(crf, name))
