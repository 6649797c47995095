"""Model inputs: a typed text or a held-out example as tensors for one model, with a token for each row and column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import torch
from torch import Tensor

from app.service.example_texts import example_text
from core import InputError
from core.decoding import generate
from core.layers.task_heads.heads import IGNORE
from core.runs.pretrained_run import FreeTextTask, PretrainedRun
from core.runs.run import Run
from core.tasks import Task
from core.tasks.layouts import BOS, EOS, Batch, Examples, prompt

AnyRun = Run | PretrainedRun
MAX_INPUT_TOKENS = 512
MAX_LAYER_WEIGHTS = 20_000_000  # attention weights of one layer, which are in memory together: 80 MB


@dataclass(frozen=True)
class ModelInput:
    """One example, laid out for one model."""

    text: str
    batch: Batch
    source: list[str]  # tokens of the (first) sequence the model reads
    decoder_tokens: list[str]  # tokens the decoder reads; empty for models of one sequence
    target_tokens: list[str]  # tokens the decoder should predict, one for each it reads
    known: bool  # is the right answer known?
    alignment: list[list[int]] | None  # for every target token, the source positions it depends on
    open_end: bool = False  # is the token after the last one predicted, too?

    @property
    def ids(self) -> Tensor:
        return self.batch.inputs[0][0]


def read_input(run: AnyRun, text: str | None, index: int | None = None) -> ModelInput:
    """A typed text or, if that is None, held-out example `index`."""
    return held_out_input(run, index or 0) if text is None else input_from_text(run, text)


def input_from_text(run: AnyRun, text: str) -> ModelInput:
    """A text in the vocabulary of the run's task; `InputError` if it cannot be read."""
    if isinstance(run, PretrainedRun):
        return _free_text_input(run, text)
    task, form = run.task, run.task.form(run.model)
    source = task.read(text)
    check_length(run, len(source) + ("pairs" in task.forms))
    rows, lengths = torch.tensor([source]), torch.tensor([len(source)])
    if form == "stream" and "pairs" not in task.forms:  # the text is the stream itself, and may go on
        if len(source) < 2:
            raise InputError("Type at least two tokens.")
        source = [*stream_prefix(task), *source]
        rows, lengths = torch.tensor([source]), torch.tensor([len(source)])
        return replace(_make_input(run, text, _open_stream(rows, lengths), source, None, False), open_end=True)
    answer = task.solve(source)
    target, target_lengths = _target(run, form, rows, lengths, answer)
    examples = Examples(rows, lengths, target, target_lengths, torch.ones(1, dtype=torch.long))
    batch = task.lay_out(examples, form)
    check_length(run, max(ids.shape[1] for ids in batch.inputs if ids.dim() == 2))
    return _make_input(run, text, batch, source, examples, answer is not None)


def max_tokens(run: AnyRun) -> int:
    """The model's `max_len`, or less where one layer's attention weights would be too many."""
    config: Any = run.model.config
    return min(config.max_len, MAX_INPUT_TOKENS, isqrt(MAX_LAYER_WEIGHTS // getattr(config, "n_heads", 1)))


def check_length(run: AnyRun, tokens: int) -> None:
    if tokens > max_tokens(run):
        raise InputError(
            "The input has {tokens} tokens, start, end and answer counted; with this run at most "
            "{room} can be shown.",
            tokens=tokens,
            room=max_tokens(run),
        )


def stream_prefix(task: Task) -> list[int]:
    """The start token, if streams of this task begin with one."""
    first = int(task.lay_out(task.evaluation(1), "stream").inputs[0][0, 0])
    return [BOS] if first == BOS else []


def _open_stream(rows: Tensor, lengths: Tensor) -> Batch:
    """Next-token targets; after the last token, which is read too, there is none."""
    target = torch.cat([rows[:, 1:], torch.full_like(rows[:, :1], IGNORE)], dim=1)
    return Batch((rows, lengths), target, lengths)


def _free_text_input(run: PretrainedRun, text: str) -> ModelInput:
    source = run.task.read(text)
    check_length(run, len(source))
    model_input = _make_input(run, text, run.lay_out(text), source, None, False)
    return replace(model_input, open_end=run.task.forms == ("stream",))


def held_out_input(run: AnyRun, index: int, seed: int = 0) -> ModelInput:
    """Example `index` of those held out of training; for a pretrained model, one of the example texts."""
    if isinstance(run, PretrainedRun):
        return _free_text_input(run, run.task.spell_special_tokens(example_text(run.task.forms[0], index)))
    examples = run.task.evaluation(index + 1, seed=seed).pick(torch.tensor([index]))
    source = examples.source[0, : examples.source_lengths[0]].tolist()
    batch = run.task.lay_out(examples, run.task.form(run.model))
    is_stream = run.task.form(run.model) == "stream" and "pairs" not in run.task.forms
    typeable = batch.inputs[0][0, len(stream_prefix(run.task)) :].tolist() if is_stream else source
    return _make_input(run, run.task.say(typeable), batch, source, examples, True)


def _target(
    run: Run, form: str, rows: Tensor, lengths: Tensor, answer: list[int] | int | None
) -> tuple[Tensor, Tensor | None]:
    """The answer as target and target lengths; where unknown, the trained model's own output, or a placeholder."""
    if form in ("pairs", "stream"):
        if answer is None:
            max_new = min(2 * rows.shape[1] + 2, max_tokens(run) - 1)
            tokens = generate(run.model, *prompt(Examples(rows, lengths, rows), form), max_new=max_new)
            answer = [token for token in tokens[0].tolist() if token > EOS]
        assert not isinstance(answer, int)
        return torch.tensor([answer or [EOS + 1]]), torch.tensor([max(1, len(answer))])
    if form == "label":
        return torch.tensor([answer or 0]), None
    if form == "answer":
        return torch.tensor([answer or [0, 0]]), None
    if form in ("tags", "masked"):
        return torch.tensor([answer or [0] * rows.shape[1]]), None
    return torch.tensor([answer or [0]]), None  # spans, as numbers


def _make_input(
    run: AnyRun, text: str, batch: Batch, source: list[int], examples: Examples | None, known: bool
) -> ModelInput:
    task = run.task
    source_tokens = mark_spaces(task.show(batch.inputs[0][0].tolist()))
    alignment = _alignment(task, source, examples)
    if len(batch.inputs) != 4:
        return ModelInput(text, batch, source_tokens, [], [], known, alignment)
    read, predicted = (mark_spaces(task.show(ids.tolist())) for ids in (batch.inputs[1][0], batch.target[0]))
    return ModelInput(text, batch, source_tokens, read, predicted, known, alignment)


def mark_spaces(tokens: list[str]) -> list[str]:
    """A token that is one space, which nothing would show, as ␣."""
    return ["␣" if token == " " else token for token in tokens]


def _alignment(task: Task | FreeTextTask, source: list[int], examples: Examples | None) -> list[list[int]] | None:
    if examples is None or examples.target_lengths is None:
        return None
    assert isinstance(task, Task)
    target = examples.target[0, : examples.target_lengths[0]].tolist()
    return task.alignment_with_eos(source, target)


def token_axes(model_input: ModelInput, downsample: int) -> dict[str, list[str]]:
    """The tokens of each axis; of a downsampled source, those that became one, joined."""
    source = model_input.source
    axes = {"source": source, "given": model_input.decoder_tokens, "written": model_input.target_tokens}
    if downsample > 1:
        axes["pooled"] = [" ".join(source[at : at + downsample]) for at in range(0, len(source), downsample)]
    return axes
