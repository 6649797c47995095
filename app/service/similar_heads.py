"""The heads of one run that are most similar to a head of another: a role learned in a toy, found in a real model.

Both models read the same text, each in its own tokens; profiles of what the heads do with it are compared
(`core.analysis.head_similarity`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from app.figures.attention_view import strongest_colour
from app.figures.live import Live
from app.figures.similar_heads import head_card
from app.service import attention_stack
from app.service.attention_arithmetic import capture_at_step
from app.service.attention_stack import ATTENTION_POINTS
from app.service.inputs import AnyRun, ModelInput
from core import InputError
from core.analysis.head_similarity import FEATURE_WEIGHTS, FEWEST_TOKENS, SIMILAR, head_profile, head_similarity
from core.capture.point_names import INPUT_SELF_ATTENTION_WEIGHTS
from core.tasks.base import SPECIAL

N_BEST = 5
DELIMITERS = ("[CLS]", "[SEP]")


@dataclass
class HeadProfiles:
    """Profiles of all self-attention heads over the source: name → (layer, head). Holds nothing of the model."""

    model_input: ModelInput
    points: list[str]  # one per layer: "blocks.0.attn"
    profile: dict[str, Tensor]
    special_weight: Tensor  # (layer, head): the share of weight on special tokens
    special_tokens: list[str]  # each once

    @property
    def nbytes(self) -> int:
        return sum(values.nbytes for values in (*self.profile.values(), self.special_weight, self.model_input.ids))

    def of_head(self, layer: int, head: int) -> dict[str, Tensor]:
        return {name: values[layer, head] for name, values in self.profile.items()}


def special_token_mask(run: AnyRun, ids: Tensor) -> Tensor:
    """(time,): True for tokens that are no part of a text: padding, start, end, [CLS], [SEP]."""
    special = getattr(run.task, "special", None)
    if special is None:
        special = {*range(len(SPECIAL)), *(run.task.ids[name] for name in DELIMITERS if name in run.task.ids)}
    return torch.tensor([int(i) in special for i in ids])


def profile_heads(run: AnyRun, model_input: ModelInput, step: int) -> HeadProfiles:
    """Profiles at the snapshot of one step, computed layer by layer while the model runs."""
    ids, special = model_input.ids, special_token_mask(run, model_input.ids)
    if int((~special).sum()) < FEWEST_TOKENS:
        raise InputError(
            "Heads are compared on {fewest_tokens} tokens or more; type a longer input.",
            fewest_tokens=FEWEST_TOKENS,
        )
    points, profiles, special_weight, masks = [], [], [], {}

    def reduce_layer(name: str, value: Tensor) -> None:
        if name.endswith(".mask"):
            masks[name.removesuffix(".mask")] = value[0, 0].expand(len(ids), len(ids))
        elif match := INPUT_SELF_ATTENTION_WEIGHTS.fullmatch(name):
            point = match["module"]
            points.append(point)
            profiles.append(head_profile(value[0], ids, special, masks.get(point)))
            special_weight.append(value[0][..., special].sum(-1)[:, ~special].mean(-1))

    capture_at_step(run, model_input, step, *ATTENTION_POINTS, keep=reduce_layer)
    if not points:
        raise InputError("This model has no attention among the tokens of its input.")
    stacked = {name: torch.stack([values[name] for values in profiles]) for name in profiles[0]}
    tokens = dict.fromkeys(
        token for token, is_special in zip(model_input.source, special.tolist(), strict=True) if is_special
    )
    return HeadProfiles(model_input, points, stacked, torch.stack(special_weight), list(tokens))


@dataclass
class Comparison:
    """A head and those of another run most like it: facts about each, cards to show, and what all have in common."""

    of: dict[str, Any]
    best: list[dict[str, Any]]
    tokens: list[str]  # of the other run
    left_out: list[str]
    heads: int  # that it has been compared with
    median: float
    measures: list[str]
    cards: dict[str, Live]
    alike: float = SIMILAR


def compare_heads(
    run: AnyRun,
    model_input: ModelInput,
    step: int,
    point: str,
    head: int,
    other_run: AnyRun,
    candidates: HeadProfiles,
    names: tuple[str, str],
) -> Comparison:
    """The head in focus and the `N_BEST` candidates of the other run most similar to it, with their maps."""
    if not INPUT_SELF_ATTENTION_WEIGHTS.fullmatch(f"{point}.weights"):
        raise InputError(
            "Only heads that look from the input at the input can be compared; choose one of those.",
        )
    profiles = profile_heads(run, model_input, step)
    if point not in profiles.points or not 0 <= head < profiles.special_weight.shape[1]:
        raise InputError("The model has no such head.")
    layer = profiles.points.index(point)
    last_step = other_run.snapshots[-1].step
    similarity = head_similarity(profiles.of_head(layer, head), candidates.profile)  # (layer, head)
    itself = (layer, head) if other_run is run and step == last_step else None
    order = similarity.flatten().argsort(descending=True).tolist()
    ranked = [location for i in order if (location := divmod(i, similarity.shape[1])) != itself]
    if not ranked:
        raise InputError("This model has no other head.")
    best = ranked[:N_BEST]
    focus = _head_facts(profiles, layer, head) | {"tokens": model_input.source, "left_out": profiles.special_tokens}
    facts = [_head_facts(candidates, *location) | {"likeness": float(similarity[location])} for location in best]
    measures = [name for name in FEATURE_WEIGHTS if name in profiles.profile and name in candidates.profile]
    own_map, own_side = collect_maps(run, profiles, [(layer, head)], step)
    best_maps, best_side = collect_maps(other_run, candidates, best, last_step)
    limit = float(strongest_colour(np.array([own_map.max(), best_maps.max()])).max())  # one scale for all
    table = comparison_table([focus, *facts], measures, names)
    tokens = candidates.model_input.source
    cards = {
        "of": head_card(
            "of", own_map[0], model_input.source, focus["profile"], measures, limit, own_side, table=table
        )
    }
    for i, one in enumerate(facts):
        cards[f"best{i}"] = head_card(
            f"best{i}", best_maps[i], tokens, one["profile"], measures, limit, best_side, focus["profile"], table
        )
    median = float(torch.stack([similarity[location] for location in ranked]).median())
    return Comparison(focus, facts, tokens, candidates.special_tokens, len(ranked), median, measures, cards)


def comparison_table(
    heads: list[dict[str, Any]], measures: list[str], names: tuple[str, str]
) -> dict[str, list[Any]]:
    """Column → values: the head in focus in the first row, then the best ones; names: of their runs."""
    return {
        "run": [names[0], *[names[1]] * (len(heads) - 1)],
        **{name: [facts[name] for facts in heads] for name in ("group", "layer", "head")},
        "likeness": [facts.get("likeness", "") for facts in heads],
        "on_special_tokens": [facts["outside"] for facts in heads],
        **{name: [facts["profile"][name] for facts in heads] for name in measures},
    }


def collect_maps(
    run: AnyRun, profiles: HeadProfiles, heads: list[tuple[int, int]], step: int
) -> tuple[np.ndarray, int]:
    """(head, query, key): the maps of these (layer, head), pooled where they are large, and the side of the tiles."""
    maps: dict[tuple[int, int], Tensor] = {}
    tokens = len(profiles.model_input.source)
    side = attention_stack.tile_side((len(heads), tokens, tokens))

    def keep_heads(name: str, value: Tensor) -> None:
        for layer, head in heads:
            if name == f"{profiles.points[layer]}.weights":
                maps[layer, head] = attention_stack.pool(value[0, head][None], side)[0].clone()

    capture_at_step(run, profiles.model_input, step, *ATTENTION_POINTS, keep=keep_heads)
    return torch.stack([maps[location] for location in heads]).numpy(), side


def _head_facts(profiles: HeadProfiles, layer: int, head: int) -> dict[str, Any]:
    point = profiles.points[layer]
    return {
        "group": point.rsplit(".", 2)[0],
        "layer": int(point.split(".")[-2]),
        "head": head,
        "profile": {name: float(value) for name, value in profiles.of_head(layer, head).items()},
        "outside": float(profiles.special_weight[layer, head]),
    }
