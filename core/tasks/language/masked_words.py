"""Two sentences with holes: what stood there, and does the second go on from the first? What BERT was made with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from core.errors import ConfigError
from core.layers.masks import valid_mask
from core.messages import Text
from core.tasks.base import SPECIAL, Batch, Examples, problem_hash
from core.tasks.language.entities import reports
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.news import news
from core.tasks.language.grammar.optimal import hidden_words
from core.tasks.language.grammar.templates import Grammar, Template
from core.tasks.language.sentences import Sentences
from core.tasks.layouts import lay_out_masked
from core.tasks.shared_options import choice, number, option

FRAMING = ("[MASK]", "[CLS]", "[SEP]")
MASK, CLS, SEP = len(SPECIAL), len(SPECIAL) + 1, len(SPECIAL) + 2
FIRST_WORD = SEP + 1
FIXED = torch.tensor([CLS, SEP])  # never asked for
NEVER = -1e4
KEPT, SWAPPED = 0.1, 0.1  # of the chosen tokens: left as they are, or replaced by a random word; the rest is masked
JUDGED = 512  # held-out problems on which the best reader is tried
MASK_SHARE = number("mask_share", 0.05, 0.6, Text("Share of the words that are asked for."))
TEXT = choice("text", Text("What the sentences are about."), {
    "stories": Text("people and things"),
    "news": Text("people, places, organisations and dates, as in the task entities"),
})  # fmt: skip

FIRST = [
    "{person1.en} {do1.past} the {thing1.en} in the {place1.en} .",
    "{person1.en} {do1.past} the {thing1.en} {ago1.en} .",
    "on {day1.en} {person1.en} {do1.past} {adj1.art} {adj1.en} {thing1.en} .",
    "{ago1.en} {person1.en} {do1.past} {thing1.art} {thing1.en} .",
    "{person1.en} {manner1.en} {do1.past} {thing1.art} {thing1.en} in the {place1.en} .",
    "the {role1.en} gave {person1.en} {thing1.art} {thing1.en} on {day1.en} .",
    "there was {thing1.art} {thing1.en} in the {place1.en} and {person1.en} {do1.past} it .",
    "{person1.en} went to the {place1.en} and {do1.past} the {thing1.en} .",
]
SECOND = [  # about the same person and thing, or about others
    "then {p} put the {t} on the {surface1.en} .",
    "{p} liked the {adj2.en} {t} very much .",
    "the {t} made {p} happy .",
    "soon {p} {do2.past} the {t} again .",
    "now the {t} is on {p} 's {surface1.en} .",
    "the {role2.en} asked {p} about the {t} .",
    "later {p} {manner2.en} {do2.past} the {t} .",
    "the {t} was {adj2.en} and {p} {act1.past} .",
]


@lru_cache(maxsize=1)
def stories() -> Grammar:
    """Each pair of sentences twice: label 1 with the same person and thing in both, 0 with others."""
    templates = []
    for a, b in product(FIRST, SECOND):
        for follows, k in ((1, 1), (0, 2)):
            second = b.replace("{p}", f"{{person{k}.en}}").replace("{t}", f"{{thing{k}.en}}")
            templates.append(Template({"en": f"[CLS] {a} [SEP] {second} [SEP]"}, follows))
    return Grammar(LEXICON, templates, (*SPECIAL, *FRAMING))


@dataclass(frozen=True, kw_only=True)
class MaskedWords(Sentences):
    name = "masked words"
    help = Text(
        "Fill in the masked words, and say whether the second sentence follows the first.",
    )
    forms = ("masked",)

    mask_share: float = option(MASK_SHARE, 0.15)
    text: str = option(TEXT, "stories")

    def to_dict(self) -> dict[str, Any]:
        """The usual text is not told, so that it is no part of a run's key."""
        return {name: value for name, value in super().to_dict().items() if (name, value) != ("text", "stories")}

    @cached_property
    def grammar(self) -> Grammar:
        return news(FRAMING) if self.text == "news" else stories()

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        chosen, filled = self.grammar.draw(n, rng, "en", low, high)
        words, lengths = self.grammar.render("en", chosen, filled)
        source, target = mask(words, lengths, self.mask_share, self.vocab_size, rng)
        return Examples(source, lengths, target, follows=self.grammar.labels[chosen])

    def held_out(self, examples: Examples) -> Tensor:
        """A first sentence that is held out is so with every second sentence, and wherever its holes are.

        Of the news, it is what the task entities holds out: whoever goes on to that task has not read its questions.
        """
        words = original(examples)
        if self.text != "news":
            return held_out_first(words, self.held_out_share)
        first = self._as_reports[words * ((words == SEP).cumsum(1) == 0)][:, 1:]  # without [CLS]
        return problem_hash(first) % round(1 / self.held_out_share) == 0

    @cached_property
    def _as_reports(self) -> Tensor:
        """(vocabulary,): each word's id in the task entities, 0 where it has none"""
        return torch.tensor([reports().ids.get(token, 0) for token in self.tokens])

    def form(self, model: nn.Module) -> str:
        """It asks two things at once, of two sentences."""
        form, config = super().form(model), model.config
        if not config.has_next_sentence_head:
            option = "pooler" if config.pooler == "none" else "next_sentence"
            raise ConfigError(
                option,
                getattr(config, option),
                Text(
                    "the task {name} also asks whether the second sentence follows, and this model does not say.",
                    name=self.name,
                ),
                Text("Use pooler='tanh' and next_sentence=None."),
            )
        if config.n_segments == 1:
            raise ConfigError(
                "n_segments",
                1,
                Text("the task {name} has two sentences.", name=self.name),
                Text("Use 2, or 0 for none."),
            )
        return form

    def lay_out(self, examples: Examples, form: str) -> Batch:
        return lay_out_masked(examples, SEP)

    def solve(self, source: list[int]) -> None:
        """More than one word may fit a hole."""
        return None

    @property
    def ceiling(self) -> float:
        """The best accuracy there is: more than one word may fit a hole, and whoever knows all stories by heart fills
        in the likeliest."""
        return _best_accuracy(self)

    def guesses(self, examples: Examples) -> Tensor:
        """(n, time, word): p(what stood there | what is seen, it is asked for), up to a factor: all that can be known."""
        seen, same, other = examples.source, *seen_if(self.mask_share, self.vocab_size)
        log_p = torch.full((*seen.shape, self.vocab_size), math.log(other))
        log_p.scatter_(2, seen[..., None], math.log(same))
        log_p[seen == MASK] = 0.0  # whatever stood there
        log_p[torch.isin(seen, FIXED)] = NEVER
        log_p[..., FIXED] = torch.where(seen[..., None] == FIXED, 0.0, NEVER)
        found = hidden_words(self.grammar, "en", examples.source_lengths, log_p)
        # A word that is asked for though it is there to be seen is less often the right one than words are otherwise.
        asked_same, asked_other = seen_if(1.0, self.vocab_size)
        weight = torch.full_like(found, asked_other / other).scatter_(2, seen[..., None], asked_same / same)
        return found * torch.where((seen == MASK)[..., None], 1.0, weight)

    def read(self, text: str) -> list[int]:
        """One or two sentences; [CLS] and [SEP] are added where they are missing."""
        return framed(super().read(text))

    def say_answer(self, source: list[int], one: Examples) -> Text:
        follows = Text("follows") if int(one.follows[0]) else Text("does not follow")
        return Text("{words} ({follows})", words=self.say(original(one)[0].tolist()), follows=follows)


def mask(
    words: Tensor, lengths: Tensor, share: float, vocab_size: int, rng: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The source with holes, and the target: what was there, 0 where nothing is asked.

    Of m words, share · m are chosen, rounded up or down at random so that the mean is exact; at least one.
    """
    n, time = words.shape
    can = (words >= FIRST_WORD) & valid_mask(lengths, time)
    random = torch.rand(3, n, time, generator=rng)
    quota = (can.sum(1) * share + random[1, :, 0]).long().clamp(min=1)
    order = random[0].masked_fill(~can, 2.0).argsort(1)
    chosen = torch.zeros_like(can).scatter(1, order, valid_mask(quota, time)) & can
    fate = random[2]
    swapped = torch.randint(FIRST_WORD, vocab_size, (n, time), generator=rng)
    source = torch.where(fate < KEPT + SWAPPED, torch.where(fate < KEPT, words, swapped), MASK)
    return torch.where(chosen, source, words), words * chosen


def seen_if(share: float, vocab_size: int) -> tuple[float, float]:
    """p(a word is seen | it is the right one), p(… | it is another), where a share of the words is asked for."""
    by_chance = share * SWAPPED / (vocab_size - FIRST_WORD)
    return 1 - share + share * KEPT + by_chance, by_chance


@lru_cache(maxsize=8)
def _best_accuracy(task: MaskedWords) -> float:
    examples = task.evaluation(JUDGED)
    guesses = task.guesses(examples)[examples.target > 0]  # (asked, word)
    return float((guesses.amax(1) / guesses.sum(1)).mean())


def held_out_first(words: Tensor, share: float) -> Tensor:
    """(n,): decided by the sentence before the first separator alone"""
    before = (words == SEP).cumsum(1) == 0
    return problem_hash(words * before) % round(1 / share) == 0


def framed(ids: list[int]) -> list[int]:
    """[CLS] in front and [SEP] behind, unless they are there"""
    ids = ids if ids[0] == CLS else [CLS, *ids]
    return ids if ids[-1] == SEP else [*ids, SEP]


def original(examples: Examples) -> Tensor:
    return torch.where(examples.target > 0, examples.target, examples.source)
