"""Sentences by the thousand from templates, many at a time.

A template is a string of tokens:

    the {thing1.en} that {person1.en} {do1.past} is in@at the {place1.en} .

`{thing1.en}` is a slot: the form `en` of a word of the category `thing`; wherever the slot appears again, it is the
same word, in another form or another language. Slots of one category (thing1, thing2) hold different words.
`in@at` is a word that goes with whatever else is marked `@at`: that is how the true word alignment is known.
`[PER the mayor of [LOC {city1.en} ] ]` marks spans. Every token is one word, so a template's length, links and spans
are those of each of its sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from core.tasks.layouts import span_number

Lexicon = dict[str, dict[str, list[str]]]  # category → form → words
SPAN = re.compile(r"\[[A-Z]+")
SLOT = re.compile(r"\{([a-z]+)(\d*)\.(\w+)\}")


@dataclass(frozen=True)
class Token:
    """A word, or the form of a slot; `link` is shared by tokens that mean the same."""

    link: str | None
    word: str = ""
    slot: str = ""
    category: str = ""
    form: str = ""


@dataclass(frozen=True)
class Template:
    sides: dict[str, str]  # for example en and zh
    label: int = 0
    weight: float = 1.0
    parsed: dict[str, tuple[list[Token], list[tuple[str, int, int]]]] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "parsed", {side: parse(text) for side, text in self.sides.items()})

    @cached_property
    def slots(self) -> list[Token]:
        """One token per slot, in order of appearance."""
        found = {t.slot: t for tokens, _ in self.parsed.values() for t in tokens if t.slot}
        return list(found.values())

    def links(self, target: str, source: str) -> list[list[int]]:
        """For every target token the source positions it comes from."""
        given = self.parsed[source][0]
        return [
            [i for i, word in enumerate(given) if token.link and word.link == token.link]
            for token in self.parsed[target][0]
        ]


def parse(text: str) -> tuple[list[Token], list[tuple[str, int, int]]]:
    """Tokens, and spans (type, first, last)."""
    tokens: list[Token] = []
    spans: list[tuple[str, int, int]] = []
    opened: list[tuple[str, int]] = []
    for part in text.split():
        if SPAN.fullmatch(part):
            opened.append((part[1:], len(tokens)))
        elif part == "]":
            kind, start = opened.pop()
            spans.append((kind, start, len(tokens) - 1))
        else:
            tokens.append(parse_token(part))
    return tokens, spans


@lru_cache(maxsize=4096)
def parse_token(part: str) -> Token:
    word, _, link = part.partition("@")
    slot = SLOT.fullmatch(word)
    if slot is None:
        return Token(link or None, word=word)
    name = slot[1] + slot[2]
    return Token(link or name, slot=name, category=slot[1], form=slot[3])


class Grammar:
    """Templates compiled to tables, with ids for all words of all sides behind the given special tokens."""

    def __init__(self, lexicon: Lexicon, templates: list[Template], special: tuple[str, ...]):
        self.lexicon, self.templates = lexicon, templates
        used = {t.word for template in templates for tokens, _ in template.parsed.values() for t in tokens if t.word}
        forms = {(t.category, t.form) for m in templates for ts, _ in m.parsed.values() for t in ts if t.slot}
        words = used.union(*(lexicon[category][form] for category, form in forms)) - set(special)
        self.tokens = [*special, *sorted(words)]
        self.ids = {word: i for i, word in enumerate(self.tokens)}
        self.forms: dict[tuple[str, str], int] = {}  # where a form's words start in `words`
        table = list(range(len(self.tokens)))  # first every word as itself, then the forms
        for category, form in sorted(forms):
            self.forms[category, form] = len(table)
            table += [self.ids[word] for word in lexicon[category][form]]
        self.words = torch.tensor(table)
        self.weights = torch.tensor([template.weight for template in templates])
        self.labels = torch.tensor([template.label for template in templates])
        self.n_slots = max(len(template.slots) for template in templates)
        self._compile_slots()
        self.sides = {side: self._compile_side(side) for side in templates[0].sides}
        self.lengths = {side: (tables[0] >= 0).sum(1) for side, tables in self.sides.items()}

    def _compile_slots(self) -> None:
        """Per template and slot: word = (low + random below span [+ the category's first slot]) % size.

        The later slots of a category share out the distances 1 … size − 1 from the first, so that all differ.
        """
        rows = []
        for template in self.templates:
            row = [(1, 1, 0, self.n_slots)] * self.n_slots  # size, span, low, first
            for category in {token.category for token in template.slots}:
                places = [k for k, token in enumerate(template.slots) if token.category == category]
                size = len(self.lexicon[category][template.slots[places[0]].form])
                row[places[0]] = (size, size, 0, self.n_slots)
                for i, k in enumerate(places[1:]):
                    low, end = (1 + (size - 1) * (i + j) // (len(places) - 1) for j in (0, 1))
                    row[k] = (size, end - low, low, places[0])
            rows.append(row)
        self.sizes, self.span, self.low, self.first = torch.tensor(rows).unbind(-1)

    def _compile_side(self, side: str) -> tuple[Tensor, Tensor]:
        """(template, place): start in `words` (−1: no token), and the slot whose word is taken from there."""
        longest = max(len(template.parsed[side][0]) for template in self.templates)
        starts, slots = [], []
        for template in self.templates:
            order = {token.slot: k for k, token in enumerate(template.slots)}
            tokens = template.parsed[side][0]
            missing = longest - len(tokens)
            start = [
                self.forms[token.category, token.form] if token.slot else self.ids[token.word] for token in tokens
            ]
            starts.append(start + [-1] * missing)
            slots.append([order.get(token.slot, self.n_slots) for token in tokens] + [self.n_slots] * missing)
        return torch.tensor(starts), torch.tensor(slots)

    def draw(
        self, n: int, rng: torch.Generator, side: str, low: int | None = None, high: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """n templates whose `side` has from low to high tokens (or the nearest there are), and words for their slots."""
        chosen = torch.multinomial(self.allowed(side, low, high), n, replacement=True, generator=rng)
        random = torch.rand(n, self.n_slots, generator=rng)
        filled = torch.zeros(n, self.n_slots + 1, dtype=torch.long)
        filled[:, :-1] = self.low[chosen] + (random * self.span[chosen]).long()
        filled[:, :-1] = (filled[:, :-1] + filled.gather(1, self.first[chosen])) % self.sizes[chosen]
        return chosen, filled

    def allowed(self, side: str, low: int | None, high: int | None) -> Tensor:
        """Weights of the templates, 0 where too short or too long."""
        lengths = self.lengths[side]
        low, high = low or 0, high or int(lengths.max())
        away = (low - lengths).clamp(min=0) + (lengths - high).clamp(min=0)
        return self.weights * (away == away.min())

    def render(self, side: str, chosen: Tensor, filled: Tensor) -> tuple[Tensor, Tensor]:
        """(n, longest) ids and their lengths"""
        starts, slots = self.sides[side]
        lengths = self.lengths[side][chosen]
        longest = int(lengths.max())
        start = starts[chosen][:, :longest]
        ids = self.words[start.clamp(min=0) + filled.gather(1, slots[chosen][:, :longest])]
        return ids * (start >= 0), lengths

    def recognise(self, side: str, ids: list[int]) -> tuple[int, list[int]] | None:
        """Which template and words make this sentence; None: it is not one of the grammar's."""
        for row in (self.lengths[side] == len(ids)).nonzero().squeeze(1).tolist():
            filled = self._match(self.templates[row], side, ids)
            if filled is not None:
                return row, filled
        return None

    def _match(self, template: Template, side: str, ids: list[int]) -> list[int] | None:
        found: dict[str, set[int]] = {}
        for token, i in zip(template.parsed[side][0], ids, strict=True):
            if token.slot:
                fits = {k for k, w in enumerate(self.lexicon[token.category][token.form]) if w == self.tokens[i]}
                found[token.slot] = found.get(token.slot, fits) & fits
                if not found[token.slot]:
                    return None
            elif self.tokens[i] != token.word:
                return None
        return [min(found.get(token.slot, {0})) for token in template.slots] + [0] * (
            self.n_slots + 1 - len(template.slots)
        )

    def translate(self, ids: list[int], source: str, target: str) -> list[int] | None:
        found = self.recognise(source, ids)
        if found is None:
            return None
        row, filled = found
        return self.render(target, torch.tensor([row]), torch.tensor([filled]))[0][0].tolist()

    def spans(self, side: str, kinds: list[str]) -> Tensor:
        """(template, spans): each as one number, 0 where there are fewer."""
        return self.table(
            lambda template: [span_number(kinds.index(kind), i, j) for kind, i, j in template.parsed[side][1]]
        )

    def table(self, row: Callable[[Template], list[int]]) -> Tensor:
        """A list of numbers per template, padded with 0."""
        rows = [row(template) for template in self.templates]
        width = max(map(len, rows))
        return torch.tensor([numbers + [0] * (width - len(numbers)) for numbers in rows])


def bio(template: Template, side: str, kinds: list[str]) -> list[int]:
    """One tag per token: 0 outside, 2k + 1 at the beginning of kind k, 2k + 2 inside it."""
    tokens, spans = template.parsed[side]
    tags = [0] * len(tokens)
    for kind, first, last in spans:
        k = kinds.index(kind)
        tags[first : last + 1] = [2 * k + 1] + [2 * k + 2] * (last - first)
    return tags
