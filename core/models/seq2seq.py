"""Recurrent encoder–decoder, with or without attention.

*none*: the decoder gets the encoder's last states and nothing else (Sutskever et al. 2014): the bottleneck.
*bahdanau*: the previous state is the query; the context enters the next state and its output.
*luong-…*: the new state is the query; the context enters the output only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.capture.taps import RecurrentTap, tap
from core.config.families import Seq2SeqConfig
from core.layers.input_checks import check_input, check_pair
from core.layers.linear import Linear
from core.layers.masks import padding_mask
from core.layers.recurrent.alignment import ALIGNMENTS
from core.layers.recurrent.cells import BidirectionalLayer, RecurrentStack
from core.layers.recurrent.engine import RecurrentLayer, State, active_masks
from core.layers.task_heads.heads import TokenHead
from core.models.output import Output
from core.models.recurrent import PAD

OutputsStates = tuple[Tensor, list[State]]  # (batch, time, unit), last states per layer


@dataclass(frozen=True)
class RecurrentEncoding:
    """The encoder's outputs, their padding mask, and the decoder's initial states."""

    outputs: Tensor  # (batch, source, unit)
    mask: Tensor | None  # (batch, 1, 1, source)
    states: list[State]


class Encoder(RecurrentStack):
    """Both directions together are as wide as the decoder, whose initial states are the last states of this."""

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

    def forward(self, src: Tensor, lengths: Tensor | None) -> RecurrentEncoding:
        x = tap(self, "embed", self.token_embedding(src))  # (batch, source, d_embed)
        outputs, states = self.run(self.dropout(x), lengths, need_state=True)
        return RecurrentEncoding(outputs, None if lengths is None else padding_mask(lengths, src.shape[1]), states)


class Decoder(RecurrentStack):
    """Without attention: the source reaches the decoder through the initial states only."""

    n_contexts: ClassVar[int] = 0  # vectors of width d_hidden in a cell's input besides the token

    def __init__(self, config: Seq2SeqConfig):
        super().__init__(
            config.cell,
            config.d_embed + self.n_contexts * config.d_hidden,
            config.d_hidden,
            config.n_layers,
            dropout=config.dropout,
            engine=config.engine,
        )
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_embed, padding_idx=PAD)
        self.cross = ALIGNMENTS[config.attention](config.d_hidden) if config.attention in ALIGNMENTS else None

    def forward(self, tgt: Tensor, encoding: RecurrentEncoding, lengths: Tensor | None) -> OutputsStates:
        """(batch, target) ids → (batch, target, unit), and the states to continue from if there is no padding"""
        x = tap(self, "embed", self.token_embedding(tgt))
        return self.unroll(self.dropout(x), encoding, lengths)

    def unroll(self, x: Tensor, encoding: RecurrentEncoding, lengths: Tensor | None) -> OutputsStates:
        return self.run(x, lengths, encoding.states)


class AttentionDecoder(Decoder):
    """Base of the decoders with attention; their output is tanh(W_c [context; h])."""

    def __init__(self, config: Seq2SeqConfig):
        super().__init__(config)
        self.mix = Linear(2 * config.d_hidden, config.d_hidden, bias=False)


class LuongDecoder(AttentionDecoder):
    """Attention from every state, after a recurrence that does not depend on it (Luong et al. 2015)."""

    def unroll(self, x: Tensor, encoding: RecurrentEncoding, lengths: Tensor | None) -> OutputsStates:
        cross = self.cross
        assert cross is not None
        hidden, states = super().unroll(x, encoding, lengths)
        prepared = cross.prepare(encoding.outputs)
        context = cross(hidden, encoding.outputs, prepared, encoding.mask, partial(tap, cross))
        return torch.tanh(self.mix(torch.cat([context, hidden], dim=-1))), states


class BahdanauDecoder(AttentionDecoder):
    """[token; context] → cell, with attention from the previous state at each position (Bahdanau et al. 2015)."""

    n_contexts = 1

    def unroll(self, x: Tensor, encoding: RecurrentEncoding, lengths: Tensor | None) -> OutputsStates:
        cross, time = self.cross, x.shape[1]
        assert cross is not None
        layers = [layer.fwd for layer in self.layers if isinstance(layer, BidirectionalLayer)]
        states, pairs = encoding.states, []
        prepared = cross.prepare(encoding.outputs)
        active = active_masks(lengths, time)
        cross_tap, layer_taps = RecurrentTap(cross, time), [RecurrentTap(layer, time) for layer in layers]
        for t in range(time):
            for taps in (cross_tap, *layer_taps):
                taps.time, taps.active = t, active[t]
            query = states[-1][0][:, None]  # (batch, 1, unit): the top layer's state before this position
            context = cross(query, encoding.outputs, prepared, encoding.mask, partial(_tap_query, cross_tap))[:, 0]
            states = self.step_all_layers(torch.cat([x[:, t], context], dim=-1), layers, states, layer_taps)
            pairs.append(torch.cat([context, states[-1][0]], dim=-1))
        for taps in (cross_tap, *layer_taps):
            taps.close()
        return torch.tanh(self.mix(torch.stack(pairs, dim=1))), states

    def step_all_layers(
        self, x: Tensor, layers: list[RecurrentLayer], states: list[State], taps: list[RecurrentTap]
    ) -> list[State]:
        """The states after one position, layer by layer; x (batch, d_embed + unit)."""
        new_states = []
        for i, (layer, state, layer_tap) in enumerate(zip(layers, states, taps, strict=True)):
            x = self.dropout(x) if i else x
            new_states.append(layer.step(F.linear(x, layer.weight_ih_l0, layer.bias_ih_l0), state, layer_tap))
            x = new_states[-1][0]
        return new_states


class Seq2Seq(nn.Module):
    """p(target | source) by a recurrent encoder and decoder (Sutskever et al. 2014; Bahdanau et al. 2015).

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

    def encode(self, src: Tensor, lengths: Tensor | None = None) -> RecurrentEncoding:
        lengths = check_input(src, lengths, self.config.vocab_size, self.config.max_len)
        return self.encoder(src.long(), lengths)

    def decode(self, tgt: Tensor, memory: RecurrentEncoding, lengths: Tensor | None = None) -> Output:
        lengths = check_input(tgt, lengths, self.config.vocab_size, self.config.max_len)
        check_pair(len(memory.outputs), len(tgt))
        hidden, _ = self.decoder(tgt.long(), memory, lengths)
        return Output(logits=tap(self, "logits", self.head(hidden, None, lengths)), hidden=hidden)


def make_decoder(config: Seq2SeqConfig) -> Decoder:
    if config.attention == "none":
        return Decoder(config)
    return BahdanauDecoder(config) if config.attention == "bahdanau" else LuongDecoder(config)


def _tap_query(tap: RecurrentTap, point: str, value: Tensor) -> Tensor:
    """Tap a value (batch, 1, 1, …) whose query dimension is the current position."""
    return tap(point, value.squeeze(2)).unsqueeze(2)
