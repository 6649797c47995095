"""How many parameters the presets have: as many as the published models."""

from __future__ import annotations

import pytest
import torch
import transformers
from torch import nn

import core


def count(model: nn.Module) -> int:
    """Shared weights once, frozen tables not at all."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def bert(**options) -> nn.Module:
    return transformers.BertForPreTraining(transformers.BertConfig(**options))


def gpt2(layers: int, width: int, heads: int) -> nn.Module:
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=layers, n_embd=width, n_head=heads))


def t5(layers: int, width: int, heads: int, inner: int, **options) -> nn.Module:
    config = transformers.T5Config(num_layers=layers, d_model=width, num_heads=heads, d_ff=inner, d_kv=64, **options)
    config.vocab_size = 32_128
    return transformers.T5ForConditionalGeneration(config)


def flan_t5_small() -> nn.Module:
    model = t5(8, 512, 6, 1_024, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.clone())  # untied in the checkpoint
    return model


PUBLISHED = {  # their model, and its size as usually quoted, where it is
    "bert-tiny": (
        lambda: bert(num_hidden_layers=2, hidden_size=128, num_attention_heads=2, intermediate_size=512),
        None,
    ),
    "bert-base": (bert, 110_106_428),
    "bert-large": (
        lambda: bert(num_hidden_layers=24, hidden_size=1_024, num_attention_heads=16, intermediate_size=4_096),
        None,
    ),
    "gpt2-small": (lambda: gpt2(12, 768, 12), 124_439_808),
    "gpt2-medium": (lambda: gpt2(24, 1_024, 16), 354_823_168),
    "gpt2-large": (lambda: gpt2(36, 1_280, 20), 774_030_080),
    "gpt2-xl": (lambda: gpt2(48, 1_600, 25), 1_557_611_200),
    "t5-small": (lambda: t5(6, 512, 8, 2_048), 60_506_624),
    "t5-base": (lambda: t5(12, 768, 12, 3_072), 222_903_552),
    "t5-large": (lambda: t5(24, 1_024, 16, 4_096), 737_668_096),
    "flan-t5-small": (flan_t5_small, 76_961_152),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_presets_are_as_large_as_published(name):
    make_theirs, published = PUBLISHED[name]
    with torch.device("meta"):
        theirs = count(make_theirs())
    assert count(core.build(name, device="meta")) == theirs
    assert published in (None, theirs)


def test_roformer_base():
    """Theirs has neither pooler nor next-sentence head."""
    with torch.device("meta"):
        theirs = transformers.RoFormerForMaskedLM(transformers.RoFormerConfig())
    ours = core.build("roformer-base", device="meta")
    assert count(ours) - count(ours.pooler) - count(ours.next_sentence) == count(theirs)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_transformer_of_the_paper(tied):
    """512 wide, 8 heads, 6 + 6 layers, 2048 inside, 50,000 tokens: torch's count plus the tables and the head."""
    width, vocabulary = 512, 50_000
    sizes = {"vocab_size": vocabulary, "d_model": width, "n_heads": 8, "n_layers": 6, "d_ff": 2_048}
    with torch.device("meta"):
        layers = count(nn.Transformer(width, 8, 6, 6, 2_048, norm_first=False, batch_first=True))
    table, output_bias = vocabulary * width, vocabulary
    expected = layers + (1 if tied else 3) * table + output_bias

    pre = core.build("transformer", device="meta", norm_placement="pre", tie_embeddings=tied, **sizes)
    assert count(pre) == expected
    post = core.build("transformer", device="meta", norm_placement="post", tie_embeddings=tied, **sizes)
    assert count(post) == expected - 2 * 2 * width, "torch ends with two more norms"
    assert count(pre) == (69_790_544 if tied else 120_990_544)

    feed_forward = sum(count(block.ff) for stack in (pre.encoder, pre.decoder) for block in stack.blocks)
    assert feed_forward == 12 * (2 * width * 2_048 + width + 2_048)  # 25.2 million, often left out of estimates
