"""Sizes by name: two for the classroom, the others as published. Built on `device="meta"` they cost no memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.config.options import Text


@dataclass(frozen=True)
class Preset:
    family: str
    help: Text
    options: dict[str, Any]


def _preset(family: str, en: str, zh: str, **options: Any) -> Preset:
    return Preset(family, Text(en, zh), options)


def _bert(en: str, zh: str, layers: int, width: int, heads: int, **options: Any) -> Preset:
    return _preset(
        "bert",
        en,
        zh,
        vocab_size=30_522,
        n_layers=layers,
        d_model=width,
        n_heads=heads,
        dropout=0.1,
        **options,
    )


def _gpt2(en: str, zh: str, layers: int, width: int, heads: int) -> Preset:
    sizes = {"n_layers": layers, "d_model": width, "n_heads": heads}
    return _preset("gpt", en, zh, vocab_size=50_257, max_len=1_024, dropout=0.1, **sizes)


def _t5(en: str, zh: str, layers: int, width: int, heads: int, inner: int, **options: Any) -> Preset:
    sizes = {"n_layers": layers, "d_model": width, "n_heads": heads, "d_head": 64, "d_ff": inner}
    return _preset("t5", en, zh, vocab_size=32_128, dropout=0.1, **sizes, **options)


PRESETS: dict[str, Preset] = {
    "rnn-parity": _preset(
        "rnn", "The classroom parity network", "课堂奇偶网络", vocab_size=200, d_embed=64, d_hidden=128
    ),
    "transformer-classroom": _preset(
        "transformer", "Small enough to train while you watch", "小到可以边看边训练",
        vocab_size=100, n_layers=2, d_model=128, n_heads=4, d_ff=256,
    ),
    "transformer-base": _preset(
        "transformer", "“Attention is all you need”, base", "《Attention is all you need》基础版",
        vocab_size=37_000, n_layers=6, d_model=512, n_heads=8, d_ff=2_048, dropout=0.1, tie_embeddings=True,
    ),
    "transformer-big": _preset(
        "transformer", "“Attention is all you need”, big", "《Attention is all you need》大型版",
        vocab_size=37_000, n_layers=6, d_model=1_024, n_heads=16, d_ff=4_096, dropout=0.3, tie_embeddings=True,
    ),
    "bert-tiny": _bert("BERT-Tiny, the smallest published", "BERT-Tiny，已发布的最小版本", 2, 128, 2),
    "bert-base": _bert("BERT-Base", "BERT-Base", 12, 768, 12),
    "bert-large": _bert("BERT-Large", "BERT-Large", 24, 1_024, 16),
    "roformer-base": _preset(
        "roformer", "RoFormer, Chinese base", "RoFormer 中文基础版",
        vocab_size=50_000, n_layers=12, d_model=768, n_heads=12, max_len=1_536, dropout=0.1,
    ),
    "gpt2-small": _gpt2("GPT-2 small", "GPT-2 小型", 12, 768, 12),
    "gpt2-medium": _gpt2("GPT-2 medium", "GPT-2 中型", 24, 1_024, 16),
    "gpt2-large": _gpt2("GPT-2 large", "GPT-2 大型", 36, 1_280, 20),
    "gpt2-xl": _gpt2("GPT-2 XL", "GPT-2 超大型", 48, 1_600, 25),
    "t5-small": _t5("T5-small", "T5-small", 6, 512, 8, 2_048),
    "t5-base": _t5("T5-base", "T5-base", 12, 768, 12, 3_072),
    "t5-large": _t5("T5-large", "T5-large", 24, 1_024, 16, 4_096),
    "flan-t5-small": _t5(
        "T5 v1.1 / Flan-T5 small: gated, untied", "T5 v1.1 / Flan-T5 小型：带门控，不共享输出",
        8, 512, 6, 1_024, activation="geglu-tanh", tie_embeddings=False,
    ),
}  # fmt: skip
