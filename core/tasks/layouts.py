"""Examples (problems and answers), their layout as model inputs and targets by form, and operations on padded rows.

label   source → one class                      (batch,)
tags    source → one tag per token              (batch, time)
pairs   source </s>, <s> target → target </s>   (batch, target): encoder–decoder with teacher forcing
stream  source <s> target → target </s>         (batch, time): next token; source positions carry no loss
masked  source with masks → the masked tokens   (batch, time): and whether the second sentence follows the first
answer  source → first and last token of a span (batch, 2)
spans   source → typed spans, nested or not     (batch, type, start, end)
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor, nn

from core.layers.masks import valid_mask
from core.layers.task_heads.heads import IGNORE

PAD, BOS, EOS = 0, 1, 2
SPAN_BASE = 4096  # a span is stored as one number: 1 + (type · SPAN_BASE + start) · SPAN_BASE + end


@dataclass(frozen=True)
class Examples:
    """Problems and their answers, padded with 0, not yet laid out for a family of models."""

    source: Tensor  # (n, time)
    source_lengths: Tensor  # (n,)
    target: Tensor  # (n,) labels; (n, time) tags or a sequence; (n, 2) an answer's ends; (n, spans) encoded spans
    target_lengths: Tensor | None = None  # (n,), where the target is a sequence
    follows: Tensor | None = None  # (n,), for two sentences: 1 if the second follows the first

    def __len__(self) -> int:
        return len(self.source)

    def pick(self, rows: Tensor) -> Examples:
        return Examples(
            self.source[rows],
            self.source_lengths[rows],
            self.target[rows],
            None if self.target_lengths is None else self.target_lengths[rows],
            None if self.follows is None else self.follows[rows],
        )

    def join(self, other: Examples) -> Examples:
        return Examples(
            stack_rows(self.source, other.source),
            stack_rows(self.source_lengths, other.source_lengths),
            stack_rows(self.target, other.target),
            _stack_optional(self.target_lengths, other.target_lengths),
            _stack_optional(self.follows, other.follows),
        )


@dataclass(frozen=True)
class Batch:
    inputs: tuple[Tensor, ...]  # the model's positional arguments
    target: Tensor  # expected output of the head; IGNORE carries no loss
    lengths: Tensor  # (batch,): valid positions of the head's input
    next_sentence: Tensor | None = None  # (batch,): 0 = the second sentence follows, 1 = it does not

    def to(self, device: torch.device) -> Batch:
        inputs = tuple(x.to(device) for x in self.inputs)
        next_sentence = None if self.next_sentence is None else self.next_sentence.to(device)
        return Batch(inputs, self.target.to(device), self.lengths.to(device), next_sentence)


# From examples to batches


def lay_out_label(examples: Examples) -> Batch:
    source, lengths = trim(examples.source, examples.source_lengths)
    return Batch((source, lengths), examples.target, lengths)


def lay_out_tags(examples: Examples) -> Batch:
    source, lengths = trim(examples.source, examples.source_lengths)
    tags = examples.target[:, : source.shape[1]]
    return Batch((source, lengths), tags.masked_fill(~valid_mask(lengths, source.shape[1]), IGNORE), lengths)


def lay_out_pairs(examples: Examples) -> Batch:
    source, lengths = prompt(examples, "pairs")
    target, target_lengths = target_with_eos(examples)
    valid = valid_mask(target_lengths, target.shape[1])
    shifted = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1).masked_fill(~valid, PAD)
    return Batch((source, shifted, lengths, target_lengths), target.masked_fill(~valid, IGNORE), target_lengths)


def lay_out_stream(examples: Examples) -> Batch:
    source, lengths = prompt(examples, "stream")
    target, target_lengths = target_with_eos(examples)
    ids, total = concatenate(source, lengths, target, target_lengths)
    return next_token_batch(ids, total, first_target=lengths)


def next_token_batch(ids: Tensor, lengths: Tensor, first_target: Tensor) -> Batch:
    """Language modelling: the target of each position is the row's next token, from token `first_target` (n,) on."""
    position = torch.arange(ids.shape[1])
    is_target = (position >= first_target[:, None]) & (position < lengths[:, None])
    return Batch((ids[:, :-1], lengths - 1), ids.masked_fill(~is_target, IGNORE)[:, 1:], lengths - 1)


def lay_out_masked(examples: Examples, separator: int) -> Batch:
    """Masked language modelling and next-sentence prediction; a target of 0 carries no loss."""
    assert examples.follows is not None
    source, lengths = trim(examples.source, examples.source_lengths)
    segments = sentence_segments(source, lengths, separator)
    target = examples.target[:, : source.shape[1]]
    return Batch((source, lengths, segments), target.masked_fill(target == 0, IGNORE), lengths, 1 - examples.follows)


def sentence_segments(source: Tensor, lengths: Tensor, separator: int) -> Tensor:
    """(batch, time): 0 up to the first separator, 1 behind it"""
    separators = source == separator
    return (separators.cumsum(1) > separators.long()).long() * valid_mask(lengths, source.shape[1])


def lay_out_spans(examples: Examples, n_types: int) -> Batch:
    source, lengths = trim(examples.source, examples.source_lengths)
    time = source.shape[1]
    rows, columns = examples.target.nonzero(as_tuple=True)
    types, starts, ends = decode_spans(examples.target[rows, columns])
    target = torch.zeros(len(source), n_types, time, time, dtype=torch.bool)
    target[rows, types, starts, ends] = True
    return Batch((source, lengths), target, lengths)


def encode_span(span_type: int, start: int, end: int) -> int:
    return 1 + (span_type * SPAN_BASE + start) * SPAN_BASE + end


def decode_spans(numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """type, start, end: the inverse of `encode_span`"""
    numbers = numbers - 1
    return numbers // SPAN_BASE**2, numbers // SPAN_BASE % SPAN_BASE, numbers % SPAN_BASE


def prompt(examples: Examples, form: str) -> tuple[Tensor, Tensor]:
    """The source with the token behind it, and its lengths: a model's input before it generates.

    For an encoder that token is EOS, with which the target's EOS is to be aligned; in a stream, the target's BOS.
    """
    source, lengths = trim(examples.source, examples.source_lengths)
    return append_token(source, lengths, EOS if form == "pairs" else BOS), lengths + 1


def target_with_eos(examples: Examples) -> tuple[Tensor, Tensor]:
    """Target sequences with an end token, and their lengths."""
    assert examples.target_lengths is not None
    lengths = examples.target_lengths + 1
    return trim(append_token(examples.target, examples.target_lengths, EOS), lengths)


LAYOUTS: dict[str, Callable[[Examples], Batch]] = {  # of the forms that need nothing but the examples
    "label": lay_out_label,
    "answer": lay_out_label,  # its target is the answer's first and last position
    "tags": lay_out_tags,
    "pairs": lay_out_pairs,
    "stream": lay_out_stream,
}


# Padded rows


def trim(rows: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Cut columns that are padding everywhere."""
    return rows[:, : int(lengths.max())], lengths


def append_token(rows: Tensor, lengths: Tensor, token: int) -> Tensor:
    """Each row with one more token at its own end."""
    longer = torch.cat([rows, rows.new_zeros(len(rows), 1)], dim=1)
    return longer.scatter(1, lengths[:, None], token)


def concatenate(
    first: Tensor, first_lengths: Tensor, second: Tensor, second_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Row by row, the second behind the first, without padding in between."""
    total = first_lengths + second_lengths
    joined = first.new_zeros(len(first), first.shape[1] + second.shape[1])
    joined[:, : first.shape[1]] = first * valid_mask(first_lengths, first.shape[1])
    positions = first_lengths[:, None] + torch.arange(second.shape[1])
    joined = joined.scatter_add(1, positions, second * valid_mask(second_lengths, second.shape[1]))
    return trim(joined, total)


def remove_zeros(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Each row without the zeros between its tokens: (n, longest), and the lengths."""
    nonzero = rows != 0
    lengths = nonzero.sum(1)
    positions = (nonzero.cumsum(1) - 1).clamp(min=0)
    compact = torch.zeros_like(rows).scatter_add_(1, positions, rows)
    return trim(compact, lengths)


def reverse_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """Each row backwards, its padding still at the end."""
    time = torch.arange(rows.shape[1])
    return rows.gather(1, torch.where(time < lengths[:, None], lengths[:, None] - 1 - time, time))


def stack_rows(first: Tensor, second: Tensor) -> Tensor:
    """Rows of different widths below each other, padded with 0."""
    if first.dim() == 1:
        return torch.cat([first, second])
    width = max(first.shape[1], second.shape[1])
    return torch.cat([nn.functional.pad(rows, (0, width - rows.shape[1])) for rows in (first, second)])


def _stack_optional(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None:
        return None
    assert second is not None, "both have it, or neither"
    return stack_rows(first, second)


def random_rows(
    n: int, low: int, high: int, first_symbol: int, vocab_size: int, rng: torch.Generator
) -> tuple[Tensor, Tensor]:
    """n rows of random symbols with random lengths: (n, high) padded with 0, and the lengths."""
    lengths = torch.randint(low, high + 1, (n,), generator=rng)
    rows = torch.randint(first_symbol, vocab_size, (n, high), generator=rng)
    return rows * valid_mask(lengths, high), lengths


def pad_rows(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Lists of different lengths as one tensor, (n, longest), and the lengths."""
    lengths = torch.tensor(list(map(len, rows)))
    valid = valid_mask(lengths, int(lengths.max()))
    flat = torch.frombuffer(array("q", chain.from_iterable(rows)), dtype=torch.long)
    return torch.zeros(valid.shape, dtype=torch.long).masked_scatter_(valid, flat), lengths
