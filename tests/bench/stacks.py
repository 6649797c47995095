"""Transformer training steps against torch.nn.Transformer and Hugging Face's SDPA models of the same size."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

import core
from tests.bench.measure import Row, compare, saved_bytes

VOCAB, BATCH, TIME = 1000, 16, 64


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with embeddings and an output layer around it, as in its tutorial."""

    def __init__(self, d_model: int, n_heads: int, n_layers: int, d_ff: int):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCAB, d_model), nn.Embedding(VOCAB, d_model)
        self.register_buffer("position", torch.randn(512, d_model))
        self.scale = d_model**0.5
        self.body = nn.Transformer(d_model, n_heads, n_layers, n_layers, d_ff, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d_model, VOCAB)
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(TIME).isinf())

    def forward(self, src: Tensor, tgt: Tensor, padding: Tensor) -> Tensor:
        src = self.source(src) * self.scale + self.position[: src.shape[1]]
        tgt = self.target(tgt) * self.scale + self.position[: tgt.shape[1]]
        masks = {"src_key_padding_mask": padding, "tgt_key_padding_mask": padding, "memory_key_padding_mask": padding}
        return self.out(self.body(src, tgt, tgt_mask=self.causal, **masks))


def rows() -> Iterator[Row]:
    ids = torch.randint(1, VOCAB, (BATCH, TIME))
    lengths = torch.randint(TIME // 2, TIME + 1, (BATCH,))
    lengths[0] = TIME
    keep = torch.arange(TIME) < lengths[:, None]
    for d_model, n_heads, n_layers in [(128, 4, 2), (256, 8, 3)]:
        size = f"d {d_model}, {n_layers} layers"
        sizes = {"d_model": d_model, "n_heads": n_heads, "n_layers": n_layers, "vocab_size": VOCAB}

        torch_model = TorchTransformer(d_model, n_heads, n_layers, 4 * d_model)
        model = core.build("transformer", **sizes)
        theirs = _step(torch_model, lambda m=torch_model: m(ids, ids, ~keep), ids)
        ours = _step(model, lambda m=model: m(ids, ids, lengths, lengths).logits, ids)
        yield compare(f"transformer training step / torch.nn.Transformer, {size}", ours, theirs, 1.05)

        bert = BertForMaskedLM(
            BertConfig(
                vocab_size=VOCAB,
                hidden_size=d_model,
                num_hidden_layers=n_layers,
                num_attention_heads=n_heads,
                intermediate_size=4 * d_model,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
                attn_implementation="sdpa",
            )
        ).train()
        model = core.build("bert", **sizes)
        theirs = _step(bert, lambda m=bert: m(ids, attention_mask=keep.long()).logits, ids)
        ours = _step(model, lambda m=model: m(ids, lengths).logits, ids)
        yield compare(f"bert training step / Hugging Face SDPA, {size}", ours, theirs, 1.05)

        gpt2 = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=VOCAB,
                n_positions=512,
                n_embd=d_model,
                n_layer=n_layers,
                n_head=n_heads,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                attn_implementation="sdpa",
                use_cache=False,
            )
        ).train()
        model = core.build("gpt", **sizes)
        theirs = _step(gpt2, lambda m=gpt2: m(ids, attention_mask=keep.long()).logits, ids)
        ours = _step(model, lambda m=model: m(ids, lengths).logits, ids)
        yield compare(f"gpt training step / Hugging Face SDPA, {size}", ours, theirs, 1.05)

    plain, saving = (core.build("bert", n_layers=6, vocab_size=VOCAB, checkpointing=on) for on in (False, True))
    bytes_plain, bytes_saving = (saved_bytes(lambda m=m: m(ids).logits) for m in (plain, saving))
    yield Row("gradient checkpointing: memory kept for backward / without", bytes_saving / bytes_plain, None)
    steps = (_step(m, lambda m=m: m(ids).logits, ids) for m in (saving, plain))
    yield compare("gradient checkpointing: time / without", *steps, None)


def _step(model: nn.Module, forward: Callable[[], Tensor], target: Tensor) -> Callable[[], None]:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimiser.zero_grad()
        F.cross_entropy(forward().flatten(0, 1), target.flatten()).backward()
        optimiser.step()

    return step
