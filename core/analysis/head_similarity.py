"""How alike two attention heads are, also of different models: by what they do with the same text.

A head's profile is six numbers from 0 to 1, over the tokens of the text itself. Special tokens ([CLS], <s> …) are left
out, as queries and as keys, and the weight on them is not shared out among the others: a head that rests on [SEP] has
small shares everywhere. With w_qk the weights that remain, n_q the keys that query q may see, d_q the furthest of them:

    entropy    mean over q of −Σ_k w log₂ w / log₂ n_q          (queries with a choice)
    distance   mean over q of Σ_k w |q − k| / d_q
    previous   mean weight on the token before                  (`core.analysis.measures`, as the next three)
    own        … on the token itself
    first      … on the first token, the first query left out
    induction  … on the tokens that followed earlier occurrences of the current one

    likeness(a, b) = 1 − Σ_i c_i |a_i − b_i| / Σ_i c_i

with c = 1 for entropy and distance, which say how a head looks, and 2 for the four shares, which say at what. Induction
counts only where both texts repeat enough of their tokens for it to be judged.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.analysis import measures

COUNTS = {"entropy": 1.0, "distance": 1.0, "previous": 2.0, "own": 2.0, "first": 2.0, "induction": 2.0}
FEWEST_REPEATS = 0.25  # of the tokens must have occurred before, or induction cannot be judged
FEWEST_TOKENS = 3
ALIKE = 0.85  # from here on two heads are called alike


def profile(weights: Tensor, ids: Tensor, special: Tensor, allowed: Tensor | None = None) -> dict[str, Tensor]:
    """Name → (…): weights (…, time, time), ids (time,), special (time,) True where a token is left out,
    allowed (time, time) True where a query may look; None: everywhere."""
    kept = (~special).nonzero().squeeze(1)
    weights, ids = weights[..., kept[:, None], kept], ids[kept]
    allowed = torch.ones(len(kept), len(kept), dtype=torch.bool) if allowed is None else allowed[kept[:, None], kept]
    found = {
        "entropy": _relative_entropy(weights, allowed),
        "distance": _relative_distance(weights, allowed),
        "previous": measures.previous_token(weights),
        "own": measures.own_token(weights),
        "first": measures.first_token(weights),
    }
    if measures.after_occurrences(ids).any(-1).sum() >= FEWEST_REPEATS * len(ids):
        found["induction"] = measures.induction(weights, ids)
    return found


def _relative_entropy(weights: Tensor, allowed: Tensor) -> Tensor:
    choices = allowed.sum(-1)  # (query,)
    bits = -(weights * weights.clamp(min=1e-12).log2()).sum(-1)  # (…, query)
    with_choice = choices > 1
    return (bits[..., with_choice] / choices[with_choice].log2()).mean(-1)


def _relative_distance(weights: Tensor, allowed: Tensor) -> Tensor:
    time = torch.arange(len(allowed))
    away = (time[:, None] - time).abs()  # (query, key)
    furthest = (away * allowed).amax(-1)  # (query,)
    far = (weights * away).sum(-1)
    somewhere = furthest > 0
    return (far[..., somewhere] / furthest[somewhere]).mean(-1)


def head_similarity(one: dict[str, Tensor], others: dict[str, Tensor]) -> Tensor:
    """(…): one head's profile against those of others; what only one of both has does not count."""
    shared = [name for name in COUNTS if name in one and name in others]
    apart = sum(COUNTS[name] * (one[name] - others[name]).abs() for name in shared)
    return 1 - apart / sum(COUNTS[name] for name in shared)
