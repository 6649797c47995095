"""T5 checkpoints: `config.json` in and out, and the key map from their weights to ours.

v1.0 (ReLU, one table for input and output), v1.1 and Flan-T5 (gated feed-forward, a table of its own for the output).
"""

from __future__ import annotations

from typing import Any

from core.config.families import T5Config
from core.pretrained.config_reader import ACTIVATIONS, HF_ACTIVATIONS, ConfigReader
from core.pretrained.errors import PretrainedError
from core.pretrained.families.family import TIED_HEAD, Family, Names, ParsedConfig
from core.pretrained.key_map import KeyMap, rules

GATED = {
    "gelu": "geglu-tanh",
    "gelu_new": "geglu-tanh",
    "silu": "swiglu",
    "swish": "swiglu",
}  # "gated-gelu" uses the tanh approximation
HF_GATED = {"geglu-tanh": "gated-gelu", "swiglu": "gated-silu"}

_SELF = (
    ("layer.0.SelfAttention.q.weight", "attn.q_proj.weight"),
    ("layer.0.SelfAttention.k.weight", "attn.k_proj.weight"),
    ("layer.0.SelfAttention.v.weight", "attn.v_proj.weight"),
    ("layer.0.SelfAttention.o.weight", "attn.out_proj.weight"),
    ("layer.0.layer_norm.weight", "attn_norm.weight"),
)
_CROSS = (
    ("layer.1.EncDecAttention.q.weight", "cross.q_proj.weight"),
    ("layer.1.EncDecAttention.k.weight", "cross.k_proj.weight"),
    ("layer.1.EncDecAttention.v.weight", "cross.v_proj.weight"),
    ("layer.1.EncDecAttention.o.weight", "cross.out_proj.weight"),
    ("layer.1.layer_norm.weight", "cross_norm.weight"),
)
_PLAIN = (
    ("DenseReluDense.wi.weight", "ff.in_proj.weight"),
    ("DenseReluDense.wo.weight", "ff.out_proj.weight"),
    ("layer_norm.weight", "ff_norm.weight"),
)
_GATED = (
    ("DenseReluDense.wi_0.weight", "ff.gate_proj.weight"),
    ("DenseReluDense.wi_1.weight", "ff.in_proj.weight"),
    *_PLAIN[1:],
)


def t5_map(config: T5Config, names: Names | None = None) -> KeyMap:
    feedforward = _GATED if config.activation in HF_GATED else _PLAIN
    encoder = {"theirs": "encoder.block.{i}.", "ours": "encoder.blocks.{i}."}
    decoder = {"theirs": "decoder.block.{i}.", "ours": "decoder.blocks.{i}."}
    bias = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    return KeyMap(
        rules(
            ("shared.weight", "encoder.token_embedding.weight"),  # which our decoder uses too
            (f"encoder.{bias}", "encoder.position.table.weight"),
            (f"decoder.{bias}", "decoder.position.table.weight"),
            ("encoder.final_layer_norm.weight", "encoder.final_norm.weight"),
            ("decoder.final_layer_norm.weight", "decoder.final_norm.weight"),
            ("lm_head.weight", "head.proj.weight"),
        )
        + rules(*_SELF, *_prefixed("layer.1.", feedforward), **encoder)
        + rules(*_SELF, *_CROSS, *_prefixed("layer.2.", feedforward), **decoder),
        aliases=(
            ("encoder.embed_tokens.weight", "shared.weight"),
            ("decoder.embed_tokens.weight", "shared.weight"),
        ),
        # Written by an early version, never used.
        ignored=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),
    )


def _prefixed(prefix: str, pairs: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [(prefix + theirs, ours) for theirs, ours in pairs]


def _activation(reader: ConfigReader) -> str:
    activation = reader.string("feed_forward_proj", "relu")
    gated, _, name = activation.rpartition("-")
    known = {"": ACTIVATIONS, "gated": GATED}.get(gated, {})
    if name not in known:
        raise PretrainedError(
            "config.json says feed_forward_proj = {word!r}; models here know relu, gelu, gelu_new, "
            "silu, gated-gelu and gated-silu.",
            word=activation[:60],
        )
    return known[name]


def _parse(reader: ConfigReader, head: str, names: Names) -> ParsedConfig:
    """Whether the embeddings are tied is read off the weights: recent configs always say that they are.

    In those, scale_decoder_outputs says whether the hidden states are divided by √d_model; in older ones they are if
    the embeddings are tied.
    """
    layers = reader.integer("num_layers")
    options = {
        "vocab_size": reader.integer("vocab_size"),
        "n_layers": layers,
        "n_decoder_layers": reader.integer("num_decoder_layers", layers),
        "n_heads": reader.integer("num_heads"),
        "d_model": reader.integer("d_model"),
        "d_head": reader.integer("d_kv"),
        "d_ff": reader.integer("d_ff"),
        "max_len": reader.integer("n_positions", 512),
        "n_buckets": reader.integer("relative_attention_num_buckets", 32),
        "max_distance": reader.integer("relative_attention_max_distance", 128),
        "norm_eps": reader.number("layer_norm_epsilon", 1e-6),
        "dropout": reader.number("dropout_rate", 0.1),
        "activation": _activation(reader),
        "tie_embeddings": "lm_head.weight" not in names and reader.boolean("tie_word_embeddings", True),
        "scale_output": reader.boolean("scale_decoder_outputs", reader.boolean("tie_word_embeddings", True)),
    }
    return ParsedConfig(options, (TIED_HEAD,) if reader.architecture() == "T5Model" else ())


def _write(config: T5Config) -> dict[str, Any]:
    plain = HF_ACTIVATIONS.get(config.activation, config.activation)
    return {
        "vocab_size": config.vocab_size,
        "num_layers": config.n_layers,
        "num_decoder_layers": config.decoder_layers,
        "num_heads": config.n_heads,
        "d_model": config.d_model,
        "d_kv": config.head_width,
        "d_ff": config.ff_width,
        "n_positions": config.max_len,
        "relative_attention_num_buckets": config.n_buckets,
        "relative_attention_max_distance": config.max_distance,
        "layer_norm_epsilon": config.norm_eps,
        "dropout_rate": config.dropout,
        "feed_forward_proj": HF_GATED.get(config.activation, plain),
        "tie_word_embeddings": config.tie_embeddings,
        "scale_decoder_outputs": config.scales_output,
        "is_encoder_decoder": True,
    }


T5 = Family(
    "t5",
    "t5",
    architectures={"T5ForConditionalGeneration": "lm", "T5WithLMHeadModel": "lm", "T5Model": "lm"},
    head_prefixes={"lm": ("lm_head.",)},
    parse=_parse,
    write=_write,
    key_map=t5_map,
)
