"""A look into a run while it learns: what it says to the same few held-out problems, and small maps of what it does.

Plain values all through, so that it crosses processes and machines, and can be told to a page as it is.
"""

from __future__ import annotations

import base64
import re
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from core.capture.tape import Tape, capture
from core.decoding import generate
from core.layers.task_heads.heads import IGNORE
from core.messages import Text, join_texts, verbatim
from core.models.eval_mode import eval_mode
from core.runs.run import Run
from core.tasks.layouts import EOS, Examples, ended, prompt

PROBLEMS = 6
MOST_HEADS, SIDE = 12, 32  # maps, and their largest side
MOST_GATES, MOST_UNITS, MOST_TIME = 6, 32, 48
MOST_SHOWN = 24  # answers of one problem
HEAD = re.compile(r"(?P<point>(?P<stack>.*?)(?:blocks\.(?P<layer>\d+)\.)?(?P<kind>attn|cross))\.weights")
GATE = re.compile(r"(?P<name>(?P<stack>.*?)layers\.\d+\.(?:fwd|bwd))\.(?P<point>\w+)")
GATES = ("forget", "update", "input", "reset", "output", "hidden", "cell", "candidate")  # those told first, first
WITHIN = {"hidden": (-1.0, 1.0), "candidate": (-1.0, 1.0)}  # of a tanh; gates are from 0 to 1
UNSEEN = {" ": "␣", "\n": "⏎", "\t": "⇥"}


class Sitting:
    """The problems and how they are laid out, made once for a run: number i is the i-th held-out problem there is."""

    def __init__(self, run: Run):
        task = run.task
        self.run, self.form = run, run.trainer.form
        ones = [task.evaluation(i + 1).pick(torch.tensor([i])) for i in range(PROBLEMS)]
        self.examples: Examples = reduce(Examples.join, ones)
        self.batch = task.lay_out(self.examples, self.form).to(run.trainer.device)
        self.first = task.lay_out(ones[0], self.form).to(run.trainer.device)
        self.writes = self.form in ("pairs", "stream") and "pairs" in task.forms

    @torch.no_grad()
    def look(self) -> dict[str, Any]:
        """The run as it stands; nothing of it is changed, neither its weights nor its randomness."""
        model = self.run.model
        with eval_mode(model):
            with capture(model, "*.weights", "*layers.*") as tape:
                model(*self.first.inputs)
            answers = self._written() if self.writes else self._answered(model)
        return {
            "step": self.run.trainer.index,
            "problems": [self._problem(i, *answer) for i, answer in enumerate(answers)],
            "heads": self._heads(tape),
            "gates": self._gates(tape),
        }

    # What it says

    def _problem(self, number: int, said: list[Text], right: list[Text]) -> dict[str, Any]:
        source = self.examples.source[number, : self.examples.source_lengths[number]].tolist()
        if self.form == "stream" and not self.writes:
            read = self.batch.inputs[0][number, : self.batch.lengths[number]].tolist()
            # a text to be written on has no source
            source = given_of(read, self.batch.target[number].tolist(), source) if source else read
        hits = [i < len(said) and said[i] == token for i, token in enumerate(right)]
        ok = all(hits) and len(said) == len(right)
        tokens = _visible(self.run.task.show(source))
        return {"number": number, "tokens": tokens, "said": said, "right": right, "hits": hits, "ok": ok}

    def _written(self) -> list[tuple[list[Text], list[Text]]]:
        """Without help: it reads its own writing."""
        target, lengths = ended(self.examples)
        given = (x.to(self.run.trainer.device) for x in prompt(self.examples, self.form))
        written = generate(self.run.model, *given, max_new=target.shape[1]).tolist()
        return [
            (self._tokens(_until_end(said)), self._tokens(right[: n - 1]))
            for said, right, n in zip(written, target.tolist(), lengths.tolist(), strict=True)
        ]

    def _answered(self, model: nn.Module) -> list[tuple[list[Text], list[Text]]]:
        batch, task = self.batch, self.run.task
        answers = model.head.predict(model(*batch.inputs).logits, batch.lengths)
        if self.form == "label":
            return [
                (self._labels([a]), self._labels([t])) for a, t in zip(*_lists(answers, batch.target), strict=True)
            ]
        if self.form == "spans":
            kinds = batch.target.nonzero().tolist()  # (row, type, start, end)
            right = [[tuple(span[1:]) for span in kinds if span[0] == row] for row in range(PROBLEMS)]
            return [
                (self._spans(i, a), self._spans(i, r)) for i, (a, r) in enumerate(zip(answers, right, strict=True))
            ]
        pairs = zip(*_lists(answers, batch.target), strict=True)
        if self.form == "answer":
            return [(self._part(i, said), self._part(i, right)) for i, (said, right) in enumerate(pairs)]
        words = self._labels if self.form == "tags" else self._tokens
        found = []
        for said, right in pairs:
            asked = [i for i, token in enumerate(right) if token != IGNORE][:MOST_SHOWN]
            found.append((words([said[i] for i in asked]), words([right[i] for i in asked])))
        return found if task.tokens else []

    def _tokens(self, ids: list[int]) -> list[Text]:
        shown = _visible(self.run.task.show(ids[:MOST_SHOWN]))
        return [verbatim(token) for token in shown]

    def _labels(self, labels: list[int]) -> list[Text]:
        return [self.run.task.label_names[label] for label in labels]

    def _part(self, row: int, ends: list[int]) -> list[Text]:
        return self._tokens(self.examples.source[row, ends[0] : ends[1] + 1].tolist())

    def _spans(self, row: int, spans: list[tuple[int, int, int]]) -> list[Text]:
        names = self.run.task.label_names
        parts = [(join_texts(self._part(row, [start, end]), " "), names[kind]) for kind, start, end in sorted(spans)]
        return [Text("{words}: {label}", words=words, label=label) for words, label in parts[:MOST_SHOWN]]

    # What it does with the first problem

    def _heads(self, tape: Tape) -> list[dict[str, Any]]:
        maps = [(found, head, tape[name][0, head]) for name in tape.names() if (found := HEAD.fullmatch(name))
                for head in range(tape[name].shape[1])]  # fmt: skip
        if len(maps) > MOST_HEADS:
            maps = [maps[round(i * (len(maps) - 1) / (MOST_HEADS - 1))] for i in range(MOST_HEADS)]
        return [self._head(found, head, weights.float().cpu()) for found, head, weights in maps]

    def _head(self, found: re.Match, head: int, weights: Tensor) -> dict[str, Any]:
        decodes, crosses = found["stack"].startswith("decoder"), found["kind"] == "cross" or self._bridges(found)
        queries = self.first.target[0] if crosses else self.first.inputs[1 if decodes else 0][0]
        keys = self.first.inputs[0 if crosses or not decodes else 1][0]
        names = [_visible(self.run.task.show(ids.clamp(min=0).tolist())) for ids in (queries, keys)]
        pooled = -(-max(weights.shape) // SIDE)
        if pooled > 1:
            weights = nn.functional.max_pool2d(weights[None], pooled, ceil_mode=True)[0]
        return {
            "name": found["point"],
            "layer": int(found["layer"] or 0),
            "head": head,
            "rows": weights.shape[0],
            "columns": weights.shape[1],
            "queries": names[0] if pooled == 1 else [],
            "keys": names[1] if pooled == 1 and len(names[1]) == weights.shape[1] else [],
            "pooled": pooled if pooled > 1 else 0,
            "bytes": _bytes(weights),
        }

    def _bridges(self, found: re.Match) -> bool:
        """A recurrent decoder's only attention looks at the source."""
        return self.form == "pairs" and found["layer"] is None

    def _gates(self, tape: Tape) -> list[dict[str, Any]]:
        found = [
            (match, name) for name in tape.names() if (match := GATE.fullmatch(name)) and match["point"] in GATES
        ]
        found.sort(key=lambda pair: GATES.index(pair[0]["point"]))
        return [self._gate(match, tape[name][0].float().cpu()) for match, name in found[:MOST_GATES]]

    def _gate(self, found: re.Match, values: Tensor) -> dict[str, Any]:
        values = values[:MOST_TIME, :MOST_UNITS]
        reach = max(1e-6, float(values.abs().max()))
        low, high = (-reach, reach) if found["point"] == "cell" else WITHIN.get(found["point"], (0.0, 1.0))
        ids = self.first.inputs[1 if found["stack"].startswith("decoder") else 0][0, :MOST_TIME].tolist()
        return {
            "name": found["name"],
            "point": found["point"],
            "time": values.shape[0],
            "units": values.shape[1],
            "low": low,
            "high": high,
            "tokens": _visible(self.run.task.show(ids)),
            "bytes": _bytes((values - low) / (high - low)),
        }


def given_of(read: list[int], target: list[int], source: list[int]) -> list[int]:
    """What a stream gives before its answer begins; the source, if answers stand between what is given."""
    asked = [i for i, token in enumerate(target) if token != IGNORE]
    return read[: asked[0] + 1] if asked == list(range(asked[0], asked[0] + len(asked))) else source


def _lists(answers: Tensor | list, target: Tensor) -> tuple[list, list]:
    return answers.tolist() if isinstance(answers, Tensor) else answers, target.tolist()


def _until_end(ids: list[int]) -> list[int]:
    return ids[: ids.index(EOS)] if EOS in ids else ids


def _visible(tokens: list[str]) -> list[str]:
    """A space or the end of a line is a token too, and must be seen."""
    return [UNSEEN.get(token, token) for token in tokens]


def _bytes(shares: Tensor) -> str:
    """From 0 to 1 in steps of 1/255, row by row."""
    return base64.b64encode(shares.clamp(0, 1).mul(255).round().to(torch.uint8).numpy().tobytes()).decode()
