"""What a task is: fresh problems from a seed, their right answers, and a held-out part nobody trains on.

    draw → Examples (problem, answer) → lay_out by form → Batch (what a model of that form takes, and its target)

A form is how a family meets the task (see `layouts`); which head answers which form is told here, once.
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
from core.messages import Text, join_texts, verbatim
from core.models import FAMILIES, is_encoder_decoder
from core.tasks import layouts
from core.tasks.baselines import blind_guess
from core.tasks.layouts import BOS, EOS, PAD, Batch, Examples
from core.tasks.validation import LABELLED, check_model, check_sizes, counted, too_few, unmet

HEADS = {
    "label": ("classifier",),
    "tags": ("tagger", "crf"),
    "pairs": ("lm",),
    "stream": ("lm",),
    "masked": ("mlm",),
    "answer": ("qa",),
    "spans": ("pointer",),
}
FORMS = {head: form for form, heads in HEADS.items() if form != "pairs" for head in heads}
TWO_SEQUENCES = tuple(family for family, kind in FAMILIES.items() if is_encoder_decoder(kind))
SPECIAL = ("·", "<s>", "</s>")  # what padding, start and end are called
STRETCH = 4  # models get room for problems so many times as long as in training
CHANCE_SAMPLE = 4096


class DataError(InputError):
    """Something typed or uploaded that a task cannot use; says where, what, and what it expected."""


class Worked(NamedTuple):
    """One problem and its right answer, as text."""

    problem: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class Task(Options):
    """Subclasses are frozen sets of knobs. Each must have:

    name, help, forms  what it is called, what it asks, and in which forms (see `layouts`)
    tokens             what each id is called
    longest            how long problems are in training: models are given room for them
    draw               random problems with their answers
    label_names        for labels, tags and spans, what each is called

    `solve` and `alignment` are there for tasks that know more: the answer to any problem, and the ideal attention.
    """

    name: ClassVar[str]
    help: ClassVar[Text]
    forms: ClassVar[tuple[str, ...]]
    held_out_share: ClassVar[float] = 1 / 8  # of the problems, never trained on
    joiner: ClassVar[str] = " "  # what stands between two tokens in writing

    @classmethod
    def title(cls) -> str:
        return cls.name

    @property
    def tokens(self) -> list[str]:
        """What each id is called; the ids below the first symbol are padding, start and end."""
        raise self._lacks("tokens", "what each id is called")

    @property
    def vocab_size(self) -> int:
        return len(self.tokens)

    @property
    def label_names(self) -> list[Text]:
        """What each label, tag or span type is called."""
        return []

    @property
    def n_labels(self) -> int:
        return max(1, len(self.label_names))

    @property
    def chance(self) -> float:
        """The accuracy of whoever does not look at the problem: nobody does better than to give, in each place,
        the answer that is commonest there. Measured on training problems unless a task knows it exactly."""
        return measured_chance(self)

    @property
    def longest(self) -> int:
        """The longest problem in training, in the task's own measure: tokens unless it says otherwise."""
        raise self._lacks("longest", "the length of the longest problem in training")

    def room(self, form: str) -> int:
        """Tokens in the longest row a model sees in training."""
        return {"stream": 2 * self.longest + 2, "pairs": self.longest + 1}.get(form, self.longest)

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        """n random problems with lengths from `low` to `high`; by default as in training."""
        raise self._lacks("draw", "n random problems with their answers")

    def _lacks(self, name: str, what: str) -> NotImplementedError:
        return NotImplementedError(f"The task {self.name} ({type(self).__name__}) must define `{name}`: {what}.")

    def solve(self, source: list[int]) -> list[int] | int | None:
        """The right answer to any problem; None where there is none (or more than one)."""
        return None

    def may_follow(self, before: int | None, tag: int) -> bool:
        """Can a tag stand behind another one (None: at the beginning) in any right answer?"""
        return True

    def alignment(self, source: list[int], target: list[int]) -> list[list[int]] | None:
        """For every target token (or the one label) the source positions an attention map should show.

        An empty list: it needs no source token. None: there is no ideal.
        """
        return None

    def ended_alignment(self, source: list[int], target: list[int]) -> list[list[int]] | None:
        """One row more: the target's end token looks at what stands behind the source (see `layouts.prompt`)."""
        ideal = self.alignment(source, target)
        return None if ideal is None else [*ideal, [len(source)]]

    # Held out or trained on

    def held_out(self, examples: Examples) -> Tensor:
        """(n,): True for the problems kept for evaluation, decided by the problem itself."""
        return problem_hash(examples.source) % round(1 / self.held_out_share) == 0

    def batch(self, n: int, rng: torch.Generator, form: str, limit: int | None = None) -> Batch:
        """Fresh training problems, none of them held out; `limit` is the curriculum's longest length so far."""
        return self.lay_out(self.gather(n, rng, held_out=False, high=limit), form)

    def evaluation(self, n: int = 256, *, length: int | None = None, seed: int = 0) -> Examples:
        """Held-out problems, of one length if asked (also beyond training); always the same for a seed."""
        n, length = counted("n", n), None if length is None else counted("length", length)
        rng = torch.Generator().manual_seed(0xE7A1 + seed)
        return self.gather(n, rng, held_out=True, low=length, high=length)

    def gather(self, n: int, rng: torch.Generator, held_out: bool, **lengths: int | None) -> Examples:
        """Draw until n problems lie on the wanted side of the split."""
        chosen: Examples | None = None
        share = 1 / (self.held_out_share if held_out else 1 - self.held_out_share)
        for _ in range(100):
            missing = n - (0 if chosen is None else len(chosen))
            drawn = self.draw(int(missing * share * 1.2) + 8, rng, **lengths)
            drawn = drawn.pick((self.held_out(drawn) == held_out).nonzero().squeeze(1)[:missing])
            chosen = drawn if chosen is None else chosen.join(drawn)
            if len(chosen) == n:
                return chosen
        raise too_few(self, lengths.get("low") if held_out else None)

    # Which models meet it, and how

    def heads(self, family: str) -> list[str]:
        """The heads with which a family can meet this task, the usual one first; none: it cannot.

        Encoder–decoders have no choice of head: theirs is "lm".
        """
        if family in TWO_SEQUENCES:
            return ["lm"] if "pairs" in self.forms else []
        known = next((option.choices for option in CONFIGS[family].options() if option.name == "head"), {})
        return [head for form in self.forms if form != "pairs" for head in HEADS[form] if head in known]

    def suits(self, family: str) -> str | None:
        """The head with which a family meets this task, or None."""
        return next(iter(self.heads(family)), None)

    @property
    def families(self) -> list[str]:
        return [family for family in FAMILIES if self.suits(family)]

    def model_options(self, family: str, head: str | None = None) -> dict[str, Any]:
        """The options a model of this family needs for this task, with room for much longer problems."""
        head = head or self.suits(family)
        if head not in self.heads(family):
            raise unmet(self, family, head)
        if family in TWO_SEQUENCES:
            return {"vocab_size": self.vocab_size, "max_len": self._max_len(family, "pairs")}
        options = {"vocab_size": self.vocab_size, "max_len": self._max_len(family, FORMS[head]), "head": head}
        if head in LABELLED:
            options["n_labels"] = self.n_labels
        return options

    def _max_len(self, family: str, form: str) -> int:
        """A recurrent network has no longest input; any other may have a table of positions, which is long enough."""
        if issubclass(CONFIGS[family], RecurrentConfig | Seq2SeqConfig):
            return CONFIGS[family]().max_len
        return max(128, STRETCH * self.room(form))

    def form(self, model: nn.Module) -> str:
        """How this model meets the task; a sentence that says why when it cannot."""
        check_model(model)
        head = getattr(model.config, "head", None)
        form = "pairs" if is_encoder_decoder(model) else FORMS.get(head)
        if form not in self.forms:
            raise unmet(self, model.config.family, head)
        check_sizes(self, model.config, form)
        return form

    def lay_out(self, examples: Examples, form: str) -> Batch:
        if form == "spans":
            return layouts.lay_out_spans(examples, self.n_labels)
        return getattr(layouts, f"lay_out_{form}")(examples)

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
        """Token ids of a problem typed by somebody; a `DataError` names what it does not know."""
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
        return [self.tokens[i] for i in ids]

    def say(self, ids: list[int]) -> str:
        return self.joiner.join(self.show(ids))

    def example(self, seed: int = 0) -> Worked:
        """One worked problem, in English where its answer is a label."""
        one = self.draw(1, torch.Generator().manual_seed(seed))
        source = one.source[0, : one.source_lengths[0]].tolist()
        return Worked(self.say(source), str(self.say_answer(source, one)))

    def say_answer(self, source: list[int], one: Examples) -> Text:
        """The answer of the only example, in words."""
        target, names = one.target[0].tolist(), self.label_names
        if one.target_lengths is not None:
            return verbatim(self.say(target[: one.target_lengths[0]]))
        if "label" in self.forms:
            return names[target]
        if "tags" in self.forms:
            return join_texts((names[tag] for tag in target[: len(source)]), " ")
        if "answer" in self.forms:
            return verbatim(self.say(source[target[0] : target[1] + 1]))
        found = zip(*layouts.span_parts(one.target[0][one.target[0] > 0]), strict=True)
        spans = [(self.say(source[start : end + 1]), names[kind]) for kind, start, end in found]
        return join_texts((Text("{words}: {label}", words=words, label=label) for words, label in spans), "; ")


def problem_hash(rows: Tensor) -> Tensor:
    """(n,): a number that depends on every token and its place, and not on padding."""
    place = torch.arange(1, rows.shape[1] + 1)
    return (rows * (place * place * 48_271 % 999_983)).sum(1) * 69_621 % 1_000_003


@lru_cache(maxsize=256)
def measured_chance(task: Task) -> float:
    examples = task.gather(CHANCE_SAMPLE, torch.Generator().manual_seed(0xC0DE), held_out=False)
    return blind_guess(task.lay_out(examples, task.forms[0]), task.forms[0])


__all__ = ["BOS", "EOS", "PAD", "Batch", "DataError", "Examples", "Task", "Worked", "measured_chance", "problem_hash"]
