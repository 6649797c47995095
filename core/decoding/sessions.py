"""Decoding sessions: a model with the state that incremental decoding needs, from chosen tokens to the next logits.

The state is a KV cache or recurrent states, so that nothing is computed twice. Where that is impossible (a tape or an
edit observes the model, attention is local or not causal, prompts differ in length), the uncached sessions run the
model on the full text for every token; the numbers are the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from core.capture.observers import has_observers
from core.layers.kv_cache import KVCache
from core.layers.recurrent.engine import State
from core.layers.transformer_stack import EncoderMemory, Stack
from core.models import Output, is_encoder_decoder
from core.models.recurrent import RecurrentModel
from core.models.seq2seq import RecurrentEncoding, Seq2Seq


class EncoderDecoder(Protocol):
    """The part of a two-sequence model that decoding uses."""

    head: nn.Module
    decoder: Any  # a Stack, or a recurrent decoder

    def encode(self, src: Tensor, lengths: Tensor | None = None) -> Any: ...

    def decode(self, tgt: Tensor, memory: Any, lengths: Tensor | None = None) -> Output: ...


class DecodingSession:
    """Rows of text that grow together: `prefill` once, then `append` per token; both return logits (row, vocabulary)."""

    def __init__(self, ids: Tensor):
        self.ids = ids

    def prefill(self) -> Tensor:
        """Read the prompt."""
        raise NotImplementedError

    def append(self, tokens: Tensor) -> Tensor:
        """tokens (row,): the next one of every row"""
        return self.read(tokens[:, None])

    def read(self, ids: Tensor) -> Tensor:
        """The logits behind the last of the ids, (row, time)."""
        raise NotImplementedError

    def reorder(self, rows: Tensor) -> None:
        """Continue with these rows: the surviving beams, some of them repeated."""
        raise NotImplementedError


class CachedSession(DecodingSession):
    """One sequence, attention: reads only new tokens, keys and values of the others are cached."""

    def __init__(self, model: nn.Module, ids: Tensor):
        super().__init__(ids)
        assert isinstance(model, Stack)
        self.model, self.head = model, model.get_submodule("head")

    def prefill(self) -> Tensor:
        self.cache = KVCache()
        return self.read(self.ids)

    def read(self, ids: Tensor) -> Tensor:
        hidden = self.model.hidden_states(ids, cache=self.cache)
        return self.head(hidden[:, -1:], None, None)[:, 0]

    def reorder(self, rows: Tensor) -> None:
        self.cache.select_rows(rows)


class RecurrentSession(DecodingSession):
    """One sequence, recurrent: keeps the states of all layers."""

    def __init__(self, model: RecurrentModel, ids: Tensor):
        super().__init__(ids)
        self.model = model
        self.states: list[State] | None = None

    def prefill(self) -> Tensor:
        self.states = None
        return self.read(self.ids)

    def read(self, ids: Tensor) -> Tensor:
        hidden, self.states = self.model.run(self.model.token_embedding(ids), None, self.states)
        return self.model.head(hidden[:, -1:], None, None)[:, 0]

    def reorder(self, rows: Tensor) -> None:
        assert self.states is not None
        self.states = select_states(self.states, rows)


class Seq2SeqSession(DecodingSession):
    """Source and target, attention: the source is encoded once. `start` (batch, time) begins the target."""

    def __init__(self, model: EncoderDecoder, ids: Tensor, lengths: Tensor | None, start: Tensor):
        super().__init__(ids)
        self.model, self.start = model, start
        self.memory = model.encode(ids, lengths)

    def prefill(self) -> Tensor:
        self.cache = KVCache()
        return self.read(self.start)

    def read(self, ids: Tensor) -> Tensor:
        hidden = self.model.decoder.hidden_states(ids, memory=self.memory, cache=self.cache)
        return self.model.head(hidden[:, -1:], None, None)[:, 0]

    def reorder(self, rows: Tensor) -> None:
        self.cache.select_rows(rows)
        self.memory = select_memory(self.memory, rows)


class RecurrentSeq2SeqSession(Seq2SeqSession):
    """Source and target, recurrent: keeps the decoder's states."""

    def prefill(self) -> Tensor:
        return self.read(self.start)

    def read(self, ids: Tensor) -> Tensor:
        hidden, states = self.model.decoder(ids, self.memory, None)
        self.memory = replace(self.memory, states=states)
        return self.model.head(hidden[:, -1:], None, None)[:, 0]

    def reorder(self, rows: Tensor) -> None:
        self.memory = select_memory(self.memory, rows)


class UncachedSeq2SeqSession(Seq2SeqSession):
    """Source and target: the full target is decoded again for every token."""

    def prefill(self) -> Tensor:
        self.target = self.start
        return self.read(self.target)

    def read(self, ids: Tensor) -> Tensor:
        return self.model.decode(ids, self.memory).logits[:, -1]

    def append(self, tokens: Tensor) -> Tensor:
        self.target = torch.cat([self.target, tokens[:, None]], dim=1)
        return self.read(self.target)

    def reorder(self, rows: Tensor) -> None:
        self.target = self.target[rows]
        self.memory = select_memory(self.memory, rows)


class UncachedSession(DecodingSession):
    """One sequence, run again for every token; each row continues where its own prompt ends."""

    def __init__(self, model: nn.Module, ids: Tensor, lengths: Tensor | None):
        if lengths is None:
            lengths = torch.full((len(ids),), ids.shape[1], device=ids.device)
        super().__init__(ids)
        self.model, self.lengths = model, lengths

    def prefill(self) -> Tensor:
        return self.read(self.ids)

    def read(self, ids: Tensor) -> Tensor:
        ids = ids[:, : int(self.lengths.max())]
        rows = torch.arange(len(ids), device=ids.device)
        return self.model(ids, self.lengths).logits[rows, self.lengths - 1]

    def append(self, tokens: Tensor) -> Tensor:
        longer = torch.cat([self.ids, self.ids.new_zeros(len(self.ids), 1)], dim=1)
        self.ids = longer.scatter(1, self.lengths[:, None], tokens[:, None])
        self.lengths = self.lengths + 1
        return self.read(self.ids)

    def reorder(self, rows: Tensor) -> None:
        self.ids, self.lengths = self.ids[rows], self.lengths[rows]


def make_session(
    model: nn.Module, ids: Tensor, lengths: Tensor | None, start: Tensor, cache: bool
) -> DecodingSession:
    """`start` begins the target of an encoder–decoder; other models continue `ids`."""
    cache = cache and can_cache(model)
    if is_encoder_decoder(model):
        pair = cast("EncoderDecoder", model)
        if not cache:
            return UncachedSeq2SeqSession(pair, ids, lengths, start)
        kind = RecurrentSeq2SeqSession if isinstance(model, Seq2Seq) else Seq2SeqSession
        return kind(pair, ids, lengths, start)
    if not cache or lengths is not None:
        return UncachedSession(model, ids, lengths)
    return RecurrentSession(model, ids) if isinstance(model, RecurrentModel) else CachedSession(model, ids)


def can_cache(model: nn.Module) -> bool:
    """Can the model decode incrementally? False for a family of an unknown kind."""
    if has_observers(model):  # a tape needs the activations of the full text, and an edit may name any position in it
        return False
    if isinstance(model, RecurrentModel | Seq2Seq):
        return True
    stack = getattr(model, "decoder", model)
    return isinstance(stack, Stack) and stack.causal and stack.config.attention == "full"


def select_states(states: list[State], rows: Tensor) -> list[State]:
    return [tuple(part[rows] for part in state) for state in states]


def select_memory(memory: EncoderMemory | RecurrentEncoding, rows: Tensor) -> EncoderMemory | RecurrentEncoding:
    """The encoder's output for these rows of the batch."""
    if isinstance(memory, EncoderMemory):
        return EncoderMemory(
            memory.hidden[rows], None if memory.lengths is None else memory.lengths[rows], memory.positions
        )
    mask = None if memory.mask is None else memory.mask[rows]
    return RecurrentEncoding(memory.outputs[rows], mask, select_states(memory.states, rows))
