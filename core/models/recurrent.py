"""The base of RNN, GRU and LSTM: ids → embedding → recurrent layers → head."""

from __future__ import annotations

from torch import Tensor, nn

from core.capture.taps import tap
from core.config.families import RecurrentConfig
from core.layers.input_checks import check_input
from core.layers.recurrent.cells import RecurrentStack
from core.layers.task_heads.heads import TaskHead, TokenHead, make_head
from core.models.output import Output

PAD = 0  # the id whose embedding is 0


class RecurrentModel(RecurrentStack):
    """Many-to-one (classifier: the last valid states, both directions) or many-to-many (logits at every position)."""

    def __init__(self, config: RecurrentConfig, **cell_options: str):
        super().__init__(
            config.family,
            config.d_embed,
            config.d_hidden,
            config.n_layers,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
            engine=config.engine,
            **cell_options,
        )
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_embed, padding_idx=PAD)
        self.head: TaskHead
        if config.head == "lm":
            self.head = TokenHead(self.d_out, config.vocab_size)
        else:
            self.head = make_head(config.head, self.d_out, config.n_labels, config.max_len, config.dropout)

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Output:
        lengths = check_input(ids, lengths, self.config.vocab_size, self.config.max_len)
        x = self.token_embedding(ids.long().T).transpose(0, 1)  # in memory time first, as the kernels work
        x = tap(self, "embed", x)  # (batch, time, d_embed)
        hidden, states = self.run(self.dropout(x), lengths)
        pooled = states[-1][0]  # (batch, directions · unit)
        logits = tap(self, "logits", self.head(hidden, pooled, lengths))
        return Output(logits=logits, hidden=hidden, pooled=pooled)
