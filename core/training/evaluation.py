"""How good a model is on problems it was never trained on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from core.decoding import generate
from core.models.eval_mode import eval_mode
from core.tasks.base import Task
from core.tasks.layouts import BOS, EOS, PAD, Examples, ended, prompt
from core.training.loop import score

CHUNK, MOST_SCORES = 128, 2**26  # problems per forward pass; fewer if they are long and the words many


@dataclass(frozen=True)
class Score:
    """Share of right answers; of sequences, of right tokens written without help, end token included."""

    accuracy: float
    problems: int


@torch.no_grad()
def evaluate(model: nn.Module, task: Task, n: int = 256, *, length: int | None = None, seed: int = 0) -> Score:
    """On n held-out problems, of one length if asked. The model is left in the mode it was in."""
    form = task.form(model)
    examples = task.evaluation(n, length=length, seed=seed)
    writes = form in ("pairs", "stream") and "pairs" in task.forms
    with eval_mode(model):
        right, asked = 0.0, 0
        for rows in torch.arange(len(examples)).split(_at_once(model, examples)):
            part = examples.pick(rows)
            more_right, more_asked = _written(model, part, form) if writes else _answered(model, task, part, form)
            right, asked = right + more_right, asked + more_asked
    return Score(right / max(1, asked), len(examples))


def _at_once(model: nn.Module, examples: Examples) -> int:
    tokens = examples.source.shape[1] + examples.target[0].numel()
    return max(1, min(CHUNK, MOST_SCORES // (tokens * model.config.vocab_size)))


def _answered(model: nn.Module, task: Task, examples: Examples, form: str) -> tuple[float, int]:
    batch = task.lay_out(examples, form).to(_device(model))
    return score(model, model(*batch.inputs).logits, batch)


def _written(model: nn.Module, examples: Examples, form: str) -> tuple[float, int]:
    """Tokens right when the model reads its own writing, not the right answer so far."""
    target, target_lengths = ended(examples)
    source, lengths = prompt(examples, form)
    device = _device(model)
    signs = {"bos": BOS, "eos": EOS, "pad": PAD}  # the task's, wherever the model comes from
    written = generate(model, source.to(device), lengths.to(device), max_new=target.shape[1], **signs).cpu()
    written = nn.functional.pad(written, (0, target.shape[1] - written.shape[1]))
    asked = torch.arange(target.shape[1]) < target_lengths[:, None]
    return float(((written == target) & asked).sum()), int(asked.sum())


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
