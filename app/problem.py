"""From what a person typed, or a held-out problem, to what the model takes, with a name for every row and column."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core import InputError
from core.decoding import generate
from core.run import Run
from core.tasks import Task
from core.tasks.layouts import EOS, Batch, Examples, next_tokens, prompt

LONGEST = 64  # tokens of a toy's input that are drawn cell by cell


@dataclass(frozen=True)
class Problem:
    """One problem, laid out for one model."""

    text: str
    batch: Batch
    source: list[str]  # the (first) sequence the model reads
    given: list[str]  # what a decoder reads; empty for models of one sequence
    written: list[str]  # what it should write in each of these places
    known: bool  # is the right answer known?
    alignment: list[list[int]] | None  # for every written token, the source tokens that matter

    @property
    def ids(self) -> Tensor:
        return self.batch.inputs[0][0]


def typed(run: Run, text: str) -> Problem:
    """A problem in the task's own language; a sentence (`InputError`) if it cannot be read."""
    task, form = run.task, run.task.form(run.model)
    source = task.read(text)
    if len(source) > LONGEST:
        raise InputError(
            f"The input has {len(source)} tokens; at most {LONGEST} can be shown.",
            f"输入有 {len(source)} 个符号；最多可显示 {LONGEST} 个。",
        )
    rows, lengths = torch.tensor([source]), torch.tensor([len(source)])
    if form == "stream" and "pairs" not in task.forms:  # the text is the stream itself
        if len(source) < 2:
            raise InputError("Type at least two tokens.", "请至少输入两个符号。")
        return _named(run, text, next_tokens(rows, lengths, first_asked=torch.tensor([1])), source, None, False)
    answer = task.solve(source)
    target, target_lengths = _target(run, form, rows, lengths, answer)
    examples = Examples(rows, lengths, target, target_lengths, torch.ones(1, dtype=torch.long))
    return _named(run, text, task.lay_out(examples, form), source, examples, answer is not None)


def held_out(run: Run, index: int, seed: int = 0) -> Problem:
    """A problem nobody trained on."""
    examples = run.task.evaluation(index + 1, seed=seed).pick(torch.tensor([index]))
    source = examples.source[0, : examples.source_lengths[0]].tolist()
    batch = run.task.lay_out(examples, run.task.form(run.model))
    stream = run.task.form(run.model) == "stream" and "pairs" not in run.task.forms
    shown = [*batch.inputs[0][0].tolist(), int(batch.target[0, -1])] if stream else source
    return _named(run, run.task.say(shown), batch, source, examples, True)


def _target(run: Run, form: str, rows: Tensor, lengths: Tensor, answer: list[int] | int | None):
    """The answer as a target; where nobody knows it, what the trained model writes, or nothing."""
    if form in ("pairs", "stream"):
        if answer is None:
            written = generate(run.model, *prompt(Examples(rows, lengths, rows), form), max_new=2 * rows.shape[1] + 2)
            answer = [token for token in written[0].tolist() if token > EOS]
        return torch.tensor([answer or [EOS + 1]]), torch.tensor([max(1, len(answer))])
    if form == "label":
        return torch.tensor([answer or 0]), None
    if form == "answer":
        return torch.tensor([answer or [0, 0]]), None
    if form in ("tags", "masked"):
        return torch.tensor([answer or [0] * rows.shape[1]]), None
    return torch.zeros(1, 1, dtype=torch.long), None


def _named(run: Run, text: str, batch: Batch, source: list[int], examples: Examples | None, known: bool) -> Problem:
    task = run.task
    read = _visible(task.show(batch.inputs[0][0].tolist()))
    if len(batch.inputs) != 4:
        return Problem(text, batch, read, [], [], known, _marks(task, source, examples))
    given, written = (_visible(task.show(ids.tolist())) for ids in (batch.inputs[1][0], batch.target[0]))
    return Problem(text, batch, read, given, written, known, _marks(task, source, examples))


def _visible(tokens: list[str]) -> list[str]:
    """A space is a token too, and must be seen."""
    return ["␣" if token == " " else token for token in tokens]


def _marks(task: Task, source: list[int], examples: Examples | None) -> list[list[int]] | None:
    if examples is None or examples.target_lengths is None:
        return None
    target = examples.target[0, : examples.target_lengths[0]].tolist()
    return task.ended_alignment(source, target)
