"""Who knows a grammar by heart: what is left for them to guess, nobody can know.

`NextWord` reads from left to right; `hidden_words` sees both sides of a hole. Both weigh all templates and words by
Bayes' rule, and so give the best accuracy and the lowest loss a model can reach on fresh sentences.
"""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor

from core.tasks.language.grammar.templates import Grammar, Token

Belief = tuple[float, int, dict[str, list[int]]]  # probability so far, template, and the words each slot may hold


class NextWord:
    """Which word comes next in a sentence of a grammar, from what was read so far."""

    def __init__(self, grammar: Grammar, side: str, weights: Tensor):
        """weights (template,): how common each is"""
        self.grammar, self.weights = grammar, weights
        self.tokens = [template.parsed[side][0] for template in grammar.templates]
        self.words = {key: [grammar.ids[w] for w in grammar.lexicon[key[0]][key[1]]] for key in grammar.forms}
        self.beliefs = cache(self._beliefs)
        self.next_words = cache(self._next_words)

    def _beliefs(self, read: tuple[int, ...]) -> list[Belief]:
        """The templates that can begin like this: p(template) · p(words read | template), up to a factor."""
        if not read:
            return [(weight, row, {}) for row, weight in enumerate(self.weights.tolist()) if weight]
        alive = []
        for weight, row, held in self.beliefs(read[:-1]):
            tokens = self.tokens[row]
            if len(tokens) < len(read):
                continue
            token = tokens[len(read) - 1]
            if token.slot:
                may = self.candidates(token, row, held)
                words = self.words[token.category, token.form]
                fits = [k for k in may if words[k] == read[-1]]
                if fits:
                    alive.append((weight * len(fits) / len(may), row, {**held, token.slot: fits}))
            elif self.grammar.ids[token.word] == read[-1]:
                alive.append((weight, row, held))
        return alive

    def candidates(self, token: Token, row: int, held: dict[str, list[int]]) -> list[int]:
        """All equally likely. A later slot of a category depends on the first, which has been read by then."""
        if token.slot in held:
            return held[token.slot]
        slots = self.grammar.templates[row].slots
        k = next(i for i, slot in enumerate(slots) if slot.slot == token.slot)
        size, span, low, first = (
            int(x[row, k]) for x in (self.grammar.sizes, self.grammar.span, self.grammar.low, self.grammar.first)
        )
        start = low if first == self.grammar.n_slots else low + held[slots[first].slot][0]
        return [(start + i) % size for i in range(span)]

    def _next_words(self, read: tuple[int, ...]) -> dict[int | None, float]:
        """p(word | words read); None: the sentence is over."""
        found: dict[int | None, float] = {}
        for weight, row, held in self.beliefs(read):
            tokens = self.tokens[row]
            if len(tokens) == len(read):
                found[None] = found.get(None, 0.0) + weight
                continue
            token = tokens[len(read)]
            if token.slot:
                may = self.candidates(token, row, held)
                words = self.words[token.category, token.form]
                for k in may:
                    found[words[k]] = found.get(words[k], 0.0) + weight / len(may)
            else:
                word = self.grammar.ids[token.word]
                found[word] = found.get(word, 0.0) + weight
        total = sum(found.values())
        return {word: weight / total for word, weight in found.items()}


def hidden_words(grammar: Grammar, side: str, lengths: Tensor, evidence: Tensor) -> Tensor:
    """(n, time, word): p(true word | all that is seen)

    evidence (n, time, word): log p(what is seen there | true word), independent between places; lengths (n,).
    """
    n, time, n_words = evidence.shape
    found = evidence.new_zeros(n, time, n_words)
    likelihood = evidence.new_full((n, len(grammar.templates)), float("-inf"))
    parts = []
    for row in range(len(grammar.templates)):
        fits = (lengths == grammar.lengths[side][row]).nonzero().squeeze(1)
        if len(fits):
            likelihood[fits, row], places = _one_template(grammar, side, row, evidence[fits])
            parts.append((row, fits, places))
    belief = likelihood.softmax(1)  # (n, template)
    for row, fits, places in parts:
        for place, (words, share) in enumerate(places):
            found[fits, place] = found[fits, place].index_add(1, words, belief[fits, row, None] * share)
    return found


def _one_template(
    grammar: Grammar, side: str, row: int, evidence: Tensor
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """(n,): log p(template, what is seen); and per place the words it may hold and their probabilities, (n, words)."""
    template, tokens = grammar.templates[row], grammar.templates[row].parsed[side][0]
    total = evidence.new_full((len(evidence),), float(grammar.weights[row].log()))
    seen: dict[str, Tensor] = {}  # by slot, (n, size): log p(what is seen | the slot's word)
    words = []
    for place, token in enumerate(tokens):
        written = grammar.lexicon[token.category][token.form] if token.slot else [token.word]
        words.append(torch.tensor([grammar.ids[word] for word in written]))
        if token.slot:
            seen[token.slot] = seen.get(token.slot, 0) + evidence[:, place, words[-1]]
        else:
            total = total + evidence[:, place, words[-1][0]]
    shares: dict[str, Tensor] = {}  # by slot, (n, size): p(the slot's word | what is seen, template)
    for category in {token.category for token in template.slots}:
        first, *later = (k for k, token in enumerate(template.slots) if token.category == category)
        joint = seen[template.slots[first].slot]
        given = {}  # later slots are independent of each other given the first: (n, first, later)
        for k in later:
            given[k] = seen[template.slots[k].slot][:, None] + _apart(grammar, row, k)
            joint = joint + given[k].logsumexp(2)
        total = total + joint.logsumexp(1) - math.log(joint.shape[1])
        share = shares[template.slots[first].slot] = joint.softmax(1)
        for k in later:
            shares[template.slots[k].slot] = (share[:, :, None] * given[k].softmax(2)).sum(1)
    sure = evidence.new_ones(len(evidence), 1)
    return total, [(w, shares.get(token.slot, sure)) for w, token in zip(words, tokens, strict=True)]


def _apart(grammar: Grammar, row: int, k: int) -> Tensor:
    """(first, later): log p(a later slot's word | the word of its category's first slot)"""
    size, span, low = (int(x[row, k]) for x in (grammar.sizes, grammar.span, grammar.low))
    every = torch.arange(size)
    away = (every - every[:, None]) % size
    return torch.where((away >= low) & (away < low + span), -math.log(span), -torch.inf)
