"""DistilBERT: BERT's stack under other names, without segments and without a pooler (Sanh et al. 2019)."""

from __future__ import annotations

from typing import Any

from core.config.families import BertConfig
from core.pretrained.facts import THEIR_ACTIVATION, Facts
from core.pretrained.families.family import NO_HEAD, Family, Names, Reading
from core.pretrained.key_maps import KeyMap, combined, lines

_TRUNK = KeyMap(
    lines(
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
        lines(
            ("vocab_transform.*", "head.dense.*"),
            ("vocab_layer_norm.*", "head.norm.*"),
            ("vocab_projector.*", "head.proj.*"),
        )
    ),
    "classifier": KeyMap(lines(("pre_classifier.*", "pooler.*"), ("classifier.*", "head.proj.*"))),
    "tagger": KeyMap(lines(("classifier.*", "head.proj.*"))),
    "qa": KeyMap(lines(("qa_outputs.*", "head.proj.*"))),
    "none": KeyMap(()),
}


def distilbert_map(config: BertConfig, names: Names | None = None) -> KeyMap:
    return combined(_TRUNK, _HEADS.get(config.head, KeyMap(())))


def _read(facts: Facts, head: str, names: Names) -> Reading:
    activation = facts.activation("activation", "gelu")
    options = {
        "vocab_size": facts.whole("vocab_size"),
        "n_layers": facts.whole("n_layers"),
        "n_heads": facts.whole("n_heads"),
        "d_model": facts.whole("dim"),
        "d_ff": facts.whole("hidden_dim"),
        "max_len": facts.whole("max_position_embeddings"),
        "n_segments": 0,
        "norm_eps": 1e-12,
        "dropout": facts.number("dropout", 0.1),
        "tie_embeddings": facts.flag("tie_word_embeddings", True),
        "activation": activation,
        "head": head,
        "n_labels": facts.n_labels(),
        "pooler": "relu" if head == "classifier" else "none",
        "next_sentence": False,
    }
    if head == "mlm":
        options["head_activation"] = activation
    return Reading(options, (NO_HEAD,) if head == "none" else ())


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
        "activation": THEIR_ACTIVATION.get(config.activation, config.activation),
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
    evidence={
        "mlm": ("vocab_transform.", "vocab_projector."),
        "classifier": ("pre_classifier.",),
        "tagger": ("classifier.",),
        "qa": ("qa_outputs.",),
    },
    read=_read,
    write=_write,
    key_map=distilbert_map,
)
