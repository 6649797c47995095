"""A model's full answer to an input, by task form: classes, tags, spans, an extracted answer, or masked tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from app.figures import answers as figures
from app.figures.live import Live
from app.figures.spans import SpanView, spans
from app.figures.spans import span_scores as span_scores_figure
from app.figures.tagging import TagView, lattice, tags, transitions
from app.figures.tokens import in_languages
from app.i18n import in_all_languages
from app.payload import Parts
from app.service.generation.generation import model_at_step
from app.service.generation.predictions import NEXT_SENTENCE_LABELS, next_sentence_target
from app.service.generation.result import Result
from app.service.generation.tagging import tag_scores
from app.service.inputs import AnyRun, ModelInput, mark_spaces
from core import InputError
from core.layers.task_heads.heads import IGNORE

TOP_TOKENS = 12  # per mask
TOP_SPANS = 8  # of an extracted answer
MAX_PREFIXES = 96  # of an input that are classified
MAX_PREFIX_TOKENS = 4096  # of all prefixes together
PREFIX_BATCH = 8


@torch.no_grad()
def answer(
    run: AnyRun, model_input: ModelInput, step: int, masks: list[int] | None = None, name: str = "run"
) -> Result:
    """The answer and its figures."""
    model, form = model_at_step(run, step), run.task.form(run.model)
    if form == "masked":
        header, arrays = masked_tokens(run, model, model_input, masks)
    elif form in FORMS:
        header, arrays = FORMS[form](run, model, model_input)
    else:
        raise InputError("This model writes; it has no other answer.")
    header = {"form": form, "tokens": model_input.source, **header}
    return Result(header, arrays, FIGURES[form](header, arrays, name))


def class_probabilities(run: AnyRun, model: nn.Module, model_input: ModelInput) -> Parts:
    """shares (prefix, class): the probabilities of all classes after every prefix of the input."""
    (ids, _, *segments), time = model_input.batch.inputs, len(model_input.source)
    lengths = prefix_lengths(time)
    probabilities = []
    for some in lengths.split(PREFIX_BATCH):
        valid = torch.arange(int(some[-1])) < some[:, None]
        rows, *rest = (row[:, : valid.shape[1]] * valid for row in (ids, *segments))
        probabilities.append(model(rows, some, *rest).logits.softmax(-1))
    header = {
        "labels": [in_all_languages(name) for name in run.task.label_names],
        "lengths": lengths.tolist(),
        "right": int(model_input.batch.target[0]) if model_input.known else None,
    }
    return header, {"shares": torch.cat(probabilities).numpy()}


def prefix_lengths(time: int) -> Tensor:
    """All lengths up to `time`, or as many as the limits allow, evenly spread and ending with `time`."""
    most = 2 * MAX_PREFIX_TOKENS // (time + 1)  # the mean length is half of the whole
    return torch.linspace(time, 1, min(time, MAX_PREFIXES, max(1, most))).round().long().flip(0)


def span_scores(run: AnyRun, model: nn.Module, model_input: ModelInput) -> Parts:
    """(type, start, end): the scores of all spans; those above 0 are the model's answer."""
    scores = model(*model_input.batch.inputs).logits[0]
    possible = scores > float("-inf")
    header = {
        "labels": [in_all_languages(name) for name in run.task.label_names],
        "found": (scores > 0).nonzero().tolist(),
        "right": model_input.batch.target[0].nonzero().tolist() if model_input.known else None,
    }
    return header, {"scores": scores.masked_fill(~possible, 0).numpy(), "can": possible.numpy().astype(np.uint8)}


def answer_span(run: AnyRun, model: nn.Module, model_input: ModelInput) -> Parts:
    """Scores of every token as the answer's first and last; p(start, end) ∝ exp(score of both), start ≤ end."""
    scores = model(*model_input.batch.inputs).logits  # (1, 2, time)
    head: Any = model.head
    best = head.predict(scores)[0].tolist()
    pairs = scores[0, 0, :, None] + scores[0, 1]  # (start, end)
    in_order = torch.ones_like(pairs, dtype=torch.bool).triu()
    probabilities = pairs.masked_fill(~in_order, float("-inf")).flatten().softmax(0)
    time = len(model_input.source)
    top = probabilities.topk(min(TOP_SPANS, time)).indices.tolist()
    spans = [
        {"span": list(divmod(i, time)), "share": float(probabilities[i]), "score": float(pairs[divmod(i, time)])}
        for i in top
    ]
    header = {
        "best": best,
        "spans": spans,
        "right": model_input.batch.target[0].tolist() if model_input.known else None,
    }
    return header, {"scores": scores[0].numpy()}


def masked_tokens(run: AnyRun, model: nn.Module, model_input: ModelInput, masks: list[int] | None) -> Parts:
    """The likeliest tokens for each mask, and the next-sentence prediction, if there is a second sentence.

    `masks` are the positions to mask besides those typed; None: as in the input.
    """
    mask, fixed = run.task.ids["[MASK]"], torch.tensor([run.task.ids[name] for name in ("[CLS]", "[SEP]")])
    read, lengths, segments = model_input.batch.inputs
    target = model_input.batch.target[0]
    original = torch.where((target != IGNORE) & model_input.known, target, read[0])  # without masks, where known
    maskable = (~torch.isin(original, fixed)).nonzero().squeeze(1).tolist()
    positions = default_masks(read[0], maskable, mask) if masks is None else sorted(set(masks) & set(maskable))
    ids = original.clone()
    ids[positions] = mask
    positions = (ids == mask).nonzero().squeeze(1).tolist()  # typed masks are among them
    output = model(ids[None], lengths, segments)
    probabilities = output.logits[0, positions].softmax(-1)  # (mask, token)
    follows = None
    if output.next_sentence is not None and bool(segments.any()):
        follows = {
            "labels": [in_all_languages(text) for text in NEXT_SENTENCE_LABELS],
            "shares": output.next_sentence[0].softmax(-1).tolist(),
            "right": next_sentence_target(model_input) if model_input.known else None,
        }
    header = {
        "tokens": mark_spaces(run.task.show(original.tolist())),
        "open": maskable,
        "holes": [
            mask_facts(run, position, row, int(original[position]), mask)
            for position, row in zip(positions, probabilities, strict=True)
        ],
        "follows": follows,
    }
    return header, {}


def default_masks(ids: Tensor, maskable: list[int], mask: int) -> list[int]:
    """The masks of the input; where it has none, the token in the middle."""
    positions = (ids == mask).nonzero().squeeze(1).tolist()
    return positions or [maskable[len(maskable) // 2]] if maskable else positions


def mask_facts(run: AnyRun, position: int, probabilities: Tensor, original: int, mask: int) -> dict[str, Any]:
    """The likeliest tokens; of the original one, where it is known, its probability and rank."""
    top = probabilities.topk(TOP_TOKENS)
    known = original != mask
    return {
        "place": position,
        "words": mark_spaces(run.task.show(top.indices.tolist())),
        "shares": top.values.tolist(),
        "word": run.task.tokens[original] if known else None,
        "share": float(probabilities[original]) if known else None,
        "rank": int((probabilities > probabilities[original]).sum()) + 1 if known else None,
    }


def class_figures(header: dict[str, Any], arrays: dict[str, np.ndarray], name: str) -> dict[str, Live]:
    labels, shares = [in_languages(label) for label in header["labels"]], arrays["shares"]
    return {
        "classes": figures.classes(labels, shares[-1], header["right"], name),
        "along": figures.classes_along(labels, header["tokens"], header["lengths"], shares, name),
    }


def tag_figures(header: dict[str, Any], arrays: dict[str, np.ndarray], name: str) -> dict[str, Live]:
    crf = header["crf"] and {
        **header["crf"],
        **{side: [in_languages(label) for label in header["crf"][side]] for side in ("rows", "columns")},
    }
    labels = [in_languages(label) for label in header["labels"]]
    view = TagView(
        header["tokens"], labels, arrays["emissions"], arrays["shares"], header["path"], header["alone"], header["right"],
        crf, arrays.get("transitions"), arrays.get("legal"), name,
    )  # fmt: skip
    return {"tags": tags(view), "lattice": lattice(view), **({"transitions": transitions(view)} if crf else {})}


def span_figures(header: dict[str, Any], arrays: dict[str, np.ndarray], name: str) -> dict[str, Live]:
    labels = [in_languages(label) for label in header["labels"]]
    view = SpanView(header["tokens"], labels, arrays["scores"], arrays["can"], header["found"], header["right"], name)
    return {"spans": spans(view), "scores": span_scores_figure(view)}


def question_figures(header: dict[str, Any], arrays: dict[str, np.ndarray], name: str) -> dict[str, Live]:
    view = figures.AnswerView(
        header["tokens"], arrays["scores"], header["best"], header["spans"], header["right"], name
    )
    return {"answer": figures.answer_scores(view), "answers": figures.likely_answers(view)}


def mask_figures(header: dict[str, Any], arrays: dict[str, np.ndarray], name: str) -> dict[str, Live]:
    """Bars of all masks side by side, for wide pages, and one below the other."""
    holes, follows = header["holes"], header["follows"] or {"labels": [], "shares": None, "right": None}
    labels = [in_languages(label) for label in follows["labels"]]
    return {
        "fillings": figures.fillings(holes, name, max(1, min(len(holes), figures.MOST_ACROSS))),
        "fillings_narrow": figures.fillings(holes, name),
        "follows": figures.next_sentence(labels, follows["shares"], follows["right"], name),
    }


FIGURES = {
    "label": class_figures,
    "tags": tag_figures,
    "spans": span_figures,
    "answer": question_figures,
    "masked": mask_figures,
}
FORMS = {"label": class_probabilities, "tags": tag_scores, "spans": span_scores, "answer": answer_span}
