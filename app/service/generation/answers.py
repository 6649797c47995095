"""What a model that answers gives to an input, by the form in which it meets its task: classes, tags, spans, the words
that answer a question, or fillings for masked words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from app.i18n import in_all_languages
from app.service import payload
from app.service.generation.generation import at_step
from app.service.generation.predictions import FOLLOWS
from app.service.generation.tagging import Told, tags
from app.service.inputs import Problem, visible
from core import InputError
from core.layers.task_heads.heads import IGNORE
from core.runs.run import Run

FILLINGS = 12  # per hole
SPANS_LISTED = 8  # of the likeliest answers
PREFIXES = 96  # beginnings of an input that are judged by themselves, at most
READ = 4096  # tokens of all beginnings together, at most
TOGETHER = 8  # beginnings


@torch.no_grad()
def reply(run: Run, problem: Problem, step: int, masks: list[int] | None = None) -> bytes:
    model, form = at_step(run, step), run.task.form(run.model)
    if form == "masked":
        header, arrays = masked(run, model, problem, masks)
    elif form in FORMS:
        header, arrays = FORMS[form](run, model, problem)
    else:
        raise InputError("This model writes; it has no other answer.")
    return payload.pack({"form": form, "tokens": problem.source, **header}, arrays)


def classes(run: Run, model: nn.Module, problem: Problem) -> Told:
    """The shares of all classes, and what they are after every beginning of the input."""
    (ids, _, *others), time = problem.batch.inputs, len(problem.source)  # others: which sentence each token is of
    shown = lengths_shown(time)
    shares = []
    for some in shown.split(TOGETHER):
        valid = torch.arange(int(some[-1])) < some[:, None]
        read, *rest = (row[:, : valid.shape[1]] * valid for row in (ids, *others))
        shares.append(model(read, some, *rest).logits.softmax(-1))
    header = {
        "labels": [in_all_languages(name) for name in run.task.label_names],
        "lengths": shown.tolist(),
        "right": int(problem.batch.target[0]) if problem.known else None,
    }
    return header, {"shares": torch.cat(shares).numpy()}  # (beginning, class)


def lengths_shown(time: int) -> Tensor:
    """Those of the beginnings: all of them, or as many as can be read, evenly spread up to the whole."""
    most = 2 * READ // (time + 1)  # half of the whole is their mean length
    return torch.linspace(time, 1, min(time, PREFIXES, max(1, most))).round().long().flip(0)


def spans(run: Run, model: nn.Module, problem: Problem) -> Told:
    """(type, start, end): the scores of all spans; those above 0 are the model's answer."""
    scores = model(*problem.batch.inputs).logits[0]
    can = scores > float("-inf")
    header = {
        "labels": [in_all_languages(name) for name in run.task.label_names],
        "found": (scores > 0).nonzero().tolist(),
        "right": problem.batch.target[0].nonzero().tolist() if problem.known else None,
    }
    return header, {"scores": scores.masked_fill(~can, 0).numpy(), "can": can.numpy().astype(np.uint8)}


def answer_span(run: Run, model: nn.Module, problem: Problem) -> Told:
    """Scores of every token as the answer's first and last; p(start, end) ∝ exp(score of both), start ≤ end."""
    scores = model(*problem.batch.inputs).logits  # (1, 2, time)
    best = model.head.predict(scores)[0].tolist()
    pairs = scores[0, 0, :, None] + scores[0, 1]  # (start, end)
    order = torch.ones_like(pairs, dtype=torch.bool).triu()
    shares = pairs.masked_fill(~order, float("-inf")).flatten().softmax(0)
    likeliest = shares.topk(min(SPANS_LISTED, len(problem.source))).indices.tolist()
    listed = [{"span": list(divmod(i, len(problem.source))), "share": float(shares[i])} for i in likeliest]
    header = {
        "best": best,
        "spans": [{**one, "score": float(pairs[tuple(one["span"])])} for one in listed],
        "right": problem.batch.target[0].tolist() if problem.known else None,
    }
    return header, {"scores": scores[0].numpy()}


def masked(run: Run, model: nn.Module, problem: Problem, masks: list[int] | None) -> Told:
    """The likeliest fillings of the holes; whether the second sentence follows, if there is one."""
    mask, fixed = run.task.ids["[MASK]"], torch.tensor([run.task.ids[name] for name in ("[CLS]", "[SEP]")])
    seen, lengths, segments = problem.batch.inputs
    target = problem.batch.target[0]
    words = torch.where((target != IGNORE) & problem.known, target, seen[0])  # what stood there, where that is known
    open_places = (~torch.isin(words, fixed)).nonzero().squeeze(1).tolist()
    holes = first_holes(seen[0], words, open_places, mask) if masks is None else sorted(set(masks) & set(open_places))
    given = words.clone()
    given[holes] = mask
    holes = (given == mask).nonzero().squeeze(1).tolist()  # also those that were typed
    output = model(given[None], lengths, segments)
    shares = output.logits[0, holes].softmax(-1)  # (hole, word)
    best = shares.topk(FILLINGS)
    follows = None
    if output.next_sentence is not None and bool(segments.any()):
        right = int(problem.batch.next_sentence[0]) if problem.known else None
        follows = {
            "labels": [in_all_languages(text) for text in FOLLOWS],
            "shares": output.next_sentence[0].softmax(-1).tolist(),
            "right": right,
        }
    header = {
        "tokens": visible(run.task.show(words.tolist())),
        "open": open_places,
        "holes": [
            filled(run, i, row, int(words[i]), mask)
            for i, row in zip(holes, zip(best.values, best.indices, shares, strict=True), strict=True)
        ],
        "follows": follows,
    }
    return header, {}


def first_holes(seen: Tensor, words: Tensor, open_places: list[int], mask: int) -> list[int]:
    """Those of the input; where it has none, the word in the middle."""
    found = (seen == mask).nonzero().squeeze(1).tolist()
    return found or [open_places[len(open_places) // 2]] if open_places else found


def filled(run: Run, place: int, row: tuple[Tensor, Tensor, Tensor], word: int, mask: int) -> dict[str, Any]:
    values, ids, shares = row
    known = word != mask
    return {
        "place": place,
        "words": visible(run.task.show(ids.tolist())),
        "shares": values.tolist(),
        "word": run.task.tokens[word] if known else None,  # that stood there
        "share": float(shares[word]) if known else None,
        "rank": int((shares > shares[word]).sum()) + 1 if known else None,
    }


FORMS = {"label": classes, "tags": tags, "spans": spans, "answer": answer_span}
