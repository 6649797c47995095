"""What a run writes, step by step: every distribution before and after it was narrowed, and the attention behind each
token.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import core
from app import payload
from core import InputError
from core.decoding import Choice, Decoding, Written, write, writes
from core.models import takes_two
from core.run import Run
from core.tasks.layouts import BOS, EOS, Examples, prompt

SHOWN = 24  # of the likeliest tokens at each step
LONGEST = 64  # tokens written


@dataclass(frozen=True)
class Prompt:
    """What the model reads before it writes, and what it should write, where that is known."""

    ids: Tensor  # (1, time)
    lengths: Tensor
    right: list[int] | None

    @property
    def read(self) -> list[int]:
        return self.ids[0].tolist()


def prompt_of(run: Run, text: str | None, index: int) -> Prompt:
    """A typed text, or a held-out problem, up to where the writing begins."""
    task = run.task
    if not writes(run.model):
        raise InputError(
            "This model does not write: it has no next token to predict.", "这个模型不写作：它不预测下一个词元。"
        )
    form, is_text = task.form(run.model), "pairs" not in task.forms
    if text is not None:
        source = task.read(text)
        right = None if is_text else task.solve(source)
    elif is_text:  # the stream itself, up to its repetition or, where nothing is given, its first token
        one = task.evaluation(index + 1).pick(torch.tensor([index]))
        row = task.lay_out(one, form).inputs[0][0].tolist()
        begin = min(len(row) - 1, int(one.source_lengths[0]) + 1)  # one token of the answer: where it begins
        source, right = row[:begin], row[begin:]
    else:
        one = task.evaluation(index + 1).pick(torch.tensor([index]))
        source = one.source[0, : one.source_lengths[0]].tolist()
        right = one.target[0, : one.target_lengths[0]].tolist()
    rows, lengths = torch.tensor([source]), torch.tensor([len(source)])
    if not is_text:
        rows, lengths = prompt(Examples(rows, lengths, rows), form)
    return Prompt(rows, lengths, right)


@dataclass
class Watcher:
    """Keeps what is to be seen of every choice; the rows of a beam search are its beams."""

    tokens: list[str]
    steps: list[dict[str, Any]] = field(default_factory=list)
    tree: list[list[dict[str, Any]]] = field(default_factory=list)
    kept: list[int] = field(default_factory=lambda: [0])  # the node of the tree on which each beam stands

    def __call__(self, choice: Choice) -> None:
        before, after = choice.logits.softmax(-1), choice.filtered.softmax(-1)
        if choice.parents is None:
            self.steps.append(self.distribution(before[0], after[0], int(choice.tokens[0])))
        else:
            self.grow(choice)

    def distribution(self, before: Tensor, after: Tensor, chosen: int) -> dict[str, Any]:
        """The likeliest tokens, before and after; the chosen one is always among them."""
        best = before.topk(min(SHOWN, len(before))).indices.tolist()
        shown = best if chosen in best else [*best[:-1], chosen]
        left = after > 0
        return {
            "chosen": chosen,
            "ids": shown,
            "before": before[shown].tolist(),
            "after": after[shown].tolist(),
            "left": int(left.sum()),
            "entropy": [float(-(p[p > 0] * p[p > 0].log2()).sum()) for p in (before, after)],
        }

    def grow(self, choice: Choice) -> None:
        """One level of the tree: every candidate, on which node of the last level it stands, and what became of it."""
        kept = choice.kept[0].tolist()
        level = []
        for i, token in enumerate(choice.tokens[0].tolist()):
            parent, score = int(choice.parents[0, i]), float(choice.scores[0, i])
            if score <= -1e8:  # grown on a beam that is not there yet
                continue
            level.append(
                {
                    "id": token,
                    "parent": self.kept[parent],
                    "score": score,
                    "share": float(choice.filtered[parent, token].exp()),
                    "kept": i in kept and not bool(choice.ended[0, i]),
                    "ended": bool(choice.ended[0, i]) and i < len(kept),
                    "place": i,
                }
            )
        at = {node["place"]: n for n, node in enumerate(level)}
        self.kept = [at.get(i, 0) for i in kept]
        self.tree.append(level)


@torch.no_grad()
def written(run: Run, asked: Prompt, step: int, how: dict[str, Any]) -> bytes:
    """Everything the page needs, packed: texts, steps or tree, and the attention of the best text."""
    model = at_step(run, step)
    watcher = Watcher(run.task.tokens)
    options = Decoding.make(**how)
    if options.max_new > LONGEST:
        options = Decoding.make(**{**how, "max_new": LONGEST})
    ids, lengths = asked.ids, None if takes_two(model) is False else asked.lengths
    result = write(model, ids, lengths, watch=watcher, **options.to_dict())
    texts = texts_of(result)
    if not watcher.steps:
        watcher.steps = [
            watcher.distribution(p, p, token) for p, token in zip(*retold(model, asked, texts[0]), strict=True)
        ]
    maps = attention_of(model, asked, texts[0])
    header = {
        "read": run.task.show(asked.read),
        "texts": [
            {"tokens": run.task.show(text), "score": score}
            for text, score in zip(texts, result.scores.tolist(), strict=True)
        ],
        "right": None if asked.right is None else run.task.show(asked.right),
        "tokens": run.task.tokens,
        "steps": watcher.steps,
        "tree": watcher.tree,
        "groups": [{"name": name, "shape": list(weights.shape)} for name, weights in maps.items()],
        "two": takes_two(model),
    }
    return payload.pack(header, {f"{name}.weights": weights for name, weights in maps.items()})


def at_step(run: Run, step: int) -> nn.Module:
    """The model as it was at a snapshot."""
    found = next(run.views(step), None) or next(run.views(run.snapshots[-1].step))
    return found[1]


def texts_of(result: Written) -> list[list[int]]:
    """Without the padding behind the end."""
    rows = result.tokens.tolist()
    return [row[: row.index(EOS) + 1] if EOS in row else row for row in rows]


def retold(model: nn.Module, asked: Prompt, text: list[int]) -> tuple[Tensor, list[int]]:
    """For the best text of a beam: the model's distribution at each of its tokens, (token, vocabulary)"""
    logits = forward(model, asked, text).logits[0]
    begin = 0 if takes_two(model) else asked.ids.shape[1] - 1
    return logits[begin : begin + len(text)].softmax(-1), text


def attention_of(model: nn.Module, asked: Prompt, text: list[int]) -> dict[str, np.ndarray]:
    """By stack, (layer, head, token, key): where the model looked when it chose each token."""
    with core.capture(model, "*.weights") as tape:
        forward(model, asked, text)
    begin = 0 if takes_two(model) else asked.ids.shape[1] - 1
    stacks: dict[str, list[Tensor]] = {}
    for name in tape.names():
        if not takes_two(model) or name.startswith("decoder"):
            stack = "cross" if ".cross." in name else "self"
            stacks.setdefault(stack, []).append(tape[name][0, :, begin : begin + len(text)])
    return {name: torch.stack(layers).numpy() for name, layers in stacks.items()}


def forward(model: nn.Module, asked: Prompt, text: list[int]) -> core.models.Output:
    """One pass over all that was read and written but the last token, which nothing follows."""
    if takes_two(model):
        return model(asked.ids, torch.tensor([[BOS, *text[:-1]]]), asked.lengths)
    return model(torch.cat([asked.ids, torch.tensor([text[:-1]], dtype=torch.long)], dim=1))
