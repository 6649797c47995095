"""From what a person typed, or a held-out problem, to what the model takes, with a name for every row and column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt

import torch
from torch import Tensor

from app.service.example_texts import example
from core import InputError
from core.decoding import generate
from core.layers.task_heads.heads import IGNORE
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run
from core.tasks import Task
from core.tasks.layouts import BOS, EOS, Batch, Examples, prompt

LONGEST = 512  # tokens of an input
MOST_WEIGHTS = 20_000_000  # attention weights of one layer, which are looked at together: 80 MB


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
    open_end: bool = False  # is the model also asked what comes after the last token?

    @property
    def ids(self) -> Tensor:
        return self.batch.inputs[0][0]


def typed(run: Run | PretrainedRun, text: str) -> Problem:
    """A problem in the task's own language; a sentence (`InputError`) if it cannot be read."""
    if isinstance(run, PretrainedRun):
        return _passage(run, text)
    task, form = run.task, run.task.form(run.model)
    source = task.read(text)
    check_room(run, len(source) + ("pairs" in task.forms))
    rows, lengths = torch.tensor([source]), torch.tensor([len(source)])
    if form == "stream" and "pairs" not in task.forms:  # the text is the stream itself, and it may go on
        if len(source) < 2:
            raise InputError("Type at least two tokens.")
        source = [*opening(task), *source]
        rows, lengths = torch.tensor([source]), torch.tensor([len(source)])
        return replace(_named(run, text, _open_stream(rows, lengths), source, None, False), open_end=True)
    answer = task.solve(source)
    target, target_lengths = _target(run, form, rows, lengths, answer)
    examples = Examples(rows, lengths, target, target_lengths, torch.ones(1, dtype=torch.long))
    batch = task.lay_out(examples, form)
    check_room(run, max(ids.shape[1] for ids in batch.inputs if ids.dim() == 2))
    return _named(run, text, batch, source, examples, answer is not None)


def room(run: Run | PretrainedRun) -> int:
    """Tokens that the model has places for and whose maps can be looked at layer by layer."""
    config = run.model.config
    return min(config.max_len, LONGEST, isqrt(MOST_WEIGHTS // getattr(config, "n_heads", 1)))


def check_room(run: Run | PretrainedRun, tokens: int) -> None:
    if tokens > room(run):
        raise InputError(
            "The input has {tokens} tokens, start, end and answer counted; with this run at most "
            "{room} can be shown.",
            tokens=tokens,
            room=room(run),
        )


def opening(task: Task) -> list[int]:
    """What every stream of this task begins with: the start token, or nothing."""
    first = int(task.lay_out(task.evaluation(1), "stream").inputs[0][0, 0])
    return [BOS] if first == BOS else []


def _open_stream(rows: Tensor, lengths: Tensor) -> Batch:
    """Every token is read, also the last: what follows it is the model's to say."""
    target = torch.cat([rows[:, 1:], torch.full_like(rows[:, :1], IGNORE)], dim=1)
    return Batch((rows, lengths), target, lengths)


def _passage(run: PretrainedRun, text: str) -> Problem:
    source = run.task.read(text)
    check_room(run, len(source))
    named = _named(run, text, run.lay_out(text), source, None, False)
    return replace(named, open_end=run.task.forms == ("stream",))


def held_out(run: Run | PretrainedRun, index: int, seed: int = 0) -> Problem:
    """A problem nobody trained on; for a checkpoint, of which that cannot be known, an example sentence."""
    if isinstance(run, PretrainedRun):
        return _passage(run, run.task.spell_special_tokens(example(run.task.forms[0], index)))
    examples = run.task.evaluation(index + 1, seed=seed).pick(torch.tensor([index]))
    source = examples.source[0, : examples.source_lengths[0]].tolist()
    batch = run.task.lay_out(examples, run.task.form(run.model))
    stream = run.task.form(run.model) == "stream" and "pairs" not in run.task.forms
    shown = batch.inputs[0][0, len(opening(run.task)) :].tolist() if stream else source  # as somebody would type it
    return _named(run, run.task.say(shown), batch, source, examples, True)


def _target(run: Run, form: str, rows: Tensor, lengths: Tensor, answer: list[int] | int | None):
    """The answer as a target; where nobody knows it, what the trained model writes, or nothing."""
    if form in ("pairs", "stream"):
        if answer is None:
            most = min(2 * rows.shape[1] + 2, room(run) - 1)
            written = generate(run.model, *prompt(Examples(rows, lengths, rows), form), max_new=most)
            answer = [token for token in written[0].tolist() if token > EOS]
        return torch.tensor([answer or [EOS + 1]]), torch.tensor([max(1, len(answer))])
    if form == "label":
        return torch.tensor([answer or 0]), None
    if form == "answer":
        return torch.tensor([answer or [0, 0]]), None
    if form in ("tags", "masked"):
        return torch.tensor([answer or [0] * rows.shape[1]]), None
    return torch.tensor([answer or [0]]), None  # spans, as numbers


def _named(run: Run, text: str, batch: Batch, source: list[int], examples: Examples | None, known: bool) -> Problem:
    task = run.task
    read = visible(task.show(batch.inputs[0][0].tolist()))
    if len(batch.inputs) != 4:
        return Problem(text, batch, read, [], [], known, _marks(task, source, examples))
    given, written = (visible(task.show(ids.tolist())) for ids in (batch.inputs[1][0], batch.target[0]))
    return Problem(text, batch, read, given, written, known, _marks(task, source, examples))


def visible(tokens: list[str]) -> list[str]:
    """A space is a token too, and must be seen."""
    return ["␣" if token == " " else token for token in tokens]


def _marks(task: Task, source: list[int], examples: Examples | None) -> list[list[int]] | None:
    if examples is None or examples.target_lengths is None:
        return None
    target = examples.target[0, : examples.target_lengths[0]].tolist()
    return task.alignment_with_eos(source, target)
