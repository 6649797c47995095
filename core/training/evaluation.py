"""Accuracy on held-out problems: of predictions, or of sequences the model generates itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import nn

from core.config.families import Config
from core.decoding import generate
from core.models.eval_mode import eval_mode
from core.tasks.base import Task
from core.tasks.layouts import BOS, EOS, PAD, Examples, prompt, target_with_eos
from core.training.loop import count_correct

MOST_PROBLEMS, MOST_LOGITS = 128, 2**26  # per forward pass


@dataclass(frozen=True)
class EvaluationResult:
    """Share of correct predictions; for sequences, of correct tokens when generating freely, end token included."""

    accuracy: float
    problems: int


@torch.no_grad()
def evaluate(
    model: nn.Module, task: Task, n: int = 256, *, length: int | None = None, seed: int = 0
) -> EvaluationResult:
    """Accuracy on n held-out problems, all of one length if given. The model is left in the mode it was in."""
    form = task.form(model)
    examples = task.evaluation(n, length=length, seed=seed)
    generates = form in ("pairs", "stream") and "pairs" in task.forms
    with eval_mode(model):
        correct, total = 0.0, 0
        for rows in torch.arange(len(examples)).split(_chunk_size(model, examples)):
            chunk = examples.pick(rows)
            counts = _count_generated(model, chunk, form) if generates else _count_predicted(model, task, chunk, form)
            correct, total = correct + counts[0], total + counts[1]
    return EvaluationResult(correct / max(1, total), len(examples))


def _chunk_size(model: nn.Module, examples: Examples) -> int:
    """Problems per forward pass: fewer if they are long and the vocabulary is large."""
    tokens = examples.source.shape[1] + examples.target[0].numel()
    return max(1, min(MOST_PROBLEMS, MOST_LOGITS // (tokens * cast(Config, model.config).vocab_size)))


def _count_predicted(model: nn.Module, task: Task, examples: Examples, form: str) -> tuple[float, int]:
    """Correct predictions, and all of them, in one forward pass."""
    batch = task.lay_out(examples, form).to(_device(model))
    return count_correct(model, model(*batch.inputs).logits, batch)


def _count_generated(model: nn.Module, examples: Examples, form: str) -> tuple[float, int]:
    """Correct tokens, and all of them, when the model continues its own output (no teacher forcing)."""
    target, target_lengths = target_with_eos(examples)
    source, lengths = prompt(examples, form)
    device = _device(model)
    special_tokens = {"bos": BOS, "eos": EOS, "pad": PAD}  # the task's, also for a pretrained model
    output = generate(model, source.to(device), lengths.to(device), max_new=target.shape[1], **special_tokens).cpu()
    output = nn.functional.pad(output, (0, target.shape[1] - output.shape[1]))
    valid = torch.arange(target.shape[1]) < target_lengths[:, None]
    return float(((output == target) & valid).sum()), int(valid.sum())


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
