"""A model that is writing: token by token it takes what was chosen and gives the logits of what comes next.

Each keeps what the next step needs, so that nothing is computed twice: keys and values, or recurrent states. Where
that is impossible (somebody watches, attention is local or looks ahead, prefixes differ in length), the whole text is
read again at every step; the numbers are the same.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from core.capture.observers import has_observers
from core.layers.kv_cache import KVCache
from core.layers.recurrent.engine import State
from core.layers.transformer_stack import EncoderMemory, TransformerStack
from core.models import is_encoder_decoder
from core.models.recurrent import RecurrentModel
from core.models.seq2seq import RecurrentEncoding, Seq2Seq


class Writer:
    """Rows of text that grow together. `begin`, then `write` again and again; logits are (row, vocabulary)."""

    def __init__(self, model: nn.Module, ids: Tensor, lengths: Tensor | None):
        self.model, self.ids, self.lengths = model, ids, lengths

    def begin(self) -> Tensor:
        raise NotImplementedError

    def write(self, tokens: Tensor) -> Tensor:
        """tokens (row,): the next one of every row"""
        raise NotImplementedError

    def follow(self, rows: Tensor) -> None:
        """Go on with these rows: beams that survived, some of them twice."""
        raise NotImplementedError


class CachingWriter(Writer):
    """One sequence, a stack of attention: reads only what is new."""

    def begin(self) -> Tensor:
        self.past = KVCache()
        return self.read(self.ids)

    def read(self, ids: Tensor) -> Tensor:
        hidden = self.model.hidden_states(ids, cache=self.past)
        return self.model.head(hidden[:, -1:], None, None)[:, 0]

    def write(self, tokens: Tensor) -> Tensor:
        return self.read(tokens[:, None])

    def follow(self, rows: Tensor) -> None:
        self.past.select_rows(rows)


class RecurrentWriter(CachingWriter):
    """One sequence, recurrent: the state is all that must be kept."""

    def begin(self) -> Tensor:
        self.states: list[State] | None = None
        return self.read(self.ids)

    def read(self, ids: Tensor) -> Tensor:
        hidden, self.states = self.model.run(self.model.token_embedding(ids), None, self.states)
        return self.model.head(hidden[:, -1:], None, None)[:, 0]

    def follow(self, rows: Tensor) -> None:
        self.states = select_states(self.states, rows)


class Translator(Writer):
    """Source and target, a stack of attention: the source is read once. `start` (batch, time) begins the target."""

    def __init__(self, model: nn.Module, ids: Tensor, lengths: Tensor | None, start: Tensor):
        super().__init__(model, ids, lengths)
        self.memory = model.encode(ids, lengths)
        self.start = start

    def begin(self) -> Tensor:
        self.past = KVCache()
        return self.read(self.start)

    def read(self, ids: Tensor) -> Tensor:
        hidden = self.model.decoder.hidden_states(ids, memory=self.memory, cache=self.past)
        return self.model.head(hidden[:, -1:], None, None)[:, 0]

    def write(self, tokens: Tensor) -> Tensor:
        return self.read(tokens[:, None])

    def follow(self, rows: Tensor) -> None:
        self.past.select_rows(rows)
        self.memory = select_memory(self.memory, rows)


class RecurrentTranslator(Translator):
    """Source and target, recurrent."""

    def begin(self) -> Tensor:
        return self.read(self.start)

    def read(self, ids: Tensor) -> Tensor:
        hidden, states = self.model.decoder(ids, self.memory, None)
        self.memory = replace(self.memory, states=states)
        return self.model.head(hidden[:, -1:], None, None)[:, 0]

    def follow(self, rows: Tensor) -> None:
        self.memory = select_memory(self.memory, rows)


class RereadingTranslator(Translator):
    """Source and target: all that was written is read again at every step."""

    def begin(self) -> Tensor:
        self.written = self.start
        return self.read(self.written)

    def read(self, ids: Tensor) -> Tensor:
        return self.model.decode(ids, self.memory).logits[:, -1]

    def write(self, tokens: Tensor) -> Tensor:
        self.written = torch.cat([self.written, tokens[:, None]], dim=1)
        return self.read(self.written)

    def follow(self, rows: Tensor) -> None:
        self.written = self.written[rows]
        self.memory = select_memory(self.memory, rows)


class RereadingWriter(Writer):
    """One sequence, read again at every step; each row goes on where its own prefix ends."""

    def begin(self) -> Tensor:
        if self.lengths is None:
            self.lengths = torch.full((len(self.ids),), self.ids.shape[1], device=self.ids.device)
        return self.read()

    def read(self) -> Tensor:
        ids = self.ids[:, : int(self.lengths.max())]
        rows = torch.arange(len(ids), device=ids.device)
        return self.model(ids, self.lengths).logits[rows, self.lengths - 1]

    def write(self, tokens: Tensor) -> Tensor:
        room = torch.cat([self.ids, self.ids.new_zeros(len(self.ids), 1)], dim=1)
        self.ids = room.scatter(1, self.lengths[:, None], tokens[:, None])
        self.lengths = self.lengths + 1
        return self.read()

    def follow(self, rows: Tensor) -> None:
        self.ids, self.lengths = self.ids[rows], self.lengths[rows]


def make_writer(model: nn.Module, ids: Tensor, lengths: Tensor | None, start: Tensor, cache: bool) -> Writer:
    cache = cache and can_cache(model)
    if is_encoder_decoder(model):
        if not cache:
            return RereadingTranslator(model, ids, lengths, start)
        kind = RecurrentTranslator if isinstance(model, Seq2Seq) else Translator
        return kind(model, ids, lengths, start)
    if not cache or lengths is not None:
        return RereadingWriter(model, ids, lengths)
    return (RecurrentWriter if isinstance(model, RecurrentModel) else CachingWriter)(model, ids, None)


def can_cache(model: nn.Module) -> bool:
    """A model of a kind nobody told about here reads everything again at each token."""
    if has_observers(model):  # a tape wants the whole text, and an edit may name any place in it
        return False
    if isinstance(model, RecurrentModel | Seq2Seq):
        return True
    stack = getattr(model, "decoder", model)
    return isinstance(stack, TransformerStack) and stack.causal and stack.config.attention == "full"


def select_states(states: list[State], rows: Tensor) -> list[State]:
    return [tuple(part[rows] for part in state) for state in states]


def select_memory(memory: EncoderMemory | RecurrentEncoding, rows: Tensor) -> EncoderMemory | RecurrentEncoding:
    if isinstance(memory, EncoderMemory):
        return EncoderMemory(
            memory.hidden[rows], None if memory.lengths is None else memory.lengths[rows], memory.positions
        )
    mask = None if memory.mask is None else memory.mask[rows]
    return RecurrentEncoding(memory.outputs[rows], mask, select_states(memory.states, rows))
