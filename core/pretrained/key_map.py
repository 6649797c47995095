"""Key maps between state dicts of other implementations and ours, in both directions, one rule per kind of weight.

The maps themselves are in `families/`, one file per kind of checkpoint.

A key may hold `{i}` (a layer's number), `*` (weight or bias) and `{path}` (anything); each stands for the same text
on both sides. A rule with several keys of ours is a fused weight: theirs is ours concatenated along the first axis.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce

import torch
from torch import Tensor, nn

from core.errors import InputError
from core.translatable import Text


class KeyMapError(InputError):
    """A weight that has no place, does not fit its place, or is missing."""


@dataclass(frozen=True)
class KeyRule:
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
        groups = _match(self.theirs, name)
        assert groups is not None, f"{name} does not match {self.theirs}"
        parts = value.chunk(len(self.ours))
        return {_fill(our, groups): part for our, part in zip(self.ours, parts, strict=True)}

    def to_theirs(self, parts: list[Tensor]) -> Tensor:
        value = torch.cat([part.detach() for part in parts])
        return value.T if self.transposed and value.dim() == 2 else value


@dataclass(frozen=True)
class KeyMap:
    rules: tuple[KeyRule, ...]
    aliases: tuple[tuple[str, str], ...] = ()  # theirs: another spelling → the one in `rules`
    ignored: tuple[str, ...] = ()  # theirs, but no weights: tables that can be computed
    ours_only: tuple[str, ...] = ()  # theirs has no such part; it keeps its value


def to_ours(theirs: Mapping[str, Tensor], key_map: KeyMap, model: nn.Module) -> dict[str, Tensor]:
    """Their state dict as one that `model.load_state_dict` takes. A weight left over or missing is an error.

    A weight that our model uses twice needs to be there only once; if it is there twice, both must be equal.
    """
    own = model.state_dict(keep_vars=True)
    filled: dict[int, tuple[str, Tensor]] = {}  # id of our weight → their name, the value
    for name, value in _canonicalise(theirs, key_map).items():
        for our, part in _rule_for(name, key_map).to_ours(name, value).items():
            if our not in own:
                raise KeyMapError(
                    "{name} belongs to {our}, which this model does not have.",
                    name=name,
                    our=our,
                )
            if part.shape != own[our].shape:
                raise KeyMapError(
                    "{name} gives {our} the shape {given}; it has {has}.",
                    name=name,
                    our=our,
                    given=tuple(part.shape),
                    has=tuple(own[our].shape),
                )
            if id(own[our]) in filled:
                _check_equal(name, part, *filled[id(own[our])])
            filled[id(own[our])] = name, part
    result = {}
    for our, weight in own.items():
        if id(weight) in filled:
            result[our] = filled[id(weight)][1]
        elif _matches_any(key_map.ours_only, our):
            result[our] = weight.detach()
        else:
            names = [_fill(rule.theirs, groups) for rule, groups in _rules_to(our, key_map)]
            shape = tuple(weight.shape)
            if names:
                missing = reduce(lambda one, other: Text("{one} or {other}", one=one, other=other), names)
                raise KeyMapError(
                    "Nothing fills {our} {shape}: {missing} is missing.", our=our, shape=shape, missing=missing
                )
            raise KeyMapError("Nothing fills {our} {shape}.", our=our, shape=shape)
    return result


def to_theirs(model: nn.Module, key_map: KeyMap) -> dict[str, Tensor]:
    """Our weights under their names, each weight once; tables that they compute are left out."""
    own = model.state_dict(keep_vars=True)
    result: dict[str, Tensor] = {}
    placed: dict[int, str] = {}  # id of a weight → its name: a shared weight is written once
    for rule in key_map.rules:
        for name, weight in own.items():
            if (groups := _match(rule.ours[0], name)) is not None and placed.get(id(weight), name) == name:
                parts = {our: own[our] for our in (_fill(our, groups) for our in rule.ours)}
                result[_fill(rule.theirs, groups)] = rule.to_theirs(list(parts.values()))
                placed |= {id(part): our for our, part in parts.items()}
    for name, weight in own.items():
        if id(weight) not in placed and not _matches_any(key_map.ours_only, name):
            raise KeyMapError("{name} has no place in theirs.", name=name)
    return result


def is_ignored(name: str, key_map: KeyMap) -> bool:
    """Is this entry a table that can be computed, not a weight?"""
    return _matches_any(key_map.ignored, _canonical(name, key_map))


def _canonical(name: str, key_map: KeyMap) -> str:
    """The spelling in the rules; several aliases may apply to one name."""
    for alias, canonical in key_map.aliases:
        if (groups := _match(alias, name)) is not None:
            name = _fill(canonical, groups)
    return name


def _canonicalise(theirs: Mapping[str, Tensor], key_map: KeyMap) -> dict[str, Tensor]:
    """Every weight under the name in the rules; ignored entries are left out."""
    result: dict[str, Tensor] = {}
    for name, value in theirs.items():
        canonical = _canonical(name, key_map)
        if _matches_any(key_map.ignored, canonical):
            continue
        if canonical in result:
            _check_equal(name, value, canonical, result[canonical])
        result[canonical] = value
    return result


def _rule_for(name: str, key_map: KeyMap) -> KeyRule:
    for rule in key_map.rules:
        if _match(rule.theirs, name) is not None:
            return rule
    raise KeyMapError("{name} is in no line of the map.", name=name)


def _rules_to(our: str, key_map: KeyMap) -> Iterator[tuple[KeyRule, dict[str, str]]]:
    for rule in key_map.rules:
        for pattern in rule.ours:
            if (groups := _match(pattern, our)) is not None:
                yield rule, groups


def _check_equal(name: str, value: Tensor, other: str, known: Tensor) -> None:
    """Tensors on the meta device have no numbers: only their shapes are compared."""
    equal = value.shape == known.shape if value.is_meta else torch.equal(value, known)
    if not equal:
        raise KeyMapError(
            "{name} and {other} should be the same weight, but differ.",
            name=name,
            other=other,
        )


_PLACEHOLDERS = {r"\{i\}": r"(?P<i>\d+)", r"\*": "(?P<kind>weight|bias)", r"\{path\}": "(?P<path>.+)"}


@cache
def _regex(pattern: str) -> re.Pattern:
    text = re.escape(pattern)
    for placeholder, regex in _PLACEHOLDERS.items():
        text = text.replace(placeholder, regex)
    return re.compile(text)


def _match(pattern: str, name: str) -> dict[str, str] | None:
    """The texts that the placeholders stand for; None if the name does not match."""
    match = _regex(pattern).fullmatch(name)
    return None if match is None else match.groupdict()


def _fill(pattern: str, groups: dict[str, str]) -> str:
    return pattern.replace("*", groups.get("kind", "*")).format(**groups)


def _matches_any(patterns: Iterable[str], name: str) -> bool:
    return any(_match(pattern, name) is not None for pattern in patterns)


def combine(*maps: KeyMap) -> KeyMap:
    return KeyMap(
        sum((key_map.rules for key_map in maps), ()),
        sum((key_map.aliases for key_map in maps), ()),
        sum((key_map.ignored for key_map in maps), ()),
        sum((key_map.ours_only for key_map in maps), ()),
    )


def rules(*pairs: tuple[str, str], theirs: str = "", ours: str = "", transposed: bool = False) -> tuple[KeyRule, ...]:
    """Rules from pairs (their key, our key or several with spaces between), behind the given prefixes."""
    return tuple(
        KeyRule(theirs + their, tuple(ours + name for name in names.split()), transposed) for their, names in pairs
    )
