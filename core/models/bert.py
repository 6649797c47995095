"""BERT: a bidirectional transformer encoder, trained on masked tokens and next-sentence prediction."""

from __future__ import annotations

import torch
from torch import Tensor

from core.capture.taps import tap
from core.config.families import BertConfig
from core.layers import initialisation
from core.layers.feedforward import ACTIVATIONS
from core.layers.linear import Linear
from core.layers.task_heads.heads import MaskedTokenHead, TaskHead, make_head
from core.layers.transformer_stack import Stack
from core.models.output import Output

POOLER_ACTIVATIONS = {"tanh": torch.tanh, **ACTIVATIONS}


class Bert(Stack):
    """Devlin et al. 2019. The pooler reads the first token, [CLS].

    RoBERTa (Liu et al. 2019) and DistilBERT (Sanh et al. 2019) are the same with other options.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config, n_segments=config.n_segments, embedding_norm=True)
        self.pooler = None if config.pooler == "none" else Linear(config.d_model, config.d_model)
        self.pooler_activation = POOLER_ACTIVATIONS.get(config.pooler)
        self.next_sentence = None
        self.head: TaskHead
        if config.head == "mlm":
            self.head = MaskedTokenHead(config.d_model, config.vocab_size, config.norm_eps, config.head_activation)
            if config.has_next_sentence_head:
                self.next_sentence = Linear(config.d_model, 2)
        else:
            self.head = make_head(config.head, config.d_model, config.n_labels, config.max_len, config.dropout)
        initialisation.normal(self)
        if isinstance(self.head, MaskedTokenHead) and config.tie_embeddings:
            self.head.proj.weight = self.token_embedding.weight

    def forward(
        self,
        ids: Tensor,
        lengths: Tensor | None = None,
        segments: Tensor | None = None,
        condition: Tensor | None = None,
    ) -> Output:
        ids, lengths, segments, condition = self.check(ids, lengths, segments, condition)
        hidden = self.hidden_states(ids, lengths, segments=segments, condition=condition)
        pooled = None
        if self.pooler is not None and self.pooler_activation is not None:
            pooled = tap(self, "pooled", self.pooler_activation(self.pooler(hidden[:, 0])))  # (batch, d_model)
        logits = tap(self, "logits", self.head(hidden, pooled, lengths))
        next_sentence = None
        if self.next_sentence is not None:
            next_sentence = tap(self, "next_sentence", self.next_sentence(pooled))
        return Output(logits=logits, hidden=hidden, pooled=pooled, next_sentence=next_sentence)
