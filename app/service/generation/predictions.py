"""What a model says to a problem at one snapshot, read off its logits."""

from __future__ import annotations

import torch
from torch import Tensor

from app.i18n import in_all_languages
from app.service.inputs import Problem, visible
from core.analysis import measures
from core.capture.tape import Tape
from core.layers.task_heads.crf import Crf
from core.layers.task_heads.heads import IGNORE, CrfHead, TaskHead
from core.messages import Text, verbatim
from core.runs.run import Run

FOLLOWS = (Text("the second sentence follows"), Text("it does not follow"))


@torch.no_grad()
def answer(run: Run, problem: Problem, tape: Tape, head: TaskHead) -> dict:
    """Tokens or labels, each with its probability and, where that can be known, whether it is right.

    `places` are those of the tokens it was asked at; what it says of two sentences comes last and has none.
    """
    form, logits = run.task.form(run.model), tape["logits"][0]
    names = run.task.label_names
    target = problem.batch.target[0]
    if form == "label":
        shares = logits.softmax(-1)
        said = int(shares.argmax())
        right = [bool(said == target)] if problem.known else None
        return {
            "said": [in_all_languages(names[said])],
            "shares": [float(shares[said])],
            "right": right,
            "places": None,
        }
    if form not in ("pairs", "stream", "masked") and not (form == "tags" and logits.dim() == 2):
        return {"said": [], "shares": [], "right": None, "places": []}
    if isinstance(head, CrfHead):
        shares, said = best_path(head, logits)  # (time,)
    else:
        best, said = logits.max(-1)
        shares = (best - logits.logsumexp(-1)).exp()  # of a vocabulary, all shares together may be 100 MB
    places = _asked(run, problem, form, target).nonzero().squeeze(1)
    tokens = names if form == "tags" else [verbatim(token) for token in visible(run.task.tokens)]
    told = {
        "said": [in_all_languages(tokens[i]) for i in said[places].tolist()],
        "shares": shares[places].tolist(),
        "right": _right(problem, form, said, target, places),
        "places": places.tolist(),
    }
    if "next_sentence" in tape and problem.batch.inputs[2].any():  # there is a second sentence
        _say_whether_it_follows(told, problem, tape["next_sentence"][0])
    return told


def best_path(head: CrfHead, emissions: Tensor) -> tuple[Tensor, Tensor]:
    """(time,): of every tag on the likeliest path its probability, given the whole sentence, and the tag."""
    said = torch.tensor(head.predict(emissions[None])[0])
    return marginals(head.crf, emissions[None]).gather(-1, said[:, None])[:, 0], said


def _asked(run: Run, problem: Problem, form: str, target: Tensor) -> Tensor:
    """(time,): where the model is asked"""
    if form == "masked" and not problem.known:  # a hole somebody typed
        return problem.ids == run.task.ids["[MASK]"]
    if form == "tags" and not problem.known:
        return torch.ones_like(problem.ids, dtype=torch.bool)
    asked = target != IGNORE
    if problem.open_end:  # what comes after all that was typed
        asked[-1] = True
    return asked


def _right(problem: Problem, form: str, said: Tensor, target: Tensor, places: Tensor) -> list[bool | None] | None:
    if problem.known:
        return (said == target)[places].tolist()
    if form != "stream":
        return None
    # Typed: what comes next could be known only where it has followed the same token before.
    followed = measures.after_occurrences(problem.ids) & (problem.ids == target[:, None])  # (time, key)
    hits, could_be_known = (said == target).tolist(), followed.any(-1).tolist()
    return [hits[i] or (False if could_be_known[i] else None) for i in places.tolist()]


def _say_whether_it_follows(told: dict, problem: Problem, logits: Tensor) -> None:
    shares = logits.softmax(-1)
    said = int(shares.argmax())
    told["said"].append(in_all_languages(FOLLOWS[said]))
    told["shares"].append(float(shares[said]))
    if told["right"] is not None:
        told["right"].append(said == int(problem.batch.next_sentence[0]))


def marginals(crf: Crf, emissions: Tensor) -> Tensor:
    """(time, tag): p(tag here | the whole sentence), which is ∂ log Z / ∂ emission"""
    with torch.enable_grad():
        given = emissions.detach().requires_grad_()
        mask = torch.ones(given.shape[:2], dtype=torch.bool)
        (found,) = torch.autograd.grad(crf.log_partition(given, mask).sum(), given)
    return found[0]
