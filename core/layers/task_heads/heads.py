"""Task heads: from hidden states (batch, time, unit) to logits, their loss, and the prediction."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.layers.feedforward import ACTIVATIONS
from core.layers.linear import Linear
from core.layers.masks import valid_mask
from core.layers.task_heads.crf import Crf
from core.layers.task_heads.global_pointer import GlobalPointer, decode_spans, span_loss

IGNORE = -100  # a target that is left out of loss and score


class TaskHead(nn.Module):
    """Base of all heads: `forward` gives logits. Lengths are None when every sequence fills its row."""

    def forward(self, hidden: Tensor, pooled: Tensor | None, lengths: Tensor | None) -> Tensor:
        raise NotImplementedError

    def loss(self, logits: Tensor, target: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Cross-entropy over the last dimension, leaving out targets that are `IGNORE`."""
        return F.cross_entropy(logits.flatten(0, -2), target.flatten(), ignore_index=IGNORE)

    def predict(self, logits: Tensor, lengths: Tensor | None = None) -> Tensor | list:
        return logits.argmax(-1)


class TokenHead(TaskHead):
    """Logits per position, (batch, time, out): a language model's tokens or a tagger's labels."""

    def __init__(self, d_model: int, n_out: int, *, bias: bool = True, scale: float = 1.0):
        super().__init__()
        self.scale = scale
        self.proj = Linear(d_model, n_out, bias)

    def forward(self, hidden: Tensor, pooled: Tensor | None, lengths: Tensor | None) -> Tensor:
        return self.proj(hidden * self.scale if self.scale != 1 else hidden)


class MaskedTokenHead(TaskHead):
    """BERT's masked-language-model head: dense → activation → norm → tokens (batch, time, vocabulary)."""

    def __init__(self, d_model: int, vocab_size: int, eps: float, activation: str = "gelu"):
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.dense = Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model, eps)
        self.proj = Linear(d_model, vocab_size)

    def forward(self, hidden: Tensor, pooled: Tensor | None, lengths: Tensor | None) -> Tensor:
        return self.proj(self.norm(self.activation(self.dense(hidden))))


class ClassifierHead(TaskHead):
    """One label for the sequence, (batch, label), from its pooled vector."""

    def __init__(self, d_model: int, n_labels: int, dropout: float, *, bias: bool = True):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.proj = Linear(d_model, n_labels, bias)

    def forward(self, hidden: Tensor, pooled: Tensor | None, lengths: Tensor | None) -> Tensor:
        return self.proj(self.dropout(pooled))


class CrfHead(TokenHead):
    """A tagger that predicts the best tag path: logits are the emissions, the CRF adds the transitions."""

    def __init__(self, d_model: int, n_labels: int):
        super().__init__(d_model, n_labels)
        self.crf = Crf(n_labels)

    def loss(self, logits: Tensor, target: Tensor, lengths: Tensor | None = None) -> Tensor:
        """−log p(tags), the mean over sequences; where a tag is `IGNORE`, summed over all tags it could be.

        Sequences without any known tag are left out.
        """
        mask = _mask(logits, lengths)
        known = mask & (target != IGNORE)
        if torch.equal(known, mask):
            return -self.crf.log_likelihood(logits, target, mask).mean()
        wrong = torch.arange(logits.shape[-1], device=logits.device) != target[..., None]  # (batch, time, tag)
        consistent = logits.masked_fill(known[..., None] & wrong, float("-inf"))
        log_likelihood = self.crf.log_partition(consistent, mask) - self.crf.log_partition(logits, mask)  # (batch,)
        return -log_likelihood[known.any(1)].mean()

    def predict(self, logits: Tensor, lengths: Tensor | None = None) -> list[list[int]]:
        return self.crf.decode(logits, _mask(logits, lengths))


class PointerHead(TaskHead):
    """Span scores by GlobalPointer, (batch, type, start, end)."""

    def __init__(self, d_model: int, n_types: int, max_len: int):
        super().__init__()
        self.pointer = GlobalPointer(d_model, n_types, max_len)

    def forward(self, hidden: Tensor, pooled: Tensor | None, lengths: Tensor | None) -> Tensor:
        return self.pointer(hidden, lengths)

    def loss(self, logits: Tensor, target: Tensor, lengths: Tensor | None = None) -> Tensor:
        return span_loss(logits, target)

    def predict(self, logits: Tensor, lengths: Tensor | None = None) -> list[list[tuple[int, int, int]]]:
        return decode_spans(logits)


class AnswerHead(TaskHead):
    """Extractive question answering: scores of start and end, (batch, 2, time); targets are (batch, 2) positions."""

    def __init__(self, d_model: int):
        super().__init__()
        self.proj = Linear(d_model, 2)

    def forward(self, hidden: Tensor, pooled: Tensor | None, lengths: Tensor | None) -> Tensor:
        scores = self.proj(hidden).transpose(1, 2)
        if lengths is None:
            return scores
        return scores.masked_fill(~valid_mask(lengths, scores.shape[-1])[:, None], float("-inf"))

    def predict(self, logits: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(batch, 2): the best pair with start ≤ end"""
        pairs = logits[:, 0, :, None] + logits[:, 1, None, :]  # (batch, start, end)
        ordered = torch.ones_like(pairs[0], dtype=torch.bool).triu()
        best = pairs.masked_fill(~ordered, float("-inf")).flatten(1).argmax(-1)
        return torch.stack([best // pairs.shape[-1], best % pairs.shape[-1]], dim=-1)


class NoHead(TaskHead):
    """The hidden states (batch, time, d_model) themselves: feature extraction."""

    def forward(self, hidden: Tensor, pooled: Tensor | None, lengths: Tensor | None) -> Tensor:
        return hidden

    def loss(self, logits: Tensor, target: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Mean squared error to target hidden states (batch, time, d_model); padding does not count."""
        valid = _mask(logits, lengths)
        return F.mse_loss(logits[valid], target[valid])

    def predict(self, logits: Tensor, lengths: Tensor | None = None) -> Tensor:
        return logits


def make_head(
    kind: str, d_model: int, n_labels: int, max_len: int, dropout: float, *, classifier_bias: bool = True
) -> TaskHead:
    """The heads that every one-sequence family can have."""
    if kind == "none":
        return NoHead()
    if kind == "classifier":
        return ClassifierHead(d_model, n_labels, dropout, bias=classifier_bias)
    if kind == "crf":
        return CrfHead(d_model, n_labels)
    if kind == "pointer":
        return PointerHead(d_model, n_labels, max_len)
    if kind == "qa":
        return AnswerHead(d_model)
    return TokenHead(d_model, n_labels)


def _mask(logits: Tensor, lengths: Tensor | None) -> Tensor:
    if lengths is None:
        return torch.ones(logits.shape[:2], dtype=torch.bool, device=logits.device)
    return valid_mask(lengths, logits.shape[1])
