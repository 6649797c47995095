"""Scores of every tag at every token and, with a CRF, the best path through them.

score(path) = start + Σ emission + Σ transition + end; p(path) = exp(score(path) − log Z)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from app.i18n import in_all_languages
from app.payload import Parts
from app.service.generation.predictions import tag_marginals
from app.service.inputs import AnyRun, ModelInput
from core.layers.task_heads.crf import Crf
from core.layers.task_heads.heads import IGNORE, CrfHead
from core.tasks import Task
from core.translatable import Text

BEGIN, END = Text("start"), Text("end")


def tag_scores(run: AnyRun, model: nn.Module, model_input: ModelInput) -> Parts:
    emissions = model(*model_input.batch.inputs).logits  # (1, time, tag)
    labels = [in_all_languages(name) for name in run.task.label_names]
    greedy = emissions[0].argmax(-1).tolist()
    header: dict[str, Any] = {
        "labels": labels,
        "alone": greedy,
        "path": greedy,
        "right": expected_tags(model_input),
        "crf": None,
    }
    arrays = {"emissions": emissions[0], "shares": emissions[0].softmax(-1)}
    if isinstance(model.head, CrfHead):
        assert isinstance(run.task, Task)
        crf = model.head.crf
        (path,) = model.head.predict(emissions)
        legal = legal_transitions(run.task)
        header["path"] = path
        header["crf"] = {
            "rows": [*labels, in_all_languages(BEGIN)],
            "columns": [*labels, in_all_languages(END)],
            "path": score_path(crf, emissions, path),
            "alone": score_path(crf, emissions, greedy),
            "broken": [t for t, transition in enumerate(path_transitions(greedy)) if not legal[transition]],
        }
        arrays["shares"] = tag_marginals(crf, emissions)
        arrays["transitions"] = transition_scores(crf)
        arrays["legal"] = legal
    return header, {
        name: np.asarray(x.numpy(), np.uint8 if x.dtype == torch.bool else None) for name, x in arrays.items()
    }


def expected_tags(model_input: ModelInput) -> list[int] | None:
    target = model_input.batch.target[0]
    return target.tolist() if model_input.known and bool((target != IGNORE).all()) else None


def legal_transitions(task: Task) -> Tensor:
    """(from, to): may one tag follow another in a right answer? Last row: at the start; last column: the end."""
    tags = range(len(task.label_names))
    return torch.tensor([[task.may_follow(before, tag) for tag in tags] + [True] for before in (*tags, None)])


def path_transitions(path: list[int]) -> list[tuple[int, int]]:
    """(from, to) into every token; −1: from the start"""
    return list(zip([-1, *path[:-1]], path, strict=True))


def transition_scores(crf: Crf) -> Tensor:
    """(from, to) with the start as last row and the end as last column; start to end, which cannot be, is 0"""
    inner = torch.cat([crf.transition, crf.start[None]])
    return torch.cat([inner, nn.functional.pad(crf.end, (0, 1))[:, None]], dim=1)


def score_path(crf: Crf, emissions: Tensor, path: list[int]) -> dict[str, float]:
    """A path's score, its parts from emissions and from transitions, and its probability."""
    mask = torch.ones(emissions.shape[:2], dtype=torch.bool)
    tags = torch.tensor([path])
    emission_score = emissions[0].gather(-1, tags[0, :, None]).sum()
    score = crf.path_score(emissions, tags, mask)[0]
    return {
        "score": float(score),
        "emitted": float(emission_score),
        "moved": float(score - emission_score),
        "share": float(crf.log_likelihood(emissions, tags, mask)[0].exp()),
    }
