"""`Task`: random problems from a seed, their answers, a held-out split, and the model options each family needs.

    draw → Examples (problem, answer) → lay_out by form → Batch (a model's inputs and its target)

A form is the layout of inputs and target (see `layouts`); `HEADS` says which output heads learn which form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from core.config.families import CONFIGS, RecurrentConfig, Seq2SeqConfig
from core.config.options import Options
from core.errors import InputError
from core.models import FAMILIES, is_encoder_decoder
from core.tasks.baselines import majority_accuracy
from core.tasks.layouts import BOS, EOS, LAYOUTS, PAD, Batch, Examples, decode_spans, lay_out_spans
from core.tasks.validation import (
    HEADS_WITH_LABELS,
    check_sizes,
    model_config,
    positive_integer,
    too_few_problems,
    unsuitable_model,
)
from core.translatable import Text, join_texts, verbatim

HEADS = {  # by form, the usual one first
    "label": ("classifier",),
    "tags": ("tagger", "crf"),
    "pairs": ("lm",),
    "stream": ("lm",),
    "masked": ("mlm",),
    "answer": ("qa",),
    "spans": ("pointer",),
}
FORMS = {head: form for form, heads in HEADS.items() if form != "pairs" for head in heads}  # of one-sequence models
ENCODER_DECODERS = tuple(family for family, kind in FAMILIES.items() if is_encoder_decoder(kind))
SPECIAL = ("·", "<s>", "</s>")  # names of padding, start and end
STRETCH = 4  # a model's max_len is this many times the longest row in training, to evaluate on longer problems
HELD_OUT_SHARE = 1 / 8
CHANCE_SAMPLE = 4096  # problems on which the majority baseline is measured


class DataError(InputError):
    """Typed text or an uploaded file that a task cannot use; says where, what, and what was expected."""


class WorkedExample(NamedTuple):
    """One problem and its answer, as text."""

    problem: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class Task(Options):
    """A subclass is a frozen dataclass of the task's options. Each must have:

    name, help, forms  its name, one line on what the answer is, and its forms (see `layouts`), the usual one first
    tokens             the token of each id
    longest            the longest problem in training, from which a model's max_len follows
    draw               random problems with their answers
    label_names        for labels, tags and spans, the name of each

    Optional: `solve`, the answer to any problem, and `alignment`, the ideal attention from answer to problem.
    """

    name: ClassVar[str]
    help: ClassVar[Text]
    forms: ClassVar[tuple[str, ...]]
    joiner: ClassVar[str] = " "  # between two tokens in text

    @classmethod
    def title(cls) -> str:
        return cls.name

    @property
    def tokens(self) -> list[str]:
        """The token of each id; the first ids are padding, start and end (`SPECIAL`)."""
        raise self._missing("tokens", "the token of each id")

    @property
    def vocab_size(self) -> int:
        return len(self.tokens)

    @property
    def label_names(self) -> list[Text]:
        """The name of each label, tag or span type."""
        return []

    @property
    def n_labels(self) -> int:
        return max(1, len(self.label_names))

    @property
    def chance(self) -> float:
        """Accuracy of the majority baseline: the most frequent answer at each position, whatever the problem.

        Measured on training problems, unless a task overrides it with the exact value.
        """
        return cached_chance(self)

    @property
    def longest(self) -> int:
        """Length of the longest problem in training; in tokens, unless the task counts otherwise."""
        raise self._missing("longest", "the length of the longest problem in training")

    def max_tokens(self, form: str) -> int:
        """Tokens in the longest row that a model reads in training."""
        return {"stream": 2 * self.longest + 2, "pairs": self.longest + 1}.get(form, self.longest)

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        """n random problems with lengths from `low` to `high`; by default as in training."""
        raise self._missing("draw", "n random problems with their answers")

    def _missing(self, name: str, meaning: str) -> NotImplementedError:
        return NotImplementedError(f"The task {self.name} ({type(self).__name__}) must define `{name}`: {meaning}.")

    def solve(self, source: list[int]) -> list[int] | int | None:
        """The answer to any problem; None where there is none, or more than one."""
        return None

    def may_follow(self, before: int | None, tag: int) -> bool:
        """Whether a tag can come after another one (None: at the beginning) in any correct answer."""
        return True

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]] | None:
        """The ideal attention: for every target token (or the one label) the source positions it depends on.

        An empty list: it depends on no source token. None: there is no ideal.
        """
        return None

    def alignment_with_eos(self, source: list[int], target: list[int]) -> list[list[int]] | None:
        """One row more: the target's end token is aligned with the token behind the source (see `layouts.prompt`)."""
        ideal = self.alignment(source, target)
        return None if ideal is None else [*ideal, [len(source)]]

    # Training and held-out problems

    @property
    def held_out_share(self) -> float:
        """Share of the problems that are never trained on."""
        return HELD_OUT_SHARE

    def held_out(self, examples: Examples) -> Tensor:
        """(n,): True for problems kept for evaluation. A function of the problem alone, so the split never leaks."""
        return self.hash_split(examples.source)

    def hash_split(self, rows: Tensor) -> Tensor:
        """(n,): True for `held_out_share` of all rows, by their hash"""
        return problem_hash(rows) % round(1 / self.held_out_share) == 0

    def batch(self, n: int, rng: torch.Generator, form: str, limit: int | None = None) -> Batch:
        """Fresh training problems, none of them held out; `limit` is the curriculum's current longest length."""
        return self.lay_out(self.gather(n, rng, held_out=False, high=limit), form)

    def evaluation(self, n: int = 256, *, length: int | None = None, seed: int = 0) -> Examples:
        """Held-out problems, of one length if given (also beyond training); the same for the same seed."""
        n, length = positive_integer("n", n), None if length is None else positive_integer("length", length)
        rng = torch.Generator().manual_seed(0xE7A1 + seed)
        return self.gather(n, rng, held_out=True, low=length, high=length)

    def gather(self, n: int, rng: torch.Generator, held_out: bool, **lengths: int | None) -> Examples:
        """n problems of one side of the split: drawn and rejected until there are enough."""
        accepted: Examples | None = None
        draws_per_problem = 1 / (self.held_out_share if held_out else 1 - self.held_out_share)
        for _ in range(100):
            missing = n - (0 if accepted is None else len(accepted))
            candidates = self.draw(int(missing * draws_per_problem * 1.2) + 8, rng, **lengths)
            matches = candidates.pick((self.held_out(candidates) == held_out).nonzero().squeeze(1)[:missing])
            accepted = matches if accepted is None else accepted.join(matches)
            if len(accepted) == n:
                return accepted
        raise too_few_problems(self, lengths.get("low") if held_out else None)

    # Models that can learn it

    def heads(self, family: str) -> list[str]:
        """The output heads with which a family can learn this task, the usual one first; none: it cannot.

        Encoder–decoders have no choice of head: theirs is "lm".
        """
        if family in ENCODER_DECODERS:
            return ["lm"] if "pairs" in self.forms else []
        known = next((option.choices for option in CONFIGS[family].options() if option.name == "head"), {})
        return [head for form in self.forms if form != "pairs" for head in HEADS[form] if head in known]

    def default_head(self, family: str) -> str | None:
        """The usual head of a family for this task; None: it cannot learn it."""
        return next(iter(self.heads(family)), None)

    @property
    def families(self) -> list[str]:
        return [family for family in FAMILIES if self.default_head(family)]

    def model_options(self, family: str, head: str | None = None) -> dict[str, Any]:
        """The options a model of this family needs for this task; its max_len allows for much longer problems."""
        head = head or self.default_head(family)
        if head is None or head not in self.heads(family):
            raise unsuitable_model(self, family, head)
        if family in ENCODER_DECODERS:
            return {"vocab_size": self.vocab_size, "max_len": self._max_len(family, "pairs")}
        options = {"vocab_size": self.vocab_size, "max_len": self._max_len(family, FORMS[head]), "head": head}
        if head in HEADS_WITH_LABELS:
            options["n_labels"] = self.n_labels
        return options

    def _max_len(self, family: str, form: str) -> int:
        """Recurrent families keep their default; for the others it may be the size of a position table."""
        if issubclass(CONFIGS[family], RecurrentConfig | Seq2SeqConfig):
            return CONFIGS[family]().max_len
        return max(128, STRETCH * self.max_tokens(form))

    def form(self, model: nn.Module) -> str:
        """The form in which this model learns the task; raises `ConfigError` or `InputError` if it cannot."""
        config = model_config(model)
        head: str | None = getattr(config, "head", None)
        form = "pairs" if is_encoder_decoder(model) else FORMS.get(head or "")
        if form is None or form not in self.forms:
            raise unsuitable_model(self, config.family, head)
        check_sizes(self, config, form)
        return form

    def lay_out(self, examples: Examples, form: str) -> Batch:
        return lay_out_spans(examples, self.n_labels) if form == "spans" else LAYOUTS[form](examples)

    # Text

    @cached_property
    def ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens) if token not in SPECIAL}

    def split(self, text: str) -> list[str]:
        """Typed text as tokens: separated by spaces; without any, or if all tokens are letters, one character each."""
        if all(len(token) == 1 for token in self.ids):
            return [character for character in text if not character.isspace()]
        return text.split() if len(text.split()) > 1 or text.strip() in self.ids else list(text.strip())

    def read(self, text: str) -> list[int]:
        """Token ids of a typed problem; a `DataError` names the first token that is unknown."""
        words = self.split(text)
        if not words:
            raise DataError("The input is empty.")
        unknown = next((word for word in words if word not in self.ids), None)
        if unknown is not None:
            odd, names = repr(unknown[:20]), list(self.ids)
            known = " ".join(names if len(names) <= 40 else [*names[:12], "…", names[-1]])
            raise DataError(
                "{odd} is not one of this task's tokens; those are {known}.",
                odd=odd,
                known=known,
            )
        return [self.ids[word] for word in words]

    def show(self, ids: list[int]) -> list[str]:
        """Tokens of ids."""
        return [self.tokens[i] for i in ids]

    def say(self, ids: list[int]) -> str:
        """Text of ids: the inverse of `read`."""
        return self.joiner.join(self.show(ids))

    def example(self, seed: int = 0) -> WorkedExample:
        """A random problem with its answer, in English where that is a label."""
        example = self.draw(1, torch.Generator().manual_seed(seed))
        source = example.source[0, : example.source_lengths[0]].tolist()
        return WorkedExample(self.say(source), str(self.answer_text(source, example)))

    def answer_text(self, source: list[int], example: Examples) -> Text:
        """The answer of a single example, in words."""
        target, names = example.target[0], self.label_names
        if example.target_lengths is not None:
            return verbatim(self.say(target[: example.target_lengths[0]].tolist()))
        if "label" in self.forms:
            return names[int(target)]
        if "tags" in self.forms:
            return join_texts((names[tag] for tag in target[: len(source)].tolist()), " ")
        if "answer" in self.forms:
            first, last = target.tolist()
            return verbatim(self.say(source[first : last + 1]))
        spans = zip(*(part.tolist() for part in decode_spans(target[target > 0])), strict=True)
        words = [(self.say(source[start : end + 1]), names[kind]) for kind, start, end in spans]
        return join_texts((Text("{words}: {label}", words=span, label=label) for span, label in words), "; ")


def problem_hash(rows: Tensor) -> Tensor:
    """(n,): a hash of each row's tokens and their positions; padding does not count."""
    position = torch.arange(1, rows.shape[1] + 1)
    return (rows * (position * position * 48_271 % 999_983)).sum(1) * 69_621 % 1_000_003


def measure_chance(task: Task) -> float:
    """Accuracy of the majority baseline on training problems."""
    examples = task.gather(CHANCE_SAMPLE, torch.Generator().manual_seed(0xC0DE), held_out=False)
    return majority_accuracy(task.lay_out(examples, task.forms[0]), task.forms[0])


cached_chance = lru_cache(maxsize=256)(measure_chance)

__all__ = [
    "BOS", "EOS", "PAD", "Batch", "DataError", "Examples", "Task", "WorkedExample", "cached_chance", "measure_chance",
    "problem_hash",
]  # fmt: skip
