"""What a task is: fresh problems from a seed, their right answers, and a held-out part nobody trains on.

    draw → Examples (problem, answer) → lay_out by form → Batch (what a model of that form takes, and its target)

A form is how a family meets the task: `label` (one answer), `tags` (one per step), `pairs` (source → target) or
`stream` (source, start token, target in one row, as a language model reads it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from core.layers.heads import IGNORE
from core.layers.masks import InputError, valid_mask
from core.models import takes_two
from core.options import ConfigError, Options, Text

PAD, BOS, EOS = 0, 1, 2
HELD_OUT_SHARE = 8  # one problem in so many is never trained on


@dataclass(frozen=True)
class Examples:
    """Problems and their right answers, padded with 0, not yet laid out for a family of models."""

    source: Tensor  # (n, time)
    source_lengths: Tensor  # (n,)
    target: Tensor  # (n,) labels; (n, time) tags or a sequence
    target_lengths: Tensor | None = None  # (n,), where the target is a sequence

    def __len__(self) -> int:
        return len(self.source)

    def pick(self, rows: Tensor) -> Examples:
        lengths = None if self.target_lengths is None else self.target_lengths[rows]
        return Examples(self.source[rows], self.source_lengths[rows], self.target[rows], lengths)

    def join(self, other: Examples) -> Examples:
        lengths = None
        if self.target_lengths is not None:
            lengths = torch.cat([self.target_lengths, other.target_lengths])
        return Examples(
            stack_rows(self.source, other.source),
            torch.cat([self.source_lengths, other.source_lengths]),
            stack_rows(self.target, other.target),
            lengths,
        )


@dataclass(frozen=True)
class Batch:
    inputs: tuple[Tensor, ...]  # what the model is called with
    target: Tensor  # what its head should answer; IGNORE does not count
    lengths: Tensor  # (batch,): valid steps of what the head sees

    def to(self, device: torch.device) -> Batch:
        return Batch(tuple(x.to(device) for x in self.inputs), self.target.to(device), self.lengths.to(device))


@dataclass(frozen=True, kw_only=True)
class Task(Options):
    """Subclasses are frozen sets of knobs that say how to `draw` and what the `tokens` are."""

    name: ClassVar[str]
    help: ClassVar[Text]
    forms: ClassVar[tuple[str, ...]]

    @classmethod
    def title(cls) -> str:
        return cls.name

    @property
    def tokens(self) -> list[str]:
        """What each id is called; the ids below the first symbol are padding, start and end."""
        raise NotImplementedError

    @property
    def vocab_size(self) -> int:
        return len(self.tokens)

    @property
    def n_labels(self) -> int:
        """How many answers there are, for the forms `label` and `tags`."""
        return 2

    @property
    def chance(self) -> float:
        """The accuracy of a guess."""
        raise NotImplementedError

    @property
    def longest(self) -> int:
        """The longest problem in training."""
        raise NotImplementedError

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        """n random problems with lengths from `low` to `high`; by default as in training."""
        raise NotImplementedError

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]] | None:
        """For every target token the source positions an attention map should show; None: there is no ideal."""
        return None

    def held_out(self, examples: Examples) -> Tensor:
        """(n,): True for the problems kept for evaluation, decided by the problem itself."""
        place = torch.arange(1, examples.source.shape[1] + 1)
        mixed = (examples.source * (place * place * 48_271 % 999_983)).sum(1) * 69_621 % 1_000_003
        return mixed % HELD_OUT_SHARE == 0

    def batch(self, n: int, rng: torch.Generator, form: str, limit: int | None = None) -> Batch:
        """Fresh training problems, none of them held out; `limit` is the curriculum's longest length so far."""
        return self.lay_out(self._gather(n, rng, held_out=False, high=limit), form)

    def evaluation(self, n: int = 256, *, length: int | None = None, seed: int = 0) -> Examples:
        """Held-out problems, of one length if asked (also beyond training); always the same for a seed."""
        rng = torch.Generator().manual_seed(0xE7A1 + seed)
        return self._gather(n, rng, held_out=True, low=length, high=length)

    def _gather(self, n: int, rng: torch.Generator, held_out: bool, **lengths: int | None) -> Examples:
        """Draw until n problems lie on the wanted side of the split."""
        chosen: Examples | None = None
        share = HELD_OUT_SHARE if held_out else HELD_OUT_SHARE / (HELD_OUT_SHARE - 1)
        for _ in range(100):
            missing = n - (0 if chosen is None else len(chosen))
            drawn = self.draw(int(missing * share * 1.2) + 8, rng, **lengths)
            drawn = drawn.pick((self.held_out(drawn) == held_out).nonzero().squeeze(1)[:missing])
            chosen = drawn if chosen is None else chosen.join(drawn)
            if len(chosen) == n:
                return chosen
        raise ConfigError(
            "max_len",
            self.longest,
            Text("there are too few different problems to keep some for evaluation.", "不同的问题太少，无法留出评估集。"),
            Text("Use longer sequences or more symbols.", "请用更长的序列或更多的符号。"),
        )

    def form(self, model: nn.Module) -> str:
        """How this model meets the task; a `ConfigError` when it cannot."""
        head = getattr(model.config, "head", None)
        form = "pairs" if takes_two(model) else {"classifier": "label", "lm": "stream"}.get(head, "tags")
        if form not in self.forms:
            raise ConfigError(
                "head",
                head or model.config.family,
                Text(f"the task {self.name} does not ask for that.", f"任务 {self.name} 不适合这种输出。"),
                Text(f"It can be met as: {', '.join(self.forms)}.", f"可用形式：{'、'.join(self.forms)}。"),
            )
        return form

    def lay_out(self, examples: Examples, form: str) -> Batch:
        source, lengths = trim(examples.source, examples.source_lengths)
        if form == "label":
            return Batch((source, lengths), self.labels(examples), lengths)
        if form == "tags":
            tags = self.tags(examples)[:, : source.shape[1]]
            return Batch((source, lengths), tags.masked_fill(~valid_mask(lengths, source.shape[1]), IGNORE), lengths)
        target, target_lengths = trim(append(examples.target, examples.target_lengths, EOS), examples.target_lengths + 1)
        valid = valid_mask(target_lengths, target.shape[1])
        if form == "pairs":
            given = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
            given = given.masked_fill(~valid, PAD)
            inputs = (source, given, lengths, target_lengths)
            return Batch(inputs, target.masked_fill(~valid, IGNORE), target_lengths)
        return self.lay_out_stream(source, lengths, target, target_lengths)

    def lay_out_stream(self, source: Tensor, lengths: Tensor, target: Tensor, target_lengths: Tensor) -> Batch:
        """source, BOS, target in one row; only the target is to be predicted."""
        prompt = append(source, lengths, BOS)
        ids, total = concatenate(prompt, lengths + 1, target, target_lengths)
        place = torch.arange(ids.shape[1])
        asked = (place > lengths[:, None]) & (place < total[:, None])
        inputs, goal = ids[:, :-1], ids.masked_fill(~asked, IGNORE)[:, 1:]
        return Batch((inputs, total - 1), goal, total - 1)

    def labels(self, examples: Examples) -> Tensor:
        return examples.target

    def tags(self, examples: Examples) -> Tensor:
        return examples.target

    def read(self, text: str) -> list[int]:
        """Token ids of a problem typed by somebody, tokens separated by spaces; or one character each."""
        names = {token: i for i, token in enumerate(self.tokens)}
        words = text.split() if any(c.isspace() for c in text.strip()) or text.strip() in names else list(text.strip())
        unknown = [word for word in words if word not in names]
        if unknown or not words:
            known = " ".join(self.tokens[EOS + 1 :][:12])
            what = f"{unknown[0][:20]!r} is not one of its tokens" if unknown else "the input is empty"
            raise InputError(f"The task {self.name} cannot read this: {what}. It knows, for example: {known}")
        return [names[word] for word in words]

    def show(self, ids: list[int]) -> list[str]:
        return [self.tokens[i] for i in ids]


def trim(rows: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Cut columns that are padding everywhere."""
    return rows[:, : int(lengths.max())], lengths


def append(rows: Tensor, lengths: Tensor, token: int) -> Tensor:
    """Each row with one more token at its own end."""
    longer = torch.cat([rows, rows.new_zeros(len(rows), 1)], dim=1)
    return longer.scatter(1, lengths[:, None], token)


def concatenate(first: Tensor, first_lengths: Tensor, second: Tensor, second_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Row by row, the second behind the first, without padding in between."""
    total = first_lengths + second_lengths
    joined = first.new_zeros(len(first), first.shape[1] + second.shape[1])
    joined[:, : first.shape[1]] = first * valid_mask(first_lengths, first.shape[1])
    places = first_lengths[:, None] + torch.arange(second.shape[1])
    joined = joined.scatter_add(1, places, second * valid_mask(second_lengths, second.shape[1]))
    return trim(joined, total)


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
