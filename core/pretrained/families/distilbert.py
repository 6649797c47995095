"""DistilBERT checkpoints (Sanh et al. 2019): `config.json` in and out, and the key map from their weights to ours.

BERT's stack under other names, without segments and without a pooler.
"""

from __future__ import annotations

from typing import Any

from core.config.families import BertConfig
from core.pretrained.config_reader import HF_ACTIVATIONS, ConfigReader
from core.pretrained.families.family import NO_HEAD, Family, Names, ParsedConfig
from core.pretrained.key_map import KeyMap, combine, rules

_TRUNK = KeyMap(
    rules(
        ("embeddings.word_embeddings.weight", "token_embedding.weight"),
        ("embeddings.position_embeddings.weight", "position_embedding.weight"),
        ("embeddings.LayerNorm.*", "embedding_norm.*"),
        ("transformer.layer.{i}.attention.q_lin.*", "blocks.{i}.attn.q_proj.*"),
        ("transformer.layer.{i}.attention.k_lin.*", "blocks.{i}.attn.k_proj.*"),
        ("transformer.layer.{i}.attention.v_lin.*", "blocks.{i}.attn.v_proj.*"),
        ("transformer.layer.{i}.attention.out_lin.*", "blocks.{i}.attn.out_proj.*"),
        ("transformer.layer.{i}.sa_layer_norm.*", "blocks.{i}.attn_norm.*"),
        ("transformer.layer.{i}.ffn.lin1.*", "blocks.{i}.ff.in_proj.*"),
        ("transformer.layer.{i}.ffn.lin2.*", "blocks.{i}.ff.out_proj.*"),
        ("transformer.layer.{i}.output_layer_norm.*", "blocks.{i}.ff_norm.*"),
        theirs="distilbert.",
    ),
    aliases=tuple((f"{part}.{{path}}", f"distilbert.{part}.{{path}}") for part in ("embeddings", "transformer")),
    ignored=("distilbert.embeddings.position_ids",),
)
_HEADS = {
    "mlm": KeyMap(
        rules(
            ("vocab_transform.*", "head.dense.*"),
            ("vocab_layer_norm.*", "head.norm.*"),
            ("vocab_projector.*", "head.proj.*"),
        )
    ),
    "classifier": KeyMap(rules(("pre_classifier.*", "pooler.*"), ("classifier.*", "head.proj.*"))),
    "tagger": KeyMap(rules(("classifier.*", "head.proj.*"))),
    "qa": KeyMap(rules(("qa_outputs.*", "head.proj.*"))),
    "none": KeyMap(()),
}


def distilbert_map(config: BertConfig, names: Names | None = None) -> KeyMap:
    return combine(_TRUNK, _HEADS.get(config.head, KeyMap(())))


def _parse(reader: ConfigReader, head: str, names: Names) -> ParsedConfig:
    activation = reader.activation("activation", "gelu")
    options = {
        "vocab_size": reader.integer("vocab_size"),
        "n_layers": reader.integer("n_layers"),
        "n_heads": reader.integer("n_heads"),
        "d_model": reader.integer("dim"),
        "d_ff": reader.integer("hidden_dim"),
        "max_len": reader.integer("max_position_embeddings"),
        "n_segments": 0,
        "norm_eps": 1e-12,
        "dropout": reader.number("dropout", 0.1),
        "tie_embeddings": reader.boolean("tie_word_embeddings", True),
        "activation": activation,
        "head": head,
        "n_labels": reader.n_labels(),
        "pooler": "relu" if head == "classifier" else "none",
        "next_sentence": False,
    }
    if head == "mlm":
        options["head_activation"] = activation
    return ParsedConfig(options, (NO_HEAD,) if head == "none" else ())


def _write(config: BertConfig) -> dict[str, Any]:
    return {
        "vocab_size": config.vocab_size,
        "n_layers": config.n_layers,
        "n_heads": config.n_heads,
        "dim": config.d_model,
        "hidden_dim": config.ff_width,
        "max_position_embeddings": config.max_len,
        "dropout": config.dropout,
        "attention_dropout": config.dropout,
        "tie_word_embeddings": config.tie_embeddings,
        "activation": HF_ACTIVATIONS.get(config.activation, config.activation),
        "sinusoidal_pos_embds": False,
        "pad_token_id": 0,
    }


DISTILBERT = Family(
    "distilbert",
    "bert",
    architectures={
        "DistilBertModel": "none",
        "DistilBertForMaskedLM": "mlm",
        "DistilBertForSequenceClassification": "classifier",
        "DistilBertForTokenClassification": "tagger",
        "DistilBertForQuestionAnswering": "qa",
    },
    head_prefixes={
        "mlm": ("vocab_transform.", "vocab_projector."),
        "classifier": ("pre_classifier.",),
        "tagger": ("classifier.",),
        "qa": ("qa_outputs.",),
    },
    parse=_parse,
    write=_write,
    key_map=distilbert_map,
)
