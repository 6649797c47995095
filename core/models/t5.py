"""T5: an encoder–decoder without biases, with trained relative position biases on the attention scores."""

from __future__ import annotations

from torch import nn

from core.config.families import T5Config
from core.layers import initialisation
from core.layers.task_heads.heads import TokenHead
from core.models.transformer import Transformer


class T5(Transformer):
    """Raffel et al. 2020. Source and target always share their embedding; `tie_embeddings` adds the output."""

    def make_head(self) -> TokenHead:
        assert isinstance(self.config, T5Config)
        scale = self.config.d_model**-0.5 if self.config.scales_output else 1.0
        return TokenHead(self.config.d_model, self.config.vocab_size, bias=False, scale=scale)

    def initialise(self) -> None:
        initialisation.t5(self, self.config.d_model)
        nn.init.normal_(self.encoder.token_embedding.weight)
        nn.init.normal_(self.head.proj.weight)

    def tie(self) -> None:
        super().tie()
        self.decoder.token_embedding.weight = self.encoder.token_embedding.weight
