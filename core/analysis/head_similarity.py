"""Similarity of two attention heads, also of different models, by their attention on the same text.

A head's profile is six numbers from 0 to 1, over the tokens of the text itself. Special tokens ([CLS], <s> …) are left
out, as queries and as keys, without renormalising: a head that attends to [SEP] has small weights everywhere. With w_qk
the remaining weights, n_q the number of keys that query q may attend to, d_q the greatest distance among them:

    entropy    mean over q of −Σ_k w log₂ w / log₂ n_q          (queries with n_q > 1)
    distance   mean over q of Σ_k w |q − k| / d_q
    previous   mean weight on the token before                  (`core.analysis.measures`, as the next three)
    own        … on the token itself
    first      … on the first token, the first query left out
    induction  … on the tokens that followed earlier occurrences of the current one

    similarity(a, b) = 1 − Σ_i c_i |a_i − b_i| / Σ_i c_i

with c = 1 for entropy and distance, which describe the spread of attention, and 2 for the four weights, which describe
its target. Induction counts only if both texts repeat enough of their tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.analysis import measures

FEATURE_WEIGHTS = {"entropy": 1.0, "distance": 1.0, "previous": 2.0, "own": 2.0, "first": 2.0, "induction": 2.0}
FEWEST_REPEATS = 0.25  # share of tokens that must have occurred before for induction to be defined
FEWEST_TOKENS = 3
SIMILAR = 0.85  # the similarity from which on two heads are called similar


def head_profile(weights: Tensor, ids: Tensor, special: Tensor, allowed: Tensor | None = None) -> dict[str, Tensor]:
    """Feature name → (…), one value per head.

    weights (…, time, time); ids (time,); special (time,), True where a token is left out; allowed (time, time), True
    where a query may attend to a key (None: everywhere).
    """
    included = (~special).nonzero().squeeze(1)
    weights, ids = weights[..., included[:, None], included], ids[included]
    if allowed is None:
        allowed = torch.ones(len(included), len(included), dtype=torch.bool)
    else:
        allowed = allowed[included[:, None], included]
    features = {
        "entropy": measures.normalised_entropy(weights, allowed).nanmean(-1),
        "distance": _normalised_distance(weights, allowed),
        "previous": measures.previous_token(weights),
        "own": measures.own_token(weights),
        "first": measures.first_token(weights),
    }
    if measures.induction_targets(ids).any(-1).sum() >= FEWEST_REPEATS * len(ids):
        features["induction"] = measures.induction(weights, ids)
    return features


def _normalised_distance(weights: Tensor, allowed: Tensor) -> Tensor:
    position = torch.arange(len(allowed))
    distance = (position[:, None] - position).abs()  # (query, key)
    greatest = (distance * allowed).amax(-1)  # (query,)
    mean = (weights * distance).sum(-1)  # (…, query)
    defined = greatest > 0
    return (mean[..., defined] / greatest[defined]).mean(-1)


def head_similarity(profile: dict[str, Tensor], others: dict[str, Tensor]) -> Tensor:
    """(…): one head's profile compared with those of others; features that one side lacks do not count."""
    shared = [name for name in FEATURE_WEIGHTS if name in profile and name in others]
    differences = (FEATURE_WEIGHTS[name] * (profile[name] - others[name]).abs() for name in shared)
    return 1 - sum(differences, start=torch.zeros(())) / sum(FEATURE_WEIGHTS[name] for name in shared)
