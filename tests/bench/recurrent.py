"""Recurrent layers against torch's own on packed, variable-length batches: one training step of a classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

import core
from tests.bench.measure import Row, compare

SIZES = [(32, 128), (64, 32)]  # batch, hidden
MAX_LEN = 20


class PackedClassifier(nn.Module):
    """The usual way: embedding → packed nn.LSTM/GRU/RNN → last state → linear."""

    def __init__(self, kind: str, d_hidden: int):
        super().__init__()
        self.embedding = nn.Embedding(200, 64, padding_idx=0)
        self.recurrent = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[kind](64, d_hidden, batch_first=True)
        self.out = nn.Linear(d_hidden, 2)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
        _, last = self.recurrent(packed)
        return self.out((last[0] if isinstance(last, tuple) else last)[-1])


def rows() -> Iterator[Row]:
    for batch, d_hidden in SIZES:
        ids = torch.randint(1, 200, (batch, MAX_LEN))
        lengths = torch.randint(4, MAX_LEN + 1, (batch,))
        lengths[0] = MAX_LEN
        yield from compare_all(ids, lengths, d_hidden, f"batch {batch}, hidden {d_hidden}")


def compare_all(ids: Tensor, lengths: Tensor, d_hidden: int, size: str) -> Iterator[Row]:
    labels = torch.randint(0, 2, (len(ids),))
    sizes = {"vocab_size": 200, "d_hidden": d_hidden}
    for kind, goal in [("rnn", 1.0), ("gru", 1.0), ("lstm", 0.8)]:
        packed = PackedClassifier(kind, d_hidden)
        theirs = _step(packed, lambda m=packed: m(ids, lengths), labels)
        model = core.build(kind, **sizes)
        ours = _step(model, lambda m=model: m(ids, lengths).logits, labels)
        yield compare(f"{kind} training step / packed nn.{kind.upper()}, {size}", ours, theirs, goal, rounds=60)

    stepwise = core.build("lstm", **sizes, engine="stepwise")

    def captured() -> Tensor:
        with core.capture(stepwise):
            return stepwise(ids, lengths).logits

    name = f"stepwise lstm, all gates kept / packed nn.LSTM, {size}"
    yield compare(name, _step(stepwise, captured, labels), theirs, 1.5, rounds=60)


def _step(model: nn.Module, forward: Callable[[], Tensor], labels: Tensor) -> Callable[[], None]:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        optimiser.zero_grad()
        F.cross_entropy(forward(), labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step
