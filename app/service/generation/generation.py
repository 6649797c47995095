"""What a run writes, step by step: every distribution before and after it was narrowed, and the attention behind each
token.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import core
from app.service import payload
from app.service.example_texts import example
from app.service.generation.decode_trace import Watcher, distribution
from app.service.inputs import check_room, opening
from core import InputError
from core.capture.point_names import RECURRENT_POINT
from core.capture.tape import Keep, Tape
from core.config.options import Option
from core.decoding import Decoding, GenerationResult, can_generate, generate_with_scores
from core.decoding.filters import process_logits
from core.models import is_encoder_decoder
from core.runs.pretrained_run import PretrainedRun, SpecialTokens
from core.runs.run import Run
from core.tasks import Task
from core.tasks.layouts import BOS, EOS, PAD, Examples, prompt

LONGEST = 64  # tokens written
OURS = SpecialTokens(BOS, EOS, PAD)  # of all tasks here


def options_offered() -> list[Option]:
    """Those of writing, with the lengths that are written here."""
    return [replace(one, high=LONGEST) if one.name == "max_new" else one for one in Decoding.options()]


@dataclass(frozen=True)
class Prompt:
    """What the model reads before it writes, and what it should write, where that is known."""

    ids: Tensor  # (1, time)
    lengths: Tensor
    right: list[int] | None
    signs: SpecialTokens = OURS

    @property
    def read(self) -> list[int]:
        return self.ids[0].tolist()


def prompt_of(run: Run, text: str | None, index: int) -> Prompt:
    """A typed text, or a held-out problem, up to where the writing begins."""
    task = run.task
    if not can_generate(run.model):
        raise InputError("This model does not write: it has no next token to predict.")
    if isinstance(run, PretrainedRun):
        return beginning(run, text, index)
    form, is_text = task.form(run.model), "pairs" not in task.forms
    if text is not None:
        source = [*(opening(task) if is_text else []), *task.read(text)]
        right = None if is_text else task.solve(source)
    elif is_text:
        source, right = begun_stream(task, form, index)
    else:
        one = task.evaluation(index + 1).pick(torch.tensor([index]))
        source = one.source[0, : one.source_lengths[0]].tolist()
        right = one.target[0, : one.target_lengths[0]].tolist()
    rows, lengths = torch.tensor([source]), torch.tensor([len(source)])
    if not is_text:
        rows, lengths = prompt(Examples(rows, lengths, rows), form)
    if text is not None:
        check_room(run, rows.shape[1])
    check_space(run, rows.shape[1])
    return Prompt(rows, lengths, right)


def begun_stream(task: Task, form: str, index: int) -> tuple[list[int], list[int] | None]:
    """A stream up to where it repeats itself; where nothing is given, its first third, which may go on in many ways."""
    one = task.evaluation(index + 1).pick(torch.tensor([index]))
    row, given = task.lay_out(one, form).inputs[0][0].tolist(), int(one.source_lengths[0])
    if not given:
        return row[: 1 + len(row) // 3], None
    begin = min(len(row) - 1, given + 1)  # one token of the answer: where it begins
    return row[:begin], row[begin:]


def beginning(run: PretrainedRun, text: str | None, index: int) -> Prompt:
    """For a checkpoint: a text, or an example sentence, as its tokenizer cuts it."""
    ids = run.task.read(example(run.task.forms[0], index) if text is None else text)
    check_room(run, len(ids))
    check_space(run, len(ids))
    return Prompt(torch.tensor([ids]), torch.tensor([len(ids)]), None, run.task.special_tokens)


def check_space(run: Run | PretrainedRun, tokens: int) -> None:
    """One that goes on from what it reads needs a place for what it writes."""
    most = run.model.config.max_len
    if not is_encoder_decoder(run.model) and tokens >= most:
        raise InputError(
            "The input has {tokens} tokens and the model reads at most {most}: no room is left to write. Shorten it.",
            tokens=tokens,
            most=most,
        )


def names_of(run: Run | PretrainedRun, *told: Any) -> list[str] | dict[str, Any]:
    """What ids are called; of a vocabulary of thousands only those that are told of, as an array with holes."""
    if not isinstance(run, PretrainedRun):
        return run.task.tokens
    names: dict[str, Any] = {"length": len(run.task.tokens)}

    def collect(part: Any) -> None:
        if isinstance(part, list):
            for one in part:
                collect(one)
        elif isinstance(part, dict):
            found = [*part.get("ids", []), *(part[key] for key in ("id", "chosen") if key in part)]
            names.update({str(i): run.task.tokens[i] for i in found})
            collect(list(part.values()))

    collect(list(told))
    return names


def usual_length(run: Run) -> int:
    """How many tokens are written unless somebody says otherwise: as many as the task's texts have."""
    most, form = Decoding().max_new, run.task.form(run.model)
    return min(LONGEST, max(most, run.task.max_tokens(form))) if form == "stream" and not _given(run.task) else most


def _given(task: Task) -> int:
    """Tokens of a problem that are there before anything is asked: of plain text, none."""
    return int(task.evaluation(1).source_lengths[0])


@torch.no_grad()
def written(run: Run, asked: Prompt, step: int, how: dict[str, Any]) -> bytes:
    """Everything the page needs, packed: texts, steps or tree, and the attention and gates of the best text."""
    model, watcher = at_step(run, step), Watcher()
    for known in options_offered():
        known.check(how.get(known.name, known.default))
    options = Decoding.make(**how)
    lengths = asked.lengths if is_encoder_decoder(model) else None
    result = generate_with_scores(
        model, asked.ids, lengths, watch=watcher, **asdict(asked.signs), **options.to_dict()
    )
    texts = texts_of(result, asked.signs)
    steps = watcher.steps or retold(model, asked, texts[0], options)
    with core.capture(model, "*.weights", "*layers.*", keep=rows_of(model, asked, texts[0])) as tape:
        forward(model, asked, texts[0])
    maps, cells = attention_of(tape), gates_of(tape)
    header = {
        "read": run.task.show(asked.read),
        "texts": [
            {"tokens": run.task.show(text), "score": score}
            for text, score in zip(texts, result.scores.tolist(), strict=True)
        ],
        "right": None if asked.right is None else run.task.show(asked.right),
        "tokens": names_of(run, steps, watcher.tree),
        "steps": steps,
        "tree": watcher.tree,
        "groups": [{"name": name, "shape": list(weights.shape)} for name, weights in maps.items()],
        "cells": list(cells),
        "two": is_encoder_decoder(model),
        "full": filled(model, asked, texts[0], options),
    }
    arrays = {f"{name}.weights": weights for name, weights in maps.items()}
    return payload.pack(header, arrays | cells)


def filled(model: nn.Module, asked: Prompt, text: list[int], how: Decoding) -> int | None:
    """How many tokens the model takes, if that is why the text is no longer."""
    most = model.config.max_len
    length = len(text) if is_encoder_decoder(model) else asked.ids.shape[1] + len(text)
    ended = bool(text) and text[-1] in asked.signs.eos_ids
    return most if length == most and len(text) < how.max_new and not ended else None


def at_step(run: Run, step: int) -> nn.Module:
    """The model as it was at a snapshot."""
    found = next(run.snapshot_models(step), None) or next(run.snapshot_models(run.snapshots[-1].step))
    return found[1]


def texts_of(result: GenerationResult, signs: SpecialTokens) -> list[list[int]]:
    """Without the padding behind the end."""
    rows = result.tokens.tolist()
    ends = [next((at + 1 for at, token in enumerate(row) if token in signs.eos_ids), None) for row in rows]
    return [row[:end] for row, end in zip(rows, ends, strict=True)]


def retold(model: nn.Module, asked: Prompt, text: list[int], how: Decoding) -> list[dict[str, Any]]:
    """For the best text of a beam: what each of its tokens was chosen from."""
    logits = forward(model, asked, text).logits[0, first_row(model, asked) :]  # (token, vocabulary)
    read = [asked.signs.bos] if is_encoder_decoder(model) else asked.read
    so_far = [[*read, *text[:at]] for at in range(len(text))]
    after = process_logits(logits.log_softmax(-1), so_far, how).exp()
    return [distribution(*rows, token) for *rows, token in zip(logits.softmax(-1), after, text, strict=True)]


def first_row(model: nn.Module, asked: Prompt) -> int:
    """Of what a decoder reads, the step at which it chooses its first token."""
    return 0 if is_encoder_decoder(model) else asked.ids.shape[1] - 1


def rows_of(model: nn.Module, asked: Prompt, text: list[int]) -> Keep:
    """Of the stack that writes, the rows at which a token was chosen, copied: the rest is freed layer by layer."""
    begin = first_row(model, asked)

    def keep(name: str, value: Tensor) -> Tensor | None:
        if is_encoder_decoder(model) and not name.startswith("decoder"):
            return None
        if name.endswith(".weights"):
            return value[0, :, begin : begin + len(text)].clone()  # (head, token, key)
        return (
            value[0, begin : begin + len(text)].clone() if RECURRENT_POINT.fullmatch(name) else None
        )  # (token, unit)

    return keep


def attention_of(tape: Tape) -> dict[str, np.ndarray]:
    """By stack, (layer, head, token, key): where the model looked when it chose each token."""
    stacks: dict[str, list[Tensor]] = {}
    for name in tape.names():
        if name.endswith(".weights"):
            stacks.setdefault("cross" if ".cross." in f".{name}" else "self", []).append(tape[name])
    return {name: torch.stack(layers).numpy() for name, layers in stacks.items()}


def gates_of(tape: Tape) -> dict[str, np.ndarray]:
    """By point of a recurrent layer that writes, (token, unit): its gates and states when it chose each token."""
    return {name: tape[name].numpy() for name in tape.names() if RECURRENT_POINT.fullmatch(name)}


def forward(model: nn.Module, asked: Prompt, text: list[int]) -> core.models.Output:
    """One pass over all that was read and written but the last token, which nothing follows."""
    if is_encoder_decoder(model):
        return model(asked.ids, torch.tensor([[asked.signs.bos, *text[:-1]]]), asked.lengths)
    return model(torch.cat([asked.ids, torch.tensor([text[:-1]], dtype=torch.long)], dim=1))
