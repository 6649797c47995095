"""The overhead of capture: everything captured at BERT-Base size, 128 tokens."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from transformers import BertConfig, BertModel

import core
from tests.bench.measure import Row, compare


def rows() -> Iterator[Row]:
    ids = torch.randint(1, 30_000, (1, 128))
    model = core.build("bert-base", head="classifier").eval()
    eager = BertModel(BertConfig(attn_implementation="eager")).eval()

    @torch.no_grad()
    def plain() -> None:
        model(ids)

    @torch.no_grad()
    def captured() -> None:
        with core.capture(model):
            model(ids)

    @torch.no_grad()
    def hugging_face() -> None:
        eager(ids, output_attentions=True, output_hidden_states=True)

    yield compare("capture everything, BERT-Base, 128 tokens / plain forward", captured, plain, 1.1, rounds=41)
    name = "capture everything, BERT-Base, 128 tokens / Hugging Face eager"
    yield compare(name, captured, hugging_face, 1.0, rounds=41)
