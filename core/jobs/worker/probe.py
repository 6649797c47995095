"""A probe of a run while it learns: its answers to the same few held-out problems, and small maps of what it does.

The result has plain values only, so that it crosses processes and machines, and becomes JSON for a page as it is.
"""

from __future__ import annotations

from functools import reduce
from typing import TypedDict, cast

import torch
from torch import Tensor, nn

from core.capture.tape import capture
from core.decoding import generate
from core.jobs.worker.probe_maps import GateMap, HeadMap, gate_maps, head_maps, visible
from core.layers.task_heads.heads import IGNORE, TaskHead
from core.models.eval_mode import eval_mode
from core.runs.run import Run
from core.tasks.layouts import EOS, Examples, prompt, target_with_eos
from core.translatable import Text, join_texts, verbatim

PROBLEMS = 6
MOST_ANSWERS = 24  # tokens, labels or spans shown of one problem
Span = tuple[int, int, int]  # type, first and last token


class ProbedProblem(TypedDict):
    """A held-out problem, the model's answer and the right one."""

    number: int
    tokens: list[str]  # what the model reads
    said: list[Text]
    right: list[Text]
    hits: list[bool]  # for each part of the right answer
    ok: bool  # the whole answer is right


class ProbeResult(TypedDict):
    step: int
    problems: list[ProbedProblem]
    heads: list[HeadMap]
    gates: list[GateMap]


class Probe:
    """The problems and how they are laid out, made once for a run: number i is the i-th held-out problem there is."""

    def __init__(self, run: Run):
        task = run.task
        self.run, self.form = run, run.trainer.form
        problems = [task.evaluation(i + 1).pick(torch.tensor([i])) for i in range(PROBLEMS)]
        self.examples: Examples = reduce(Examples.join, problems)
        self.batch = task.lay_out(self.examples, self.form).to(run.trainer.device)
        self.first = task.lay_out(problems[0], self.form).to(run.trainer.device)
        self.generates = self.form in ("pairs", "stream") and "pairs" in task.forms

    @torch.no_grad()
    def measure(self) -> ProbeResult:
        """The run as it is at this step; neither its weights nor its random state change."""
        model = self.run.model
        with eval_mode(model):
            with capture(model, "*.weights", "*layers.*") as tape:
                model(*self.first.inputs)
            answers = self._generate() if self.generates else self._predict(model)
        return {
            "step": self.run.trainer.index,
            "problems": [self._problem(number, *pair) for number, pair in enumerate(answers)],
            "heads": head_maps(tape, self.run.task, self.first, self.form),
            "gates": gate_maps(tape, self.run.task, self.first),
        }

    def _problem(self, number: int, answer: list[Text], target: list[Text]) -> ProbedProblem:
        source = self.examples.source[number, : self.examples.source_lengths[number]].tolist()
        if self.form == "stream" and not self.generates:
            ids = self.batch.inputs[0][number, : self.batch.lengths[number]].tolist()
            # a text that is only continued has no source
            source = stream_prompt(ids, self.batch.target[number].tolist(), source) if source else ids
        hits = [i < len(answer) and answer[i] == token for i, token in enumerate(target)]
        ok = all(hits) and len(answer) == len(target)
        tokens = visible(self.run.task.show(source))
        return {"number": number, "tokens": tokens, "said": answer, "right": target, "hits": hits, "ok": ok}

    def _generate(self) -> list[tuple[list[Text], list[Text]]]:
        """Answers written token by token, each read back by the model (no teacher forcing), and the right ones."""
        target, lengths = target_with_eos(self.examples)
        inputs = (x.to(self.run.trainer.device) for x in prompt(self.examples, self.form))
        outputs = generate(self.run.model, *inputs, max_new=target.shape[1]).tolist()
        return [
            (self._tokens(_until_end(output)), self._tokens(row[: length - 1]))
            for output, row, length in zip(outputs, target.tolist(), lengths.tolist(), strict=True)
        ]

    def _predict(self, model: nn.Module) -> list[tuple[list[Text], list[Text]]]:
        """Answers of one forward pass, and the right ones."""
        batch, task = self.batch, self.run.task
        predictions = cast(TaskHead, model.head).predict(model(*batch.inputs).logits, batch.lengths)
        if self.form == "spans":
            entries = batch.target.nonzero().tolist()  # (row, type, start, end)
            targets = [[tuple(entry[1:]) for entry in entries if entry[0] == row] for row in range(PROBLEMS)]
            pairs = zip(cast(list[list[Span]], predictions), targets, strict=True)
            return [(self._spans(i, spans), self._spans(i, target)) for i, (spans, target) in enumerate(pairs)]
        rows = predictions.tolist() if isinstance(predictions, Tensor) else predictions
        pairs = zip(rows, batch.target.tolist(), strict=True)
        if self.form == "label":
            return [(self._labels([label]), self._labels([target])) for label, target in pairs]
        if self.form == "answer":
            return [
                (self._span_tokens(i, *ends), self._span_tokens(i, *target)) for i, (ends, target) in enumerate(pairs)
            ]
        words = self._labels if self.form == "tags" else self._tokens
        answers = []
        for row, target in pairs:
            positions = [i for i, token in enumerate(target) if token != IGNORE][:MOST_ANSWERS]
            answers.append((words([row[i] for i in positions]), words([target[i] for i in positions])))
        return answers if task.tokens else []

    def _tokens(self, ids: list[int]) -> list[Text]:
        return [verbatim(token) for token in visible(self.run.task.show(ids[:MOST_ANSWERS]))]

    def _labels(self, labels: list[int]) -> list[Text]:
        return [self.run.task.label_names[label] for label in labels]

    def _span_tokens(self, row: int, start: int, end: int) -> list[Text]:
        """The tokens of a problem's source from `start` to `end`, both included."""
        return self._tokens(self.examples.source[row, start : end + 1].tolist())

    def _spans(self, row: int, spans: list[Span]) -> list[Text]:
        names = self.run.task.label_names
        parts = [
            (join_texts(self._span_tokens(row, start, end), " "), names[kind]) for kind, start, end in sorted(spans)
        ]
        return [Text("{words}: {label}", words=words, label=label) for words, label in parts[:MOST_ANSWERS]]


def stream_prompt(ids: list[int], target: list[int], source: list[int]) -> list[int]:
    """The part of a stream before its answer begins; the source, if answers are interleaved with the prompt."""
    answered = [i for i, token in enumerate(target) if token != IGNORE]
    contiguous = answered == list(range(answered[0], answered[0] + len(answered)))
    return ids[: answered[0] + 1] if contiguous else source


def _until_end(ids: list[int]) -> list[int]:
    return ids[: ids.index(EOS)] if EOS in ids else ids
