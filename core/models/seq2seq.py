"""Recurrent encoder–decoder, with or without attention.

*none*: the decoder gets the encoder's last states and nothing else (Sutskever et al. 2014): the bottleneck.
*bahdanau*: the previous state looks back at the source, and what it finds enters the next step and its output.
*luong-…*: the new state looks back, and what it finds enters the output only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.capture.tape import Steps, tap
from core.config.families import Seq2SeqConfig
from core.layers.linear import Linear
from core.layers.masks import check_input, check_pair, padding_mask
from core.layers.recurrent.alignment import ALIGNMENTS
from core.layers.recurrent.cells import Recurrent
from core.layers.recurrent.engine import State, running_steps
from core.layers.task_heads.heads import TokenHead
from core.models.output import Output
from core.models.recurrent import PAD

Unrolled = tuple[Tensor, list[State]]


@dataclass(frozen=True)
class Encoded:
    """What the decoder gets: the source's outputs, which of them are padding, and its own first states."""

    outputs: Tensor  # (batch, source, unit)
    mask: Tensor | None  # (batch, 1, 1, source)
    states: list[State]


class Encoder(Recurrent):
    """Both directions together are as wide as the decoder, so that its states can start where these end."""

    def __init__(self, config: Seq2SeqConfig):
        width = config.d_hidden // (2 if config.bidirectional else 1)
        super().__init__(
            config.cell,
            config.d_embed,
            width,
            config.n_layers,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
            engine=config.engine,
        )
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_embed, padding_idx=PAD)

    def forward(self, src: Tensor, lengths: Tensor | None) -> Encoded:
        x = tap(self, "embed", self.token_embedding(src))  # (batch, source, d_embed)
        outputs, states = self.run(self.dropout(x), lengths, need_state=True)
        return Encoded(outputs, None if lengths is None else padding_mask(lengths, src.shape[1]), states)


class Decoder(Recurrent):
    """Without attention: only the first states know of the source."""

    d_extra = 0  # what enters each step besides the token

    def __init__(self, config: Seq2SeqConfig):
        super().__init__(
            config.cell,
            config.d_embed + self.d_extra * config.d_hidden,
            config.d_hidden,
            config.n_layers,
            dropout=config.dropout,
            engine=config.engine,
        )
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_embed, padding_idx=PAD)
        self.cross = ALIGNMENTS[config.attention](config.d_hidden) if config.attention in ALIGNMENTS else None

    def forward(self, tgt: Tensor, encoded: Encoded, lengths: Tensor | None) -> Unrolled:
        """(batch, target) ids → (batch, target, unit), and the states to go on from if nothing was padding"""
        x = tap(self, "embed", self.token_embedding(tgt))
        return self.unroll(self.dropout(x), encoded, lengths)

    def unroll(self, x: Tensor, encoded: Encoded, lengths: Tensor | None) -> Unrolled:
        return self.run(x, lengths, encoded.states)


class AttentiveDecoder(Decoder):
    """What is said comes from the state and what it found in the source: tanh(W_c [context; h])."""

    def __init__(self, config: Seq2SeqConfig):
        super().__init__(config)
        self.mix = Linear(2 * config.d_hidden, config.d_hidden, bias=False)


class LuongDecoder(AttentiveDecoder):
    """The recurrence runs as if alone, then every state looks back (Luong et al. 2015)."""

    def unroll(self, x: Tensor, encoded: Encoded, lengths: Tensor | None) -> Unrolled:
        hidden, states = super().unroll(x, encoded, lengths)
        prepared = self.cross.prepare(encoded.outputs)
        context = self.cross(hidden, encoded.outputs, prepared, encoded.mask, partial(tap, self.cross))
        return torch.tanh(self.mix(torch.cat([context, hidden], dim=-1))), states


class BahdanauDecoder(AttentiveDecoder):
    """[token; context] → cell: each step looks back first, and waits for the one before (Bahdanau et al. 2015)."""

    d_extra = 1

    def unroll(self, x: Tensor, encoded: Encoded, lengths: Tensor | None) -> Unrolled:
        time = x.shape[1]
        states, mixed = encoded.states, []
        prepared = self.cross.prepare(encoded.outputs)
        running = [None] * time if lengths is None else running_steps(lengths, time)
        looks = Steps(self.cross, time)
        seen = [Steps(layer.fwd, time) for layer in self.layers]
        for t in range(time):
            for steps in (looks, *seen):
                steps.time, steps.running = t, running[t]
            top = states[-1][0][:, None]  # (batch, 1, unit): the query is the state before this step
            context = self.cross(top, encoded.outputs, prepared, encoded.mask, partial(_one_step, looks))[:, 0]
            states = self.climb(torch.cat([x[:, t], context], dim=-1), states, seen)
            mixed.append(torch.cat([context, states[-1][0]], dim=-1))
        for steps in (looks, *seen):
            steps.close()
        return torch.tanh(self.mix(torch.stack(mixed, dim=1))), states

    def climb(self, x: Tensor, states: list[State], seen: list[Steps]) -> list[State]:
        """One time step through all layers; x (batch, d_embed + unit)."""
        new = []
        for i, (layer, state, see) in enumerate(zip(self.layers, states, seen, strict=True)):
            x = self.dropout(x) if i else x
            new.append(layer.fwd.step(F.linear(x, layer.fwd.weight_ih_l0, layer.fwd.bias_ih_l0), state, see))
            x = new[-1][0]
        return new


class Seq2Seq(nn.Module):
    """p(target | source): one recurrent network reads, another writes (Sutskever et al. 2014; Bahdanau et al. 2015).

    `tgt` is the decoder's input: the target behind a start token (teacher forcing).
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = make_decoder(config)
        self.head = TokenHead(config.d_hidden, config.vocab_size)

    def forward(
        self, src: Tensor, tgt: Tensor, src_lengths: Tensor | None = None, tgt_lengths: Tensor | None = None
    ) -> Output:
        return self.decode(tgt, self.encode(src, src_lengths), tgt_lengths)

    def encode(self, src: Tensor, lengths: Tensor | None = None) -> Encoded:
        lengths = check_input(src, lengths, self.config.vocab_size, self.config.max_len)
        return self.encoder(src.long(), lengths)

    def decode(self, tgt: Tensor, memory: Encoded, lengths: Tensor | None = None) -> Output:
        lengths = check_input(tgt, lengths, self.config.vocab_size, self.config.max_len)
        check_pair(len(memory.outputs), len(tgt))
        hidden, _ = self.decoder(tgt.long(), memory, lengths)
        return Output(logits=tap(self, "logits", self.head(hidden, None, lengths)), hidden=hidden)


def make_decoder(config: Seq2SeqConfig) -> Decoder:
    if config.attention == "none":
        return Decoder(config)
    return BahdanauDecoder(config) if config.attention == "bahdanau" else LuongDecoder(config)


def _one_step(steps: Steps, point: str, value: Tensor) -> Tensor:
    """A tap of (batch, 1, 1, …), whose query dimension is this very step."""
    return steps(point, value.squeeze(2)).unsqueeze(2)
