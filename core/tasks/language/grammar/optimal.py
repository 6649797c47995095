"""Bayes-optimal prediction of words in sentences of a grammar, by Bayes' rule over its templates.

    p(word | observed) = Σ_template p(template | observed) · p(word | template, observed)
    p(template | observed) ∝ p(template) · p(observed | template)

`NextWordModel` predicts from the words to the left, `hidden_word_posterior` from noisy observations of the whole
sentence. No model can have a higher expected accuracy or a lower expected loss on fresh sentences.
"""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor

from core.tasks.language.grammar.templates import Grammar, Token

Fillers = dict[str, list[int]]  # by slot, the words of its category that are consistent with the prefix
Hypothesis = tuple[float, int, Fillers]  # p(template, prefix) up to a factor, the template, its slots


class NextWordModel:
    """p(next word | prefix) for sentences of one side of a grammar; `weights` (template,) is the prior."""

    def __init__(self, grammar: Grammar, side: str, weights: Tensor):
        self.grammar, self.weights = grammar, weights
        self.tokens = [template.parsed[side][0] for template in grammar.templates]
        self.words = {key: [grammar.ids[w] for w in grammar.lexicon[key[0]][key[1]]] for key in grammar.forms}
        self.hypotheses = cache(self._hypotheses)
        self.next_words = cache(self._next_words)

    def _hypotheses(self, prefix: tuple[int, ...]) -> list[Hypothesis]:
        """The templates that can begin with the prefix: p(template) · p(prefix | template), up to a factor."""
        if not prefix:
            return [(weight, row, {}) for row, weight in enumerate(self.weights.tolist()) if weight]
        consistent = []
        for weight, row, fillers in self.hypotheses(prefix[:-1]):
            tokens = self.tokens[row]
            if len(tokens) < len(prefix):
                continue
            token = tokens[len(prefix) - 1]
            if token.slot:
                candidates = self.candidates(token, row, fillers)
                words = self.words[token.category, token.form]
                matches = [k for k in candidates if words[k] == prefix[-1]]
                if matches:
                    share = weight * len(matches) / len(candidates)
                    consistent.append((share, row, {**fillers, token.slot: matches}))
            elif self.grammar.ids[token.word] == prefix[-1]:
                consistent.append((weight, row, fillers))
        return consistent

    def candidates(self, token: Token, row: int, fillers: Fillers) -> list[int]:
        """The words a slot may hold, all equally likely. A category's later slots depend on its first, whose word
        precedes them.
        """
        if token.slot in fillers:
            return fillers[token.slot]
        slots = self.grammar.templates[row].slots
        k = next(i for i, slot in enumerate(slots) if slot.slot == token.slot)
        size, span, low, first = (
            int(x[row, k]) for x in (self.grammar.sizes, self.grammar.span, self.grammar.low, self.grammar.first)
        )
        start = low if first == self.grammar.n_slots else low + fillers[slots[first].slot][0]
        return [(start + i) % size for i in range(span)]

    def _next_words(self, prefix: tuple[int, ...]) -> dict[int | None, float]:
        """p(word | prefix); None: the sentence is over."""
        weights: dict[int | None, float] = {}
        for weight, row, fillers in self.hypotheses(prefix):
            tokens = self.tokens[row]
            if len(tokens) == len(prefix):
                weights[None] = weights.get(None, 0.0) + weight
                continue
            token = tokens[len(prefix)]
            if token.slot:
                candidates = self.candidates(token, row, fillers)
                words = self.words[token.category, token.form]
                for k in candidates:
                    weights[words[k]] = weights.get(words[k], 0.0) + weight / len(candidates)
            else:
                word = self.grammar.ids[token.word]
                weights[word] = weights.get(word, 0.0) + weight
        total = sum(weights.values())
        return {word: weight / total for word, weight in weights.items()}


def hidden_word_posterior(grammar: Grammar, side: str, lengths: Tensor, log_likelihood: Tensor) -> Tensor:
    """(n, time, word): p(true word | all observations)

    log_likelihood (n, time, word): log p(observation at this position | true word), independent between positions;
    lengths (n,).
    """
    n, time, n_words = log_likelihood.shape
    posterior = log_likelihood.new_zeros(n, time, n_words)
    log_joint = log_likelihood.new_full((n, len(grammar.templates)), float("-inf"))
    by_template = []
    for row in range(len(grammar.templates)):
        rows = (lengths == grammar.lengths[side][row]).nonzero().squeeze(1)
        if len(rows):
            log_joint[rows, row], positions = _template_posterior(grammar, side, row, log_likelihood[rows])
            by_template.append((row, rows, positions))
    template_posterior = log_joint.softmax(1)  # (n, template)
    for row, rows, positions in by_template:
        for position, (words, shares) in enumerate(positions):
            weighted = template_posterior[rows, row, None] * shares
            posterior[rows, position] = posterior[rows, position].index_add(1, words, weighted)
    return posterior


def _template_posterior(
    grammar: Grammar, side: str, row: int, log_likelihood: Tensor
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """(n,): log p(template, observations); and per position the words it may hold, with
    p(word | template, observations) (n, words).
    """
    template, tokens = grammar.templates[row], grammar.templates[row].parsed[side][0]
    log_joint = log_likelihood.new_full((len(log_likelihood),), float(grammar.weights[row].log()))
    slot_likelihood: dict[str, Tensor] = {}  # by slot, (n, size): log p(observations | the slot's word)
    words = []
    for position, token in enumerate(tokens):
        spellings = grammar.lexicon[token.category][token.form] if token.slot else [token.word]
        words.append(torch.tensor([grammar.ids[word] for word in spellings]))
        if token.slot:
            slot_likelihood[token.slot] = slot_likelihood.get(token.slot, 0) + log_likelihood[:, position, words[-1]]
        else:
            log_joint = log_joint + log_likelihood[:, position, words[-1][0]]
    shares: dict[str, Tensor] = {}  # by slot, (n, size): p(the slot's word | observations, template)
    for category in {token.category for token in template.slots}:
        first, *later = (k for k, token in enumerate(template.slots) if token.category == category)
        joint = slot_likelihood[template.slots[first].slot]
        given_first = {}  # (n, first, later): the later slots are independent of each other given the first
        for k in later:
            given_first[k] = slot_likelihood[template.slots[k].slot][:, None] + _log_conditional(grammar, row, k)
            joint = joint + given_first[k].logsumexp(2)
        log_joint = log_joint + joint.logsumexp(1) - math.log(joint.shape[1])
        share = shares[template.slots[first].slot] = joint.softmax(1)
        for k in later:
            shares[template.slots[k].slot] = (share[:, :, None] * given_first[k].softmax(2)).sum(1)
    certain = log_likelihood.new_ones(len(log_likelihood), 1)
    return log_joint, [(w, shares.get(token.slot, certain)) for w, token in zip(words, tokens, strict=True)]


def _log_conditional(grammar: Grammar, row: int, k: int) -> Tensor:
    """(first, later): log p(word of the later slot k | word of its category's first slot)"""
    size, span, low = (int(x[row, k]) for x in (grammar.sizes, grammar.span, grammar.low))
    word = torch.arange(size)
    distance = (word - word[:, None]) % size
    return torch.where((distance >= low) & (distance < low + span), -math.log(span), -torch.inf)
