"""Where the weights of other people's models belong in ours, and back, declared one line per kind of weight.

A name may hold `{i}` (a layer's number), `*` (weight or bias) and `{path}` (anything); each stands for the same text
on both sides. A line with several names of ours is a fused weight: theirs is ours stacked on top of each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce

import torch
from torch import Tensor, nn

from core.errors import InputError
from core.messages import Text


class KeyMapError(InputError):
    """A weight that has no place, does not fit its place, or is missing."""


@dataclass(frozen=True)
class Line:
    theirs: str
    ours: tuple[str, ...]
    transposed: bool = False  # they keep matrices as (in, out), we as (out, in)

    def to_ours(self, name: str, value: Tensor) -> dict[str, Tensor]:
        value = value.T if self.transposed and value.dim() == 2 else value
        if len(value) % len(self.ours):
            shape, count = tuple(value.shape), len(self.ours)
            raise KeyMapError(
                "{name} {shape} cannot be split into {count} equal parts.", name=name, shape=shape, count=count
            )
        found = _match(self.theirs, name)
        parts = value.chunk(len(self.ours))
        return {_fill(our, found): part for our, part in zip(self.ours, parts, strict=True)}

    def to_theirs(self, parts: list[Tensor]) -> Tensor:
        value = torch.cat([part.detach() for part in parts])
        return value.T if self.transposed and value.dim() == 2 else value


@dataclass(frozen=True)
class KeyMap:
    lines: tuple[Line, ...]
    aliases: tuple[tuple[str, str], ...] = ()  # theirs, other spelling → the one in `lines`: the same tensor again
    ignored: tuple[str, ...] = ()  # theirs, but no weights: tables that can be computed
    ours_only: tuple[str, ...] = ()  # theirs has no such part; it stays as it is


def to_ours(theirs: Mapping[str, Tensor], key_map: KeyMap, model: nn.Module) -> dict[str, Tensor]:
    """Their state dict as one that `model.load_state_dict` takes. Whatever is left over or missing is an error.

    A weight that our model uses twice needs to be there only once; if it is there twice, both must be equal.
    """
    own = model.state_dict(keep_vars=True)
    filled: dict[int, tuple[str, Tensor]] = {}  # by the identity of our weight: their name, the value
    for name, value in _spelled_alike(theirs, key_map).items():
        for our, part in _line_for(name, key_map).to_ours(name, value).items():
            if our not in own:
                raise KeyMapError(
                    "{name} belongs to {our}, which this model does not have.",
                    name=name,
                    our=our,
                )
            if part.shape != own[our].shape:
                given, has = tuple(part.shape), tuple(own[our].shape)
                raise KeyMapError(
                    "{name} gives {our} the shape {given}; it has {has}.",
                    name=name,
                    our=our,
                    given=given,
                    has=has,
                )
            if id(own[our]) in filled:
                _check_equal(name, part, *filled[id(own[our])])
            filled[id(own[our])] = name, part
    result = {}
    for our, weight in own.items():
        if id(weight) in filled:
            result[our] = filled[id(weight)][1]
        elif _any(key_map.ours_only, our):
            result[our] = weight.detach()
        else:
            names = [_fill(line.theirs, found) for line, found in _lines_to(our, key_map)]
            shape = tuple(weight.shape)
            if names:
                missing = reduce(lambda one, other: Text("{one} or {other}", one=one, other=other), names)
                raise KeyMapError(
                    "Nothing fills {our} {shape}: {missing} is missing.", our=our, shape=shape, missing=missing
                )
            raise KeyMapError("Nothing fills {our} {shape}.", our=our, shape=shape)
    return result


def to_theirs(model: nn.Module, key_map: KeyMap) -> dict[str, Tensor]:
    """Our weights under their names, each weight once; what they compute themselves is left out."""
    own = model.state_dict(keep_vars=True)
    result: dict[str, Tensor] = {}
    placed: dict[int, str] = {}  # by identity: a second name of ours for the same weight is not written again
    for line in key_map.lines:
        for name, weight in own.items():
            if (found := _match(line.ours[0], name)) is not None and placed.get(id(weight), name) == name:
                parts = {our: own[our] for our in (_fill(our, found) for our in line.ours)}
                result[_fill(line.theirs, found)] = line.to_theirs(list(parts.values()))
                placed |= {id(part): our for our, part in parts.items()}
    for name, weight in own.items():
        if id(weight) not in placed and not _any(key_map.ours_only, name):
            raise KeyMapError("{name} has no place in theirs.", name=name)
    return result


def is_ignored(name: str, key_map: KeyMap) -> bool:
    """Is it no weight, but a table that can be computed?"""
    return _any(key_map.ignored, _canonical(name, key_map))


def _canonical(name: str, key_map: KeyMap) -> str:
    """The spelling that the lines know; a name may be unusual in more than one way."""
    for alias, meant in key_map.aliases:
        if (found := _match(alias, name)) is not None:
            name = _fill(meant, found)
    return name


def _spelled_alike(theirs: Mapping[str, Tensor], key_map: KeyMap) -> dict[str, Tensor]:
    """Without what is ignored, every weight under the name its line knows."""
    result: dict[str, Tensor] = {}
    for name, value in theirs.items():
        canonical = _canonical(name, key_map)
        if _any(key_map.ignored, canonical):
            continue
        if canonical in result:
            _check_equal(name, value, canonical, result[canonical])
        result[canonical] = value
    return result


def _line_for(name: str, key_map: KeyMap) -> Line:
    for line in key_map.lines:
        if _match(line.theirs, name) is not None:
            return line
    raise KeyMapError("{name} is in no line of the map.", name=name)


def _lines_to(our: str, key_map: KeyMap) -> Iterator[tuple[Line, dict[str, str]]]:
    for line in key_map.lines:
        for pattern in line.ours:
            if (found := _match(pattern, our)) is not None:
                yield line, found


def _check_equal(name: str, value: Tensor, other: str, known: Tensor) -> None:
    """Of tensors on the meta device, which have no numbers, only the shapes."""
    equal = value.shape == known.shape if value.is_meta else torch.equal(value, known)
    if not equal:
        raise KeyMapError(
            "{name} and {other} should be the same weight, but differ.",
            name=name,
            other=other,
        )


_PLACES = {r"\{i\}": r"(?P<i>\d+)", r"\*": "(?P<kind>weight|bias)", r"\{path\}": "(?P<path>.+)"}


@cache
def _regex(pattern: str) -> re.Pattern:
    text = re.escape(pattern)
    for place, regex in _PLACES.items():
        text = text.replace(place, regex)
    return re.compile(text)


def _match(pattern: str, name: str) -> dict[str, str] | None:
    found = _regex(pattern).fullmatch(name)
    return None if found is None else found.groupdict()


def _fill(pattern: str, found: dict[str, str]) -> str:
    return pattern.replace("*", found.get("kind", "*")).format(**found)


def _any(patterns: Iterable[str], name: str) -> bool:
    return any(_match(pattern, name) is not None for pattern in patterns)


def combined(*maps: KeyMap) -> KeyMap:
    return KeyMap(
        sum((one.lines for one in maps), ()),
        sum((one.aliases for one in maps), ()),
        sum((one.ignored for one in maps), ()),
        sum((one.ours_only for one in maps), ()),
    )


def lines(*pairs: tuple[str, str], theirs: str = "", ours: str = "", transposed: bool = False) -> tuple[Line, ...]:
    """Lines from pairs (their name, our name or names with spaces between), behind the prefixes given."""
    return tuple(
        Line(theirs + their, tuple(ours + name for name in names.split()), transposed) for their, names in pairs
    )
