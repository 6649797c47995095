"""Linear-chain conditional random field: scores whole tag paths instead of single tags.

    score(y) = start[y_1] + Σ emission_t[y_t] + Σ transition[y_t−1, y_t] + end[y_n]
    log p(y) = score(y) − log Σ_y' exp score(y')        (Lafferty et al. 2001)

Emissions are (batch, time, tag), tags and mask (batch, time); a sequence's valid steps come first.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


class Crf(nn.Module):
    """The three tables of the formula, its likelihood, and its best path."""

    def __init__(self, n_tags: int):
        super().__init__()
        self.start = nn.Parameter(torch.empty(n_tags).uniform_(-0.1, 0.1))
        self.end = nn.Parameter(torch.empty(n_tags).uniform_(-0.1, 0.1))
        self.transition = nn.Parameter(torch.empty(n_tags, n_tags).uniform_(-0.1, 0.1))  # (from, to)
        self.register_buffer("first", torch.zeros(n_tags))  # −∞ where no path may begin, else 0
        self.register_buffer("next", torch.zeros(n_tags, n_tags))  # (from, to): −∞ where none may go
        self.register_load_state_dict_pre_hook(_keep_what_may_follow)

    def allow(self, may_follow: Callable[[int | None, int], bool]) -> None:
        """Say which tag may follow which, None being the beginning: `decode` then takes no other path.

        Scores and likelihood stay those of the formula: what is impossible has to be learnt, but is never answered.
        """
        tags = range(len(self.start))
        table = torch.tensor([[may_follow(before, tag) for tag in tags] for before in (None, *tags)])
        barred = torch.zeros(table.shape).masked_fill(~table, float("-inf")).to(self.transition)
        self.first, self.next = barred[0], barred[1:]

    def log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """(batch,): log p(tags | emissions)"""
        return self.path_score(emissions, tags, mask) - self.log_partition(emissions, mask)

    def path_score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """(batch,): the score of one path"""
        tags = tags.masked_fill(~mask, 0)
        emitted = emissions.gather(-1, tags[..., None]).squeeze(-1)  # (batch, time)
        moved = self.transition[tags[:, :-1], tags[:, 1:]]  # (batch, time − 1)
        last = tags.gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)
        return self.start[tags[:, 0]] + (emitted * mask).sum(1) + (moved * mask[:, 1:]).sum(1) + self.end[last]

    def log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """(batch,): log Σ exp score over all paths, by the forward recursion"""
        alpha = self.start + emissions[:, 0]  # (batch, tag): all paths that end here
        for t in range(1, emissions.shape[1]):
            moved = alpha[:, :, None] + self.transition  # (batch, from, to)
            longer = torch.logsumexp(moved, dim=1) + emissions[:, t]
            alpha = torch.where(mask[:, t, None], longer, alpha)
        return torch.logsumexp(alpha + self.end, dim=-1)

    @torch.no_grad()
    def decode(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """The best path of each sequence among those allowed (Viterbi)."""
        start, transition = self.start + self.first, self.transition + self.next
        best = start + emissions[:, 0]  # (batch, tag): the best path that ends here
        came_from = []  # per step (batch, tag)
        for t in range(1, emissions.shape[1]):
            longer, origin = (best[:, :, None] + transition).max(dim=1)  # (batch, from, to) → (batch, to)
            best = torch.where(mask[:, t, None], longer + emissions[:, t], best)
            came_from.append(origin)
        paths = []
        for row, length in enumerate(mask.sum(1).tolist()):
            path = [int((best[row] + self.end).argmax())]
            for origin in reversed(came_from[: length - 1]):
                path.append(int(origin[row, path[-1]]))
            paths.append(path[::-1])
        return paths


def _keep_what_may_follow(crf: Crf, state: dict[str, Tensor], prefix: str, *_) -> None:
    """States saved before `allow` was kept in them do not tell what may follow: then it stays as it is."""
    for name in ("first", "next"):
        state.setdefault(prefix + name, getattr(crf, name))
