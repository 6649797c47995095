"""Where the weights of other people's models belong in ours, and back, declared one line per kind of weight.

A name may hold `{i}` (a layer's number), `*` (weight or bias) and `{path}` (anything); each stands for the same text
on both sides. A line with several names of ours is a fused weight: theirs is ours stacked on top of each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn


class KeyMapError(ValueError):
    """A weight that has no place, does not fit its place, or is missing."""


@dataclass(frozen=True)
class Line:
    theirs: str
    ours: tuple[str, ...]
    transposed: bool = False  # they keep matrices as (in, out), we as (out, in)

    def to_ours(self, name: str, value: Tensor) -> dict[str, Tensor]:
        value = value.T if self.transposed and value.dim() == 2 else value
        if len(value) % len(self.ours):
            raise KeyMapError(f"{name} {tuple(value.shape)} cannot be split into {len(self.ours)} equal parts.")
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
                raise KeyMapError(f"{name} belongs to {our}, which this model does not have.")
            if part.shape != own[our].shape:
                raise KeyMapError(
                    f"{name} gives {our} the shape {tuple(part.shape)}; it has {tuple(own[our].shape)}."
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
            raise KeyMapError(f"Nothing fills {our} {tuple(weight.shape)}.")
    return result


def to_theirs(model: nn.Module, key_map: KeyMap) -> dict[str, Tensor]:
    """Our weights under their names, each spelled once; what they compute themselves is left out."""
    own = model.state_dict(keep_vars=True)
    result: dict[str, Tensor] = {}
    placed: set[int] = set()  # by identity: a second name of ours for the same weight needs no line
    for line in key_map.lines:
        for name in own:
            if (found := _match(line.ours[0], name)) is not None:
                parts = [own[_fill(our, found)] for our in line.ours]
                result[_fill(line.theirs, found)] = line.to_theirs(parts)
                placed.update(map(id, parts))
    for name, weight in own.items():
        if id(weight) not in placed and not _any(key_map.ours_only, name):
            raise KeyMapError(f"{name} has no place in theirs.")
    return result


def _spelled_alike(theirs: Mapping[str, Tensor], key_map: KeyMap) -> dict[str, Tensor]:
    """Without what is ignored, every weight under the name its line knows."""
    result: dict[str, Tensor] = {}
    for name, value in theirs.items():
        meanings = (
            _fill(meant, found) for alias, meant in key_map.aliases if (found := _match(alias, name)) is not None
        )
        canonical = next(meanings, name)
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
    raise KeyMapError(f"{name} is in no line of the map.")


def _check_equal(name: str, value: Tensor, other: str, known: Tensor) -> None:
    if not torch.equal(value, known):
        raise KeyMapError(f"{name} and {other} should be the same weight, but differ.")


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


def lines(*pairs: tuple[str, str], theirs: str = "", ours: str = "", transposed: bool = False) -> tuple[Line, ...]:
    """Lines from pairs (their name, our name or names with spaces between), behind the prefixes given."""
    return tuple(
        Line(theirs + their, tuple(ours + name for name in names.split()), transposed) for their, names in pairs
    )


# ---------------------------------------------------------------------------------------------- BERT and RoFormer


def _bert_trunk(prefix: str) -> tuple[Line, ...]:
    return lines(
        ("embeddings.word_embeddings.weight", "token_embedding.weight"),
        ("embeddings.token_type_embeddings.weight", "segment_embedding.weight"),
        ("embeddings.LayerNorm.*", "embedding_norm.*"),
        ("encoder.layer.{i}.attention.self.query.*", "blocks.{i}.attn.q_proj.*"),
        ("encoder.layer.{i}.attention.self.key.*", "blocks.{i}.attn.k_proj.*"),
        ("encoder.layer.{i}.attention.self.value.*", "blocks.{i}.attn.v_proj.*"),
        ("encoder.layer.{i}.attention.output.dense.*", "blocks.{i}.attn.out_proj.*"),
        ("encoder.layer.{i}.attention.output.LayerNorm.*", "blocks.{i}.attn_norm.*"),
        ("encoder.layer.{i}.intermediate.dense.*", "blocks.{i}.ff.in_proj.*"),
        ("encoder.layer.{i}.output.dense.*", "blocks.{i}.ff.out_proj.*"),
        ("encoder.layer.{i}.output.LayerNorm.*", "blocks.{i}.ff_norm.*"),
        theirs=prefix,
    )


_BERT_POSITIONS = lines(("bert.embeddings.position_embeddings.weight", "position_embedding.weight"))
_BERT_POOLER = lines(("bert.pooler.dense.*", "pooler.*"))
_MASKED_TOKENS = lines(
    ("cls.predictions.transform.dense.*", "head.dense.*"),
    ("cls.predictions.transform.LayerNorm.*", "head.norm.*"),
    ("cls.predictions.decoder.weight", "head.proj.weight"),
    ("cls.predictions.bias", "head.proj.bias"),
)
_NEXT_SENTENCE = lines(("cls.seq_relationship.*", "next_sentence.*"))
_CLASSIFIER = lines(("classifier.*", "head.proj.*"))
_ANSWER = lines(("qa_outputs.*", "head.proj.*"))

_BERT_ALIASES = (
    ("{path}.LayerNorm.gamma", "{path}.LayerNorm.weight"),  # as the first checkpoints were written
    ("{path}.LayerNorm.beta", "{path}.LayerNorm.bias"),
    ("cls.predictions.decoder.bias", "cls.predictions.bias"),
)


def _bert(*parts: tuple[Line, ...], ours_only: tuple[str, ...] = ()) -> KeyMap:
    every_line = sum(parts, start=_bert_trunk("bert.") + _BERT_POSITIONS)
    return KeyMap(every_line, _BERT_ALIASES, ignored=("bert.embeddings.position_ids",), ours_only=ours_only)


BERT = _bert(_BERT_POOLER, _MASKED_TOKENS, _NEXT_SENTENCE)
BERT_CLASSIFIER = _bert(_BERT_POOLER, _CLASSIFIER)
BERT_TAGGER = _bert(_CLASSIFIER, ours_only=("pooler.*",))
BERT_QA = _bert(_ANSWER, ours_only=("pooler.*",))

ROFORMER = KeyMap(
    _bert_trunk("roformer.") + _MASKED_TOKENS,
    _BERT_ALIASES,
    ignored=("roformer.encoder.embed_positions.weight",),
    ours_only=("pooler.*", "next_sentence.*"),
)

# ---------------------------------------------------------------------------------------------------------- GPT-2

GPT2 = KeyMap(
    lines(
        ("transformer.wte.weight", "token_embedding.weight"),
        ("transformer.wpe.weight", "position_embedding.weight"),
        ("transformer.h.{i}.ln_1.*", "blocks.{i}.attn_norm.*"),
        ("transformer.h.{i}.ln_2.*", "blocks.{i}.ff_norm.*"),
        ("transformer.ln_f.*", "final_norm.*"),
        ("lm_head.weight", "head.proj.weight"),
    )
    + lines(
        ("attn.c_attn.*", "attn.q_proj.* attn.k_proj.* attn.v_proj.*"),
        ("attn.c_proj.*", "attn.out_proj.*"),
        ("mlp.c_fc.*", "ff.in_proj.*"),
        ("mlp.c_proj.*", "ff.out_proj.*"),
        theirs="transformer.h.{i}.",
        ours="blocks.{i}.",
        transposed=True,
    ),
    aliases=(  # as the first checkpoints were written
        ("wte.weight", "transformer.wte.weight"),
        ("wpe.weight", "transformer.wpe.weight"),
        ("h.{i}.{path}", "transformer.h.{i}.{path}"),
        ("ln_f.*", "transformer.ln_f.*"),
    ),
    ignored=("transformer.h.{i}.attn.bias", "transformer.h.{i}.attn.masked_bias"),  # the causal mask
)

# ------------------------------------------------------------------------------------------------------------- T5


_T5_SELF = (
    ("layer.0.SelfAttention.q.weight", "attn.q_proj.weight"),
    ("layer.0.SelfAttention.k.weight", "attn.k_proj.weight"),
    ("layer.0.SelfAttention.v.weight", "attn.v_proj.weight"),
    ("layer.0.SelfAttention.o.weight", "attn.out_proj.weight"),
    ("layer.0.layer_norm.weight", "attn_norm.weight"),
)
_T5_CROSS = (
    ("layer.1.EncDecAttention.q.weight", "cross.q_proj.weight"),
    ("layer.1.EncDecAttention.k.weight", "cross.k_proj.weight"),
    ("layer.1.EncDecAttention.v.weight", "cross.v_proj.weight"),
    ("layer.1.EncDecAttention.o.weight", "cross.out_proj.weight"),
    ("layer.1.layer_norm.weight", "cross_norm.weight"),
)
_T5_PLAIN = (
    ("DenseReluDense.wi.weight", "ff.in_proj.weight"),
    ("DenseReluDense.wo.weight", "ff.out_proj.weight"),
    ("layer_norm.weight", "ff_norm.weight"),
)
_T5_GATED = (
    ("DenseReluDense.wi_0.weight", "ff.gate_proj.weight"),
    ("DenseReluDense.wi_1.weight", "ff.in_proj.weight"),
    *_T5_PLAIN[1:],
)


def _at(place: str, pairs: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [(place + theirs, ours) for theirs, ours in pairs]


def _t5(feedforward: tuple[tuple[str, str], ...]) -> KeyMap:
    encoder = {"theirs": "encoder.block.{i}.", "ours": "encoder.blocks.{i}."}
    decoder = {"theirs": "decoder.block.{i}.", "ours": "decoder.blocks.{i}."}
    bias = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    return KeyMap(
        lines(
            ("shared.weight", "encoder.token_embedding.weight"),  # which our decoder uses too
            (f"encoder.{bias}", "encoder.position.table.weight"),
            (f"decoder.{bias}", "decoder.position.table.weight"),
            ("encoder.final_layer_norm.weight", "encoder.final_norm.weight"),
            ("decoder.final_layer_norm.weight", "decoder.final_norm.weight"),
            ("lm_head.weight", "head.proj.weight"),
        )
        + lines(*_T5_SELF, **encoder)
        + lines(*_at("layer.1.", feedforward), **encoder)
        + lines(*_T5_SELF, *_T5_CROSS, **decoder)
        + lines(*_at("layer.2.", feedforward), **decoder),
        aliases=(
            ("encoder.embed_tokens.weight", "shared.weight"),
            ("decoder.embed_tokens.weight", "shared.weight"),
        ),
        # Written by an early version, never used.
        ignored=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),
    )


T5 = _t5(_T5_PLAIN)  # v1.0
T5_GATED = _t5(_T5_GATED)  # v1.1, Flan
