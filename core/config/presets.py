"""Presets: option values (layers, width, heads, vocabulary) of named models, in `PRESETS`.

Two are small enough for a classroom, the others as published. On `device="meta"` they can be built without memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.translatable import Text, verbatim


@dataclass(frozen=True)
class Preset:
    family: str
    help: Text
    options: dict[str, Any]


def _preset(family: str, help: Text, **options: Any) -> Preset:
    return Preset(family, help, options)


def _bert(help: Text, layers: int, width: int, heads: int, **options: Any) -> Preset:
    return _preset(
        "bert",
        help,
        vocab_size=30_522,
        n_layers=layers,
        d_model=width,
        n_heads=heads,
        dropout=0.1,
        **options,
    )


def _gpt2(help: Text, layers: int, width: int, heads: int) -> Preset:
    sizes = {"n_layers": layers, "d_model": width, "n_heads": heads}
    return _preset("gpt", help, vocab_size=50_257, max_len=1_024, dropout=0.1, **sizes)


def _t5(help: Text, layers: int, width: int, heads: int, d_ff: int, **options: Any) -> Preset:
    sizes = {"n_layers": layers, "d_model": width, "n_heads": heads, "d_head": 64, "d_ff": d_ff}
    return _preset("t5", help, vocab_size=32_128, dropout=0.1, **sizes, **options)


PRESETS: dict[str, Preset] = {
    "rnn-parity": _preset(
        "rnn", Text("The classroom parity network"), vocab_size=200, d_embed=64, d_hidden=128
    ),
    "transformer-classroom": _preset(
        "transformer", Text("Small enough to train while you watch"),
        vocab_size=100, n_layers=2, d_model=128, n_heads=4, d_ff=256,
    ),
    "transformer-base": _preset(
        "transformer", Text("“Attention is all you need”, base"),
        vocab_size=37_000, n_layers=6, d_model=512, n_heads=8, d_ff=2_048, dropout=0.1, tie_embeddings=True,
    ),
    "transformer-big": _preset(
        "transformer", Text("“Attention is all you need”, big"),
        vocab_size=37_000, n_layers=6, d_model=1_024, n_heads=16, d_ff=4_096, dropout=0.3, tie_embeddings=True,
    ),
    "bert-tiny": _bert(Text("BERT-Tiny, the smallest published"), 2, 128, 2),
    "bert-base": _bert(verbatim("BERT-Base"), 12, 768, 12),
    "bert-large": _bert(verbatim("BERT-Large"), 24, 1_024, 16),
    "roformer-base": _preset(
        "roformer", Text("RoFormer, Chinese base"),
        vocab_size=50_000, n_layers=12, d_model=768, n_heads=12, max_len=1_536, dropout=0.1,
    ),
    "gpt2-small": _gpt2(Text("GPT-2 small"), 12, 768, 12),
    "gpt2-medium": _gpt2(Text("GPT-2 medium"), 24, 1_024, 16),
    "gpt2-large": _gpt2(Text("GPT-2 large"), 36, 1_280, 20),
    "gpt2-xl": _gpt2(Text("GPT-2 XL"), 48, 1_600, 25),
    "t5-small": _t5(verbatim("T5-small"), 6, 512, 8, 2_048),
    "t5-base": _t5(verbatim("T5-base"), 12, 768, 12, 3_072),
    "t5-large": _t5(verbatim("T5-large"), 24, 1_024, 16, 4_096),
    "flan-t5-small": _t5(
        Text("T5 v1.1 / Flan-T5 small: gated, untied"),
        8, 512, 6, 1_024, activation="geglu-tanh", tie_embeddings=False,
    ),
}  # fmt: skip
