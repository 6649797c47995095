"""Template grammars: templates with slots, compiled to tables from which batches of random sentences are drawn.

A template is a string of tokens:

    the {thing1.en} that {person1.en} {do1.past} is in@at the {place1.en} .

`{thing1.en}` is a slot: the form `en` of a word of the category `thing`; wherever the slot appears again, it is the
same word, in another form or another language. Slots of one category (thing1, thing2) hold different words.
`in@at` is a word linked to all others marked `@at`: the links of two sides are their true word alignment.
`[PER the mayor of [LOC {city1.en} ] ]` marks spans. Every token is one word, so a template's length, links and spans
are those of each of its sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from core.tasks.layouts import encode_span

Lexicon = dict[str, dict[str, list[str]]]  # category → form → words
Span = tuple[str, int, int]  # type, first token, last token
SPAN = re.compile(r"\[[A-Z]+")
SLOT = re.compile(r"\{([a-z]+)(\d*)\.(\w+)\}")


@dataclass(frozen=True)
class Token:
    """A word, or a form of a slot; tokens with the same `link` translate each other."""

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
    parsed: dict[str, tuple[list[Token], list[Span]]] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "parsed", {side: parse_template(text) for side, text in self.sides.items()})

    @cached_property
    def slots(self) -> list[Token]:
        """One token per slot, in order of appearance."""
        slots = {token.slot: token for tokens, _ in self.parsed.values() for token in tokens if token.slot}
        return list(slots.values())

    def links(self, target: str, source: str) -> list[list[int]]:
        """For every target token the positions of the source tokens with its link."""
        source_tokens = self.parsed[source][0]
        return [
            [i for i, other in enumerate(source_tokens) if token.link and other.link == token.link]
            for token in self.parsed[target][0]
        ]


class Parse(NamedTuple):
    template: int
    fillers: list[int]  # by slot, the index of its word in the category; padded with 0 to n_slots + 1


def parse_template(text: str) -> tuple[list[Token], list[Span]]:
    tokens: list[Token] = []
    spans: list[Span] = []
    open_spans: list[tuple[str, int]] = []
    for part in text.split():
        if SPAN.fullmatch(part):
            open_spans.append((part[1:], len(tokens)))
        elif part == "]":
            kind, start = open_spans.pop()
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


def choose_phrases(frame: str, choices: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Every choice of one phrase for each name that stands in the frame as a token."""
    names = [name for name in choices if name in frame.split()]
    return [dict(zip(names, phrases, strict=True)) for phrases in product(*(choices[name] for name in names))]


def fill_frame(frame: str, phrases: Mapping[str, str]) -> str:
    """The frame with its names replaced by phrases."""
    return " ".join(phrases.get(word, word) for word in frame.split())


class Grammar:
    """Templates compiled to tables; the vocabulary is the special tokens, then all words of all sides."""

    def __init__(self, lexicon: Lexicon, templates: list[Template], special: tuple[str, ...]):
        self.lexicon, self.templates = lexicon, templates
        tokens = [token for template in templates for side, _ in template.parsed.values() for token in side]
        fixed = {token.word for token in tokens if token.word}
        forms = {(token.category, token.form) for token in tokens if token.slot}
        words = fixed.union(*(lexicon[category][form] for category, form in forms)) - set(special)
        self.tokens = [*special, *sorted(words)]
        self.ids = {word: i for i, word in enumerate(self.tokens)}
        self.forms: dict[tuple[str, str], int] = {}  # offset of a form's words in `words`
        table = list(range(len(self.tokens)))  # every word by its id, then the words of each form
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
        """(template, slot) tables to draw a slot's filler: (low + random below span [+ the filler of `first`]) % size.

        The later slots of a category divide the distances 1 … size − 1 from its first slot among them, so that all
        fillers differ.
        """
        rows = []
        for template in self.templates:
            row = [(1, 1, 0, self.n_slots)] * self.n_slots  # size, span, low, first
            for category in {token.category for token in template.slots}:
                first, *later = (k for k, token in enumerate(template.slots) if token.category == category)
                size = len(self.lexicon[category][template.slots[first].form])
                row[first] = (size, size, 0, self.n_slots)
                for i, k in enumerate(later):
                    low, end = (1 + (size - 1) * (i + j) // len(later) for j in (0, 1))
                    row[k] = (size, end - low, low, first)
            rows.append(row)
        self.sizes, self.span, self.low, self.first = torch.tensor(rows).unbind(-1)

    def _compile_side(self, side: str) -> tuple[Tensor, Tensor]:
        """(template, position): offset in `words` (−1: no token), and the slot whose filler is added to it."""
        longest = max(len(template.parsed[side][0]) for template in self.templates)
        offsets, slots = [], []
        for template in self.templates:
            order = {token.slot: k for k, token in enumerate(template.slots)}
            tokens = template.parsed[side][0]
            missing = longest - len(tokens)
            row = [self.forms[token.category, token.form] if token.slot else self.ids[token.word] for token in tokens]
            offsets.append(row + [-1] * missing)
            slots.append([order.get(token.slot, self.n_slots) for token in tokens] + [self.n_slots] * missing)
        return torch.tensor(offsets), torch.tensor(slots)

    def draw(
        self, n: int, rng: torch.Generator, side: str, low: int | None = None, high: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """(n,) templates whose `side` has from low to high tokens, or the nearest lengths there are; and fillers
        (n, n_slots + 1), the index of each slot's word in its category; the last column, for fixed words, is 0.
        """
        templates = torch.multinomial(self.length_weights(side, low, high), n, replacement=True, generator=rng)
        random = torch.rand(n, self.n_slots, generator=rng)
        fillers = torch.zeros(n, self.n_slots + 1, dtype=torch.long)
        fillers[:, :-1] = self.low[templates] + (random * self.span[templates]).long()
        fillers[:, :-1] = (fillers[:, :-1] + fillers.gather(1, self.first[templates])) % self.sizes[templates]
        return templates, fillers

    def length_weights(self, side: str, low: int | None, high: int | None) -> Tensor:
        """(template,): the weights of templates with from low to high tokens, or the nearest lengths; 0 for others"""
        lengths = self.lengths[side]
        low, high = low or 0, high or int(lengths.max())
        distance = (low - lengths).clamp(min=0) + (lengths - high).clamp(min=0)
        return self.weights * (distance == distance.min())

    def render(self, side: str, templates: Tensor, fillers: Tensor) -> tuple[Tensor, Tensor]:
        """The sentences of `draw` as ids (n, longest) and their lengths."""
        side_offsets, slots = self.sides[side]
        lengths = self.lengths[side][templates]
        longest = int(lengths.max())
        offsets = side_offsets[templates][:, :longest]
        ids = self.words[offsets.clamp(min=0) + fillers.gather(1, slots[templates][:, :longest])]
        return ids * (offsets >= 0), lengths

    def parse(self, side: str, ids: list[int]) -> Parse | None:
        """The first template that makes this sentence, and its fillers; None: the grammar has no such sentence."""
        for row in (self.lengths[side] == len(ids)).nonzero().squeeze(1).tolist():
            fillers = self._match(self.templates[row], side, ids)
            if fillers is not None:
                return Parse(row, fillers)
        return None

    def _match(self, template: Template, side: str, ids: list[int]) -> list[int] | None:
        candidates: dict[str, set[int]] = {}  # by slot
        for token, i in zip(template.parsed[side][0], ids, strict=True):
            if token.slot:
                fits = {k for k, w in enumerate(self.lexicon[token.category][token.form]) if w == self.tokens[i]}
                candidates[token.slot] = candidates.get(token.slot, fits) & fits
                if not candidates[token.slot]:
                    return None
            elif self.tokens[i] != token.word:
                return None
        fillers = [min(candidates.get(token.slot, {0})) for token in template.slots]
        return fillers + [0] * (self.n_slots + 1 - len(fillers))

    def translate(self, ids: list[int], source: str, target: str) -> list[int] | None:
        parse = self.parse(source, ids)
        if parse is None:
            return None
        return self.render(target, torch.tensor([parse.template]), torch.tensor([parse.fillers]))[0][0].tolist()

    def spans(self, side: str, kinds: list[str]) -> Tensor:
        """(template, spans): each as one number (`layouts.encode_span`), padded with 0."""
        return self.table(
            lambda template: [encode_span(kinds.index(kind), i, j) for kind, i, j in template.parsed[side][1]]
        )

    def table(self, row: Callable[[Template], list[int]]) -> Tensor:
        """A list of numbers per template, padded with 0."""
        rows = [row(template) for template in self.templates]
        width = max(map(len, rows))
        return torch.tensor([numbers + [0] * (width - len(numbers)) for numbers in rows])


def bio_tags(template: Template, side: str, kinds: list[str]) -> list[int]:
    """BIO, one tag per token: 0 outside, 2k + 1 at the beginning of a span of kind k, 2k + 2 inside it."""
    tokens, spans = template.parsed[side]
    tags = [0] * len(tokens)
    for kind, first, last in spans:
        k = kinds.index(kind)
        tags[first : last + 1] = [2 * k + 1] + [2 * k + 2] * (last - first)
    return tags
