"""A model's prediction for an input at one snapshot, read off its logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from app.i18n import in_all_languages
from app.service.inputs import AnyRun, ModelInput, mark_spaces
from core.analysis import measures
from core.capture.tape import Tape
from core.layers.task_heads.crf import Crf
from core.layers.task_heads.heads import IGNORE, CrfHead
from core.translatable import Text, verbatim

NEXT_SENTENCE_LABELS = (Text("the second sentence follows"), Text("it does not follow"))


@torch.no_grad()
def describe_prediction(run: AnyRun, model_input: ModelInput, tape: Tape, model: nn.Module) -> dict[str, Any]:
    """Tokens or labels, each with its probability and, where the answer is known, whether it is right.

    `places` are the positions predicted at. Next-sentence prediction, where there is one, comes last and has none.
    """
    form, logits = run.task.form(run.model), tape["logits"][0]
    label_names = run.task.label_names
    target = model_input.batch.target[0]
    if form == "label":
        probabilities = logits.softmax(-1)
        label = int(probabilities.argmax())
        return {
            "said": [in_all_languages(label_names[label])],
            "shares": [float(probabilities[label])],
            "right": [bool(label == target)] if model_input.known else None,
            "places": None,
        }
    if form not in ("pairs", "stream", "masked") and not (form == "tags" and logits.dim() == 2):
        return {"said": [], "shares": [], "right": None, "places": []}
    if isinstance(model.head, CrfHead):
        probabilities, predicted = best_path(model.head, logits)  # (time,)
    else:
        best, predicted = logits.max(-1)
        probabilities = (best - logits.logsumexp(-1)).exp()  # a softmax over a large vocabulary may take 100 MB
    positions = _predicted_positions(run, model_input, form, target).nonzero().squeeze(1)
    names = label_names if form == "tags" else [verbatim(token) for token in mark_spaces(run.task.tokens)]
    prediction = {
        "said": [in_all_languages(names[i]) for i in predicted[positions].tolist()],
        "shares": probabilities[positions].tolist(),
        "right": _correctness(model_input, form, predicted, target, positions),
        "places": positions.tolist(),
    }
    if "next_sentence" in tape and model_input.batch.inputs[2].any():  # there is a second sentence
        _add_next_sentence(prediction, model_input, tape["next_sentence"][0])
    return prediction


def best_path(head: CrfHead, emissions: Tensor) -> tuple[Tensor, Tensor]:
    """(time,) each: the marginal probabilities of the tags on the likeliest path, and these tags."""
    tags = torch.tensor(head.predict(emissions[None])[0])
    return tag_marginals(head.crf, emissions[None]).gather(-1, tags[:, None])[:, 0], tags


def _predicted_positions(run: AnyRun, model_input: ModelInput, form: str, target: Tensor) -> Tensor:
    """(time,): True where the model's output counts"""
    if form == "masked" and not model_input.known:  # a typed [MASK]
        return model_input.ids == run.task.ids["[MASK]"]
    if form == "tags" and not model_input.known:
        return torch.ones_like(model_input.ids, dtype=torch.bool)
    counts = target != IGNORE
    if model_input.open_end:  # the token after the typed text
        counts[-1] = True
    return counts


def _correctness(
    model_input: ModelInput, form: str, predicted: Tensor, target: Tensor, positions: Tensor
) -> list[bool | None] | None:
    """Per position; None: cannot be judged."""
    if model_input.known:
        return (predicted == target)[positions].tolist()
    if form != "stream":
        return None
    # In a typed text the next token is predictable only where it has followed the same token before.
    followed = measures.induction_targets(model_input.ids) & (model_input.ids == target[:, None])  # (time, key)
    hits, predictable = (predicted == target).tolist(), followed.any(-1).tolist()
    return [hits[i] or (False if predictable[i] else None) for i in positions.tolist()]


def _add_next_sentence(prediction: dict[str, Any], model_input: ModelInput, logits: Tensor) -> None:
    probabilities = logits.softmax(-1)
    label = int(probabilities.argmax())
    prediction["said"].append(in_all_languages(NEXT_SENTENCE_LABELS[label]))
    prediction["shares"].append(float(probabilities[label]))
    if prediction["right"] is not None:
        prediction["right"].append(label == next_sentence_target(model_input))


def next_sentence_target(model_input: ModelInput) -> int:
    target = model_input.batch.next_sentence
    assert target is not None
    return int(target[0])


def tag_marginals(crf: Crf, emissions: Tensor) -> Tensor:
    """(time, tag): p(tag at this position | the whole sentence) = ∂ log Z / ∂ emission"""
    with torch.enable_grad():
        scores = emissions.detach().requires_grad_()
        mask = torch.ones(scores.shape[:2], dtype=torch.bool)
        (marginals,) = torch.autograd.grad(crf.log_partition(scores, mask).sum(), scores)
    return marginals[0]
