"""What a run was asked in its training: one example of a batch as the model took it, and what it should have said."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from app.i18n import in_all_languages
from app.service.generation.predictions import FOLLOWS
from app.service.inputs import visible
from core import InputError
from core.layers.task_heads.heads import IGNORE
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run
from core.tasks.layouts import Batch
from core.training.loop import Trainer

SHOWN = 24  # examples, before they begin anew


def example(run: Run | PretrainedRun, number: int) -> dict[str, Any]:
    """Example `number` of the batches with which a run of this recipe and seed begins, told by its form."""
    if isinstance(run, PretrainedRun):
        raise InputError(
            "A pretrained model comes without its training: there is no example to show.",
        )
    at = number % SHOWN
    trainer = Trainer(run.model, run.task, run.recipe.training, run.seed)
    size = run.recipe.training.batch_size
    for _ in range(at // size + 1):
        batch = trainer.next_batch()
    told = FORMS[trainer.form](run, batch, at % size)
    return {"form": trainer.form, "number": at, "of": SHOWN, **told}


def row(run: Run, ids: Tensor, length: int) -> list[str]:
    return visible(run.task.show(ids[:length].tolist()))


def asked(run: Run, target: Tensor, length: int) -> list[str | None]:
    """What it should say at every step; None: nothing is asked there."""
    names = visible(run.task.show(target[:length].clamp(min=0).tolist()))
    return [name if int(one) != IGNORE else None for name, one in zip(names, target, strict=False)]


def label(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    name = run.task.label_names[int(batch.target[i])]
    return {"input": row(run, batch.inputs[0][i], int(batch.lengths[i])), "label": in_all_languages(name)}


def tags(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    length = int(batch.lengths[i])
    names = run.task.label_names
    target = [None if one == IGNORE else in_all_languages(names[one]) for one in batch.target[i, :length].tolist()]
    return {
        "input": row(run, batch.inputs[0][i], length),
        "labels": target,
        "names": [in_all_languages(name) for name in names],
    }


def stream(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    length = int(batch.lengths[i])
    return {"input": row(run, batch.inputs[0][i], length), "target": asked(run, batch.target[i], length)}


def pairs(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    source, given, source_lengths, lengths = batch.inputs
    length = int(lengths[i])
    return {
        "source": row(run, source[i], int(source_lengths[i])),
        "input": row(run, given[i], length),
        "target": asked(run, batch.target[i], length),
    }


def masked(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    length = int(batch.lengths[i])
    seen, target = batch.inputs[0][i, :length], batch.target[i, :length]
    hole = run.task.ids["[MASK]"]
    fates = [fate(int(there), int(was), hole) for there, was in zip(seen, target, strict=True)]
    whole = torch.where(target == IGNORE, seen, target)
    told = {
        "input": row(run, seen, length),
        "target": asked(run, target, length),
        "text": row(run, whole, length),
        "fates": fates,
    }
    if batch.next_sentence is not None:
        told["follows"] = in_all_languages(FOLLOWS[int(batch.next_sentence[i])])
        told["segments"] = batch.inputs[2][i, :length].tolist()
    return told


def fate(there: int, was: int, hole: int) -> str | None:
    """Of a chosen word: masked, left as it is, or replaced at random"""
    if was == IGNORE:
        return None
    return "masked" if there == hole else "kept" if there == was else "swapped"


def answer(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    return {"input": row(run, batch.inputs[0][i], int(batch.lengths[i])), "span": batch.target[i].tolist()}


def spans(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    return {
        "input": row(run, batch.inputs[0][i], int(batch.lengths[i])),
        "spans": batch.target[i].nonzero().tolist(),
        "labels": [in_all_languages(name) for name in run.task.label_names],
    }


FORMS = {
    "label": label,
    "tags": tags,
    "stream": stream,
    "pairs": pairs,
    "masked": masked,
    "answer": answer,
    "spans": spans,
}
