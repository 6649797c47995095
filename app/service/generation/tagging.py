"""What a tagger sees in a sentence: scores of every tag at every token, and with a CRF the best path through them.

score(path) = start + Σ emission + Σ transition + end; p(path) = exp(score(path) − log Z)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from app.i18n import in_all_languages
from app.service.generation.predictions import marginals
from app.service.inputs import Problem
from core.layers.task_heads.crf import Crf
from core.layers.task_heads.heads import IGNORE, CrfHead
from core.messages import Text
from core.runs.run import Run
from core.tasks import Task

Told = tuple[dict[str, Any], dict[str, np.ndarray]]
BEGIN, END = Text("start"), Text("end")


def tags(run: Run, model: nn.Module, problem: Problem) -> Told:
    emissions = model(*problem.batch.inputs).logits  # (1, time, tag)
    names = run.task.label_names
    alone = emissions[0].argmax(-1).tolist()
    header = {
        "labels": [in_all_languages(name) for name in names],
        "alone": alone,
        "path": alone,
        "right": right_tags(problem),
        "crf": None,
    }
    arrays = {"emissions": emissions[0], "shares": emissions[0].softmax(-1)}
    if isinstance(model.head, CrfHead):
        crf = model.head.crf
        (header["path"],) = model.head.predict(emissions)
        possible = legal(run.task)
        header["crf"] = {
            "rows": [*header["labels"], in_all_languages(BEGIN)],
            "columns": [*header["labels"], in_all_languages(END)],
            "path": worth(crf, emissions, header["path"]),
            "alone": worth(crf, emissions, alone),
            "broken": [t for t, move in enumerate(moves(alone)) if not possible[move]],
        }
        arrays["shares"] = marginals(crf, emissions)
        arrays["transitions"] = transitions(crf)
        arrays["legal"] = possible
    return header, {
        name: np.asarray(x.numpy(), np.uint8 if x.dtype == torch.bool else None) for name, x in arrays.items()
    }


def right_tags(problem: Problem) -> list[int] | None:
    target = problem.batch.target[0]
    return target.tolist() if problem.known and bool((target != IGNORE).all()) else None


def legal(task: Task) -> Tensor:
    """(from, to): may one tag follow another in a right answer? Last row: at the start; last column: the end."""
    tags = range(len(task.label_names))
    return torch.tensor([[task.may_follow(before, tag) for tag in tags] + [True] for before in (*tags, None)])


def moves(path: list[int]) -> list[tuple[int, int]]:
    """(from, to) into every token; −1: from the start"""
    return list(zip([-1, *path[:-1]], path, strict=True))


def transitions(crf: Crf) -> Tensor:
    """(from, to) with the start as last row and the end as last column; from start to end there is no way: 0"""
    inner = torch.cat([crf.transition, crf.start[None]])
    return torch.cat([inner, nn.functional.pad(crf.end, (0, 1))[:, None]], dim=1)


def worth(crf: Crf, emissions: Tensor, path: list[int]) -> dict[str, float]:
    """A path's score, what of it the words gave and what the order of tags, and its share of all paths."""
    mask = torch.ones(emissions.shape[:2], dtype=torch.bool)
    tags = torch.tensor([path])
    emitted = emissions[0].gather(-1, tags[0, :, None]).sum()
    score = crf.path_score(emissions, tags, mask)[0]
    return {
        "score": float(score),
        "emitted": float(emitted),
        "moved": float(score - emitted),
        "share": float(crf.log_likelihood(emissions, tags, mask)[0].exp()),
    }
