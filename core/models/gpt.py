"""GPT: a causal transformer decoder, trained to predict the next token."""

from __future__ import annotations

from torch import Tensor

from core.capture.taps import tap
from core.config.families import GptConfig
from core.layers import initialisation
from core.layers.masks import last_valid
from core.layers.task_heads.heads import TaskHead, TokenHead, make_head
from core.layers.transformer_stack import Stack
from core.models.output import Output


class Gpt(Stack):
    """Radford et al. 2019. As a classifier it reads the last token, the only one that attends to all others."""

    def __init__(self, config: GptConfig):
        super().__init__(config, causal=config.causal)
        self.head: TaskHead
        if config.head == "lm":
            self.head = TokenHead(config.d_model, config.vocab_size, bias=False)
        else:
            sizes = config.d_model, config.n_labels, config.max_len
            self.head = make_head(config.head, *sizes, config.dropout, classifier_bias=config.classifier_bias)
        initialisation.normal(self)
        initialisation.scale_residual_projections(self, config.n_layers)
        if isinstance(self.head, TokenHead) and config.head == "lm" and config.tie_embeddings:
            self.head.proj.weight = self.token_embedding.weight

    def forward(self, ids: Tensor, lengths: Tensor | None = None, condition: Tensor | None = None) -> Output:
        ids, lengths, _, condition = self.check(ids, lengths, condition=condition)
        hidden = self.hidden_states(ids, lengths, condition=condition)
        pooled = last_valid(hidden, lengths)
        logits = tap(self, "logits", self.head(hidden, pooled, lengths))
        return Output(logits=logits, hidden=hidden, pooled=pooled)
