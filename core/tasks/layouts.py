"""From problems and answers to what a model takes, by form; and the row work that needs.

label   source → one answer                     (batch,)
tags    source → one answer per token           (batch, time)
pairs   source </s>, <s> target → target </s>   (batch, target)
stream  source <s> target → target </s>         (batch, time); the source is given, not asked
masked  source with holes → what was there      (batch, time); and whether the second sentence follows the first
answer  source → first and last token of a part (batch, 2)
spans   source → typed parts, nested or not     (batch, type, start, end)
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, fields
from itertools import chain

import torch
from torch import Tensor, nn

from core.layers.masks import valid_mask
from core.layers.task_heads.heads import IGNORE

PAD, BOS, EOS = 0, 1, 2
SPAN_PLACES = 4096  # a span is stored as one number: 1 + (type · SPAN_PLACES + start) · SPAN_PLACES + end


@dataclass(frozen=True)
class Examples:
    """Problems and their right answers, padded with 0, not yet laid out for a family of models."""

    source: Tensor  # (n, time)
    source_lengths: Tensor  # (n,)
    target: Tensor  # (n,) labels; (n, time) tags or a sequence; (n, 2) an answer's ends; (n, spans) span numbers
    target_lengths: Tensor | None = None  # (n,), where the target is a sequence
    follows: Tensor | None = None  # (n,), for two sentences: 1 if the second follows the first

    def __len__(self) -> int:
        return len(self.source)

    def pick(self, rows: Tensor) -> Examples:
        return Examples(*(None if x is None else x[rows] for x in self._parts()))

    def join(self, other: Examples) -> Examples:
        pairs = zip(self._parts(), other._parts(), strict=True)
        return Examples(*(None if x is None else stack_rows(x, y) for x, y in pairs))

    def _parts(self) -> list[Tensor | None]:
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True)
class Batch:
    inputs: tuple[Tensor, ...]  # what the model is called with
    target: Tensor  # what its head should answer; IGNORE does not count
    lengths: Tensor  # (batch,): valid steps of what the head sees
    next_sentence: Tensor | None = None  # (batch,): 0 = the second sentence follows, 1 = it does not

    def to(self, device: torch.device) -> Batch:
        inputs = tuple(x.to(device) for x in self.inputs)
        follows = None if self.next_sentence is None else self.next_sentence.to(device)
        return Batch(inputs, self.target.to(device), self.lengths.to(device), follows)


def lay_out_label(examples: Examples) -> Batch:
    source, lengths = trim(examples.source, examples.source_lengths)
    return Batch((source, lengths), examples.target, lengths)


lay_out_answer = lay_out_label  # the two ends of the answer are its target


def lay_out_tags(examples: Examples) -> Batch:
    source, lengths = trim(examples.source, examples.source_lengths)
    tags = examples.target[:, : source.shape[1]]
    return Batch((source, lengths), tags.masked_fill(~valid_mask(lengths, source.shape[1]), IGNORE), lengths)


def lay_out_pairs(examples: Examples) -> Batch:
    source, lengths = prompt(examples, "pairs")
    target, target_lengths = ended(examples)
    valid = valid_mask(target_lengths, target.shape[1])
    given = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1).masked_fill(~valid, PAD)
    return Batch((source, given, lengths, target_lengths), target.masked_fill(~valid, IGNORE), target_lengths)


def lay_out_stream(examples: Examples) -> Batch:
    source, lengths = prompt(examples, "stream")
    target, target_lengths = ended(examples)
    ids, total = concatenate(source, lengths, target, target_lengths)
    return next_tokens(ids, total, first_asked=lengths)


def next_tokens(ids: Tensor, total: Tensor, first_asked: Tensor) -> Batch:
    """Every row predicts its own next token, from position `first_asked` on."""
    place = torch.arange(ids.shape[1])
    asked = (place >= first_asked[:, None]) & (place < total[:, None])
    return Batch((ids[:, :-1], total - 1), ids.masked_fill(~asked, IGNORE)[:, 1:], total - 1)


def lay_out_masked(examples: Examples, separator: int) -> Batch:
    """A target of 0 is not asked for."""
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
    rows, spans = examples.target.nonzero(as_tuple=True)
    kinds, starts, ends = span_parts(examples.target[rows, spans])
    target = torch.zeros(len(source), n_types, time, time, dtype=torch.bool)
    target[rows, kinds, starts, ends] = True
    return Batch((source, lengths), target, lengths)


def span_number(kind: int, start: int, end: int) -> int:
    return 1 + (kind * SPAN_PLACES + start) * SPAN_PLACES + end


def span_parts(numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """type, start, end"""
    numbers = numbers - 1
    return numbers // SPAN_PLACES**2, numbers // SPAN_PLACES % SPAN_PLACES, numbers % SPAN_PLACES


def prompt(examples: Examples, form: str) -> tuple[Tensor, Tensor]:
    """What a model is given before it writes, and its lengths.

    An encoder reads an end token too: it is what the target's end token is to be aligned with. In a stream, the start
    token of the target stands there.
    """
    source, lengths = trim(examples.source, examples.source_lengths)
    return append(source, lengths, EOS if form == "pairs" else BOS), lengths + 1


def ended(examples: Examples) -> tuple[Tensor, Tensor]:
    """The target with an end token, and its lengths."""
    lengths = examples.target_lengths + 1
    return trim(append(examples.target, examples.target_lengths, EOS), lengths)


def trim(rows: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Cut columns that are padding everywhere."""
    return rows[:, : int(lengths.max())], lengths


def append(rows: Tensor, lengths: Tensor, token: int) -> Tensor:
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
    places = first_lengths[:, None] + torch.arange(second.shape[1])
    joined = joined.scatter_add(1, places, second * valid_mask(second_lengths, second.shape[1]))
    return trim(joined, total)


def close_gaps(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Each row without its zeros in between: (n, longest), and the lengths."""
    kept = rows != 0
    lengths = kept.sum(1)
    places = (kept.cumsum(1) - 1).clamp(min=0)
    closed = torch.zeros_like(rows).scatter_add_(1, places, rows)
    return trim(closed, lengths)


def mirror(rows: Tensor, lengths: Tensor) -> Tensor:
    """Each row backwards, its padding still behind."""
    time = torch.arange(rows.shape[1])
    return rows.gather(1, torch.where(time < lengths[:, None], lengths[:, None] - 1 - time, time))


def stack_rows(first: Tensor, second: Tensor) -> Tensor:
    """Rows of different widths below each other, padded with 0."""
    if first.dim() == 1:
        return torch.cat([first, second])
    width = max(first.shape[1], second.shape[1])
    return torch.cat([nn.functional.pad(rows, (0, width - rows.shape[1])) for rows in (first, second)])


def random_rows(
    n: int, low: int, high: int, first_symbol: int, vocab_size: int, rng: torch.Generator
) -> tuple[Tensor, Tensor]:
    """n rows of random symbols with random lengths: (n, high) padded with 0, and the lengths."""
    lengths = torch.randint(low, high + 1, (n,), generator=rng)
    rows = torch.randint(first_symbol, vocab_size, (n, high), generator=rng)
    return rows * valid_mask(lengths, high), lengths


def padded(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Lists of different lengths as one tensor, (n, longest), and the lengths."""
    lengths = torch.tensor(list(map(len, rows)))
    valid = valid_mask(lengths, int(lengths.max()))
    flat = torch.frombuffer(array("q", chain.from_iterable(rows)), dtype=torch.long)
    return torch.zeros(valid.shape, dtype=torch.long).masked_scatter_(valid, flat), lengths
