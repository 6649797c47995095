"""One example of a run's training batches as the model reads it, with its target."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from app.i18n import in_all_languages
from app.service.generation.predictions import NEXT_SENTENCE_LABELS
from app.service.inputs import AnyRun, mark_spaces
from core import InputError
from core.layers.task_heads.heads import IGNORE
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run
from core.tasks.layouts import Batch
from core.training.batches import BatchStream

EXAMPLES = 24  # after which the first comes again


def describe_example(run: AnyRun, number: int) -> dict[str, Any]:
    """Example `number` of the first batches of this recipe and seed."""
    if isinstance(run, PretrainedRun):
        raise InputError(
            "A pretrained model comes without its training: there is no example to show.",
        )
    index = number % EXAMPLES
    batches = BatchStream(run.task, run.task.form(run.model), run.recipe.training, run.seed)
    size = run.recipe.training.batch_size
    for _ in range(index // size):
        batches.next_batch()
    example = FORMS[batches.form](run, batches.next_batch(), index % size)
    return {"form": batches.form, "number": index, "of": EXAMPLES, **example}


def token_row(run: Run, ids: Tensor, length: int) -> list[str]:
    return mark_spaces(run.task.show(ids[:length].tolist()))


def target_row(run: Run, target: Tensor, length: int) -> list[str | None]:
    """The target at every position; None: it does not count."""
    names = mark_spaces(run.task.show(target[:length].clamp(min=0).tolist()))
    return [name if int(token) != IGNORE else None for name, token in zip(names, target, strict=False)]


def label_example(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    name = run.task.label_names[int(batch.target[i])]
    return {"input": token_row(run, batch.inputs[0][i], int(batch.lengths[i])), "label": in_all_languages(name)}


def tags_example(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    length = int(batch.lengths[i])
    names = run.task.label_names
    target = [None if tag == IGNORE else in_all_languages(names[tag]) for tag in batch.target[i, :length].tolist()]
    return {
        "input": token_row(run, batch.inputs[0][i], length),
        "labels": target,
        "names": [in_all_languages(name) for name in names],
    }


def stream_example(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    length = int(batch.lengths[i])
    return {"input": token_row(run, batch.inputs[0][i], length), "target": target_row(run, batch.target[i], length)}


def pairs_example(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    source, decoder_input, source_lengths, lengths = batch.inputs
    length = int(lengths[i])
    return {
        "source": token_row(run, source[i], int(source_lengths[i])),
        "input": token_row(run, decoder_input[i], length),
        "target": target_row(run, batch.target[i], length),
    }


def masked_example(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    length = int(batch.lengths[i])
    ids, target = batch.inputs[0][i, :length], batch.target[i, :length]
    mask = run.task.ids["[MASK]"]
    original = torch.where(target == IGNORE, ids, target)
    example: dict[str, Any] = {
        "input": token_row(run, ids, length),
        "target": target_row(run, target, length),
        "text": token_row(run, original, length),
        "fates": [masking_kind(int(token), int(was), mask) for token, was in zip(ids, target, strict=True)],
    }
    if batch.next_sentence is not None:
        example["follows"] = in_all_languages(NEXT_SENTENCE_LABELS[int(batch.next_sentence[i])])
        example["segments"] = batch.inputs[2][i, :length].tolist()
    return example


def masking_kind(token: int, original: int, mask: int) -> str | None:
    """masked, kept, or swapped for a random token (Devlin et al. 2018); None: not selected"""
    if original == IGNORE:
        return None
    return "masked" if token == mask else "kept" if token == original else "swapped"


def answer_example(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    return {"input": token_row(run, batch.inputs[0][i], int(batch.lengths[i])), "span": batch.target[i].tolist()}


def spans_example(run: Run, batch: Batch, i: int) -> dict[str, Any]:
    return {
        "input": token_row(run, batch.inputs[0][i], int(batch.lengths[i])),
        "spans": batch.target[i].nonzero().tolist(),
        "labels": [in_all_languages(name) for name in run.task.label_names],
    }


FORMS = {
    "label": label_example,
    "tags": tags_example,
    "stream": stream_example,
    "pairs": pairs_example,
    "masked": masked_example,
    "answer": answer_example,
    "spans": spans_example,
}
