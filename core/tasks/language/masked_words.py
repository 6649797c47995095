"""BERT's pretraining objectives: masked words of two sentences, and whether the second follows the first.

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, cast

import torch
from torch import Tensor, nn

from core.config.families import BertConfig
from core.errors import ConfigError
from core.layers.masks import valid_mask
from core.tasks.base import SPECIAL, Batch, Examples
from core.tasks.language.entities import entity_grammar
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.news import news_grammar
from core.tasks.language.grammar.optimal import hidden_word_posterior
from core.tasks.language.grammar.templates import Grammar, Template
from core.tasks.language.grammar_task import GrammarTask
from core.tasks.layouts import lay_out_masked
from core.tasks.shared_options import choice, number, option
from core.translatable import Text

BERT_TOKENS = ("[MASK]", "[CLS]", "[SEP]")
MASK, CLS, SEP = len(SPECIAL), len(SPECIAL) + 1, len(SPECIAL) + 2
FIRST_WORD = SEP + 1
NEVER_MASKED = torch.tensor([CLS, SEP])
IMPOSSIBLE = -1e4  # log p
KEEP_SHARE = 0.1  # of the target words: left as they are
SWAP_SHARE = 0.1  # of the target words: replaced by a random word; the rest is masked
CEILING_SAMPLE = 512  # held-out problems on which the best accuracy is measured
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
def stories_grammar() -> Grammar:
    """Each pair of sentences twice: label 1 with the same person and thing in both, 0 with different ones."""
    templates = []
    for a, b in product(FIRST, SECOND):
        for follows, k in ((1, 1), (0, 2)):
            second = b.replace("{p}", f"{{person{k}.en}}").replace("{t}", f"{{thing{k}.en}}")
            templates.append(Template({"en": f"[CLS] {a} [SEP] {second} [SEP]"}, follows))
    return Grammar(LEXICON, templates, (*SPECIAL, *BERT_TOKENS))


@dataclass(frozen=True, kw_only=True)
class MaskedWords(GrammarTask):
    name = "masked words"
    help = Text(
        "Fill in the masked words, and say whether the second sentence follows the first.",
    )
    forms = ("masked",)

    mask_share: float = option(MASK_SHARE, 0.15)
    text: str = option(TEXT, "stories")

    def to_dict(self) -> dict[str, Any]:
        """Without `text` at its default: the option is newer than stored runs, whose keys are hashes of this."""
        return {name: value for name, value in super().to_dict().items() if (name, value) != ("text", "stories")}

    @cached_property
    def grammar(self) -> Grammar:
        return news_grammar(BERT_TOKENS) if self.text == "news" else stories_grammar()

    def draw(self, n: int, rng: torch.Generator, low: int | None = None, high: int | None = None) -> Examples:
        templates, fillers = self.grammar.draw(n, rng, "en", low, high)
        words, lengths = self.grammar.render("en", templates, fillers)
        source, target = mask_words(words, lengths, self.mask_share, self.vocab_size, rng)
        return Examples(source, lengths, target, follows=self.grammar.labels[templates])

    def held_out(self, examples: Examples) -> Tensor:
        """By the first sentence alone, whatever its masks and the second sentence.

        For the news, the sentences that the task entities holds out too: a model fine-tuned on that task has not seen
        its evaluation problems in pretraining.
        """
        first = first_sentence(unmask(examples))
        if self.text == "news":
            first = self._entity_ids[first][:, 1:]  # without [CLS]
        return self.hash_split(first)

    @cached_property
    def _entity_ids(self) -> Tensor:
        """(vocabulary,): each word's id in the task entities, 0 where it has none"""
        return torch.tensor([entity_grammar().ids.get(token, 0) for token in self.tokens])

    def form(self, model: nn.Module) -> str:
        """As in `Task`; the model must also predict whether the second sentence follows."""
        form, config = super().form(model), cast(BertConfig, model.config)
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
        """More than one word may fit a mask."""
        return None

    @property
    def ceiling(self) -> float:
        """The best accuracy that can be expected, that of the likeliest word by `word_posterior`: several may fit."""
        return _best_accuracy(self)

    def word_posterior(self, examples: Examples) -> Tensor:
        """(n, time, word): p(original word | source, position is a target), up to a factor; Bayes-optimal"""
        source, same, other = examples.source, *source_probabilities(self.mask_share, self.vocab_size)
        log_p = torch.full((*source.shape, self.vocab_size), math.log(other))  # log p(source token | original word)
        log_p.scatter_(2, source[..., None], math.log(same))
        log_p[source == MASK] = 0.0  # equally likely for all words
        log_p[torch.isin(source, NEVER_MASKED)] = IMPOSSIBLE
        log_p[..., NEVER_MASKED] = torch.where(source[..., None] == NEVER_MASKED, 0.0, IMPOSSIBLE)
        posterior = hidden_word_posterior(self.grammar, "en", examples.source_lengths, log_p)
        # Given that a position is a target, the word visible there is less often the original than elsewhere.
        target_same, target_other = source_probabilities(1.0, self.vocab_size)
        weight = torch.full_like(posterior, target_other / other).scatter_(2, source[..., None], target_same / same)
        return posterior * torch.where((source == MASK)[..., None], 1.0, weight)

    def read(self, text: str) -> list[int]:
        """One or two sentences; [CLS] and [SEP] are added where they are missing."""
        return add_cls_and_sep(super().read(text))

    def answer_text(self, source: list[int], example: Examples) -> Text:
        assert example.follows is not None
        follows = Text("follows") if int(example.follows[0]) else Text("does not follow")
        return Text("{words} ({follows})", words=self.say(unmask(example)[0].tolist()), follows=follows)


def mask_words(
    words: Tensor, lengths: Tensor, share: float, vocab_size: int, rng: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The source, and the target: the original words at the target positions, 0 elsewhere.

    Of m words, share · m are targets, rounded up or down at random so that the mean is exact; at least one.
    """
    n, time = words.shape
    maskable = (words >= FIRST_WORD) & valid_mask(lengths, time)
    random = torch.rand(3, n, time, generator=rng)
    n_targets = (maskable.sum(1) * share + random[1, :, 0]).long().clamp(min=1)
    order = random[0].masked_fill(~maskable, 2.0).argsort(1)
    is_target = torch.zeros_like(maskable).scatter(1, order, valid_mask(n_targets, time)) & maskable
    random_words = torch.randint(FIRST_WORD, vocab_size, (n, time), generator=rng)
    kept_or_swapped = torch.where(random[2] < KEEP_SHARE, words, random_words)
    source = torch.where(random[2] < KEEP_SHARE + SWAP_SHARE, kept_or_swapped, MASK)
    return torch.where(is_target, source, words), words * is_target


def source_probabilities(share: float, vocab_size: int) -> tuple[float, float]:
    """p(a word is in the source | it is the original), p(… | another word is), where `share` of words are targets."""
    by_chance = share * SWAP_SHARE / (vocab_size - FIRST_WORD)
    return 1 - share + share * KEEP_SHARE + by_chance, by_chance


@lru_cache(maxsize=8)
def _best_accuracy(task: MaskedWords) -> float:
    examples = task.evaluation(CEILING_SAMPLE)
    posterior = task.word_posterior(examples)[examples.target > 0]  # (target, word)
    return float((posterior.amax(1) / posterior.sum(1)).mean())


def first_sentence(words: Tensor) -> Tensor:
    """(n, time): the words before the first separator, 0 from there on"""
    return words * ((words == SEP).cumsum(1) == 0)


def add_cls_and_sep(ids: list[int]) -> list[int]:
    """[CLS] in front and [SEP] at the end, unless they are there"""
    ids = ids if ids[0] == CLS else [CLS, *ids]
    return ids if ids[-1] == SEP else [*ids, SEP]


def unmask(examples: Examples) -> Tensor:
    """(n, time): the original words"""
    return torch.where(examples.target > 0, examples.target, examples.source)
