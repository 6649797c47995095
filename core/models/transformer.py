"""The encoder–decoder Transformer.

src → encoder → memory ↘
tgt → decoder (cross-attention to memory) → logits of the next target token
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from core.capture.taps import tap
from core.config.families import EncoderDecoderConfig
from core.layers import initialisation
from core.layers.input_checks import check_pair
from core.layers.masks import valid_mask
from core.layers.task_heads.heads import TokenHead
from core.layers.transformer_stack import EncoderMemory, Stack
from core.models.output import Output


class Transformer(nn.Module):
    """Vaswani et al. 2017. `tgt` is the decoder's input: the target behind a start token (teacher forcing)."""

    def __init__(self, config: EncoderDecoderConfig):
        super().__init__()
        self.config = config
        self.encoder = Stack(config)
        self.decoder = Stack(config, n_layers=config.decoder_layers, causal=True, cross=True)
        self.head = self.make_head()
        self.initialise()
        self.tie()

    def make_head(self) -> TokenHead:
        return TokenHead(self.config.d_model, self.config.vocab_size)

    def initialise(self) -> None:
        initialisation.xavier(self, self.config.d_model)

    def tie(self) -> None:
        """Share one embedding table between source, target and output, if configured."""
        if self.config.tie_embeddings:
            self.decoder.token_embedding.weight = self.encoder.token_embedding.weight
            self.head.proj.weight = self.encoder.token_embedding.weight

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_lengths: Tensor | None = None,
        tgt_lengths: Tensor | None = None,
        condition: Tensor | None = None,
    ) -> Output:
        memory = self.encode(src, src_lengths, condition)
        return self.decode(tgt, memory, tgt_lengths, condition)

    def encode(self, src: Tensor, lengths: Tensor | None = None, condition: Tensor | None = None) -> EncoderMemory:
        src, lengths, _, condition = self.encoder.check(src, lengths, condition=condition)
        hidden = self.encoder.hidden_states(src, lengths, condition=condition)
        positions = torch.arange(src.shape[1], device=src.device)
        memory = EncoderMemory(hidden, lengths, positions)
        return memory if self.config.downsample == 1 else pool_memory(memory, self.config.downsample)

    def decode(
        self, tgt: Tensor, memory: EncoderMemory, lengths: Tensor | None = None, condition: Tensor | None = None
    ) -> Output:
        tgt, lengths, _, condition = self.decoder.check(tgt, lengths, condition=condition)
        check_pair(len(memory.hidden), len(tgt))
        hidden = self.decoder.hidden_states(tgt, lengths, condition=condition, memory=memory)
        return Output(logits=tap(self, "logits", self.head(hidden, None, lengths)), hidden=hidden)


def pool_memory(memory: EncoderMemory, factor: int) -> EncoderMemory:
    """Average every `factor` neighbours, padding left out: cross-attention costs less by that factor."""
    batch, time = memory.hidden.shape[:2]
    lengths = memory.lengths if memory.lengths is not None else memory.positions.new_full((batch,), time)
    valid = valid_mask(lengths, time)[..., None].to(memory.hidden.dtype)
    missing = -time % factor  # positions that complete the last group
    groups = nn.functional.pad(memory.hidden * valid, (0, 0, 0, missing)).unflatten(1, (-1, factor))
    counts = nn.functional.pad(valid, (0, 0, 0, missing)).unflatten(1, (-1, factor)).sum(2)
    hidden = groups.sum(2) / counts.clamp(min=1)  # (batch, ⌈time / factor⌉, d_model)
    pooled_lengths = None if memory.lengths is None else -(-lengths // factor)
    return EncoderMemory(hidden, pooled_lengths, memory.positions[::factor])
