"""BERT checkpoints, and those with the same keys: RoBERTa (positions from row 2 on) and RoFormer (no position table).

`config.json` in and out, and the key map from their weights to ours.
"""

from __future__ import annotations

from typing import Any

from core.config.families import BertConfig
from core.pretrained.config_reader import HF_ACTIVATIONS, ConfigReader
from core.pretrained.families.family import NO_HEAD, Family, Names, ParsedConfig
from core.pretrained.key_map import KeyMap, combine, rules


def _trunk(prefix: str, positions: bool = True) -> KeyMap:
    """All weights but the head's; base models are saved without the prefix."""
    return KeyMap(
        rules(
            ("embeddings.word_embeddings.weight", "token_embedding.weight"),
            ("embeddings.token_type_embeddings.weight", "segment_embedding.weight"),
            ("embeddings.LayerNorm.*", "embedding_norm.*"),
            ("encoder.layer.{i}.attention.self.query.*", "blocks.{i}.attn.q_proj.*"),
            ("encoder.layer.{i}.attention.self.key.*", "blocks.{i}.attn.k_proj.*"),
            ("encoder.layer.{i}.attention.self.value.*", "blocks.{i}.attn.v_proj.*"),
            ("encoder.layer.{i}.attention.output.dense.*", "blocks.{i}.attn.out_proj.*"),
            ("encoder.layer.{i}.attention.output.LayerNorm.*", "blocks.{i}.attn_norm.*"),
            ("encoder.layer.{i}.intermediate.dense.*", "blocks.{i}.ff.in_proj.*"),
            ("encoder.layer.{i}.output.dense.*", "blocks.{i}.ff.out_proj.*"),
            ("encoder.layer.{i}.output.LayerNorm.*", "blocks.{i}.ff_norm.*"),
            theirs=prefix,
        )
        + (
            rules((f"{prefix}embeddings.position_embeddings.weight", "position_embedding.weight"))
            if positions
            else ()
        ),
        aliases=tuple(
            (f"{part}.{{path}}", f"{prefix}{part}.{{path}}") for part in ("embeddings", "encoder", "pooler")
        ),
        ignored=(f"{prefix}embeddings.position_ids", f"{prefix}encoder.embed_positions.weight"),
    )


HEADS = {
    "Model": "none",
    "ForMaskedLM": "mlm",
    "ForPreTraining": "mlm",
    "ForSequenceClassification": "classifier",
    "ForTokenClassification": "tagger",
    "ForQuestionAnswering": "qa",
}
CLASSIFIER = rules(("classifier.*", "head.proj.*"))
DEEP_CLASSIFIER = rules(("classifier.dense.*", "pooler.*"), ("classifier.out_proj.*", "head.proj.*"))
ANSWER = rules(("qa_outputs.*", "head.proj.*"))
OLD_NORMS = KeyMap(
    (),  # as the first checkpoints were written
    (("{path}.LayerNorm.gamma", "{path}.LayerNorm.weight"), ("{path}.LayerNorm.beta", "{path}.LayerNorm.bias")),
)


def _mlm_head(prefix: str, dense: str, norm: str, config: BertConfig, names: Names | None) -> KeyMap:
    """Their output bias has two names: with tied embeddings one weight, without them the decoder's own is used."""
    decoder, bias = f"{prefix}.decoder", f"{prefix}.bias"
    common = rules(
        (f"{prefix}.{dense}.*", "head.dense.*"),
        (f"{prefix}.{norm}.*", "head.norm.*"),
        (f"{decoder}.weight", "head.proj.weight"),
    )
    if not config.tie_embeddings and (names is None or f"{decoder}.bias" in names):
        return KeyMap(common + rules((f"{decoder}.bias", "head.proj.bias")), ignored=(bias,))
    return KeyMap(common + rules((bias, "head.proj.bias")), aliases=((f"{decoder}.bias", bias),))


def _predictions(config: BertConfig, names: Names | None) -> KeyMap:
    return _mlm_head("cls.predictions", "transform.dense", "transform.LayerNorm", config, names)


def _lm_head(config: BertConfig, names: Names | None) -> KeyMap:
    return _mlm_head("lm_head", "dense", "layer_norm", config, names)


def bert_map(config: BertConfig, names: Names | None = None) -> KeyMap:
    heads = {"classifier": KeyMap(CLASSIFIER), "tagger": KeyMap(CLASSIFIER), "qa": KeyMap(ANSWER)}
    if config.head == "mlm":
        heads["mlm"] = combine(
            _predictions(config, names), KeyMap(rules(("cls.seq_relationship.*", "next_sentence.*")))
        )
    pooler = KeyMap(rules(("bert.pooler.dense.*", "pooler.*")))
    return combine(_trunk("bert."), OLD_NORMS, pooler, heads.get(config.head, KeyMap(())))


def roberta_map(config: BertConfig, names: Names | None = None) -> KeyMap:
    heads = {"classifier": KeyMap(DEEP_CLASSIFIER), "tagger": KeyMap(CLASSIFIER), "qa": KeyMap(ANSWER)}
    if config.head == "mlm":
        heads["mlm"] = _lm_head(config, names)
    pooler = KeyMap(rules(("roberta.pooler.dense.*", "pooler.*")) if config.head != "classifier" else ())
    return combine(_trunk("roberta."), OLD_NORMS, pooler, heads.get(config.head, KeyMap(())))


def roformer_map(config: BertConfig, names: Names | None = None) -> KeyMap:
    heads = {"classifier": KeyMap(DEEP_CLASSIFIER), "tagger": KeyMap(CLASSIFIER), "qa": KeyMap(ANSWER)}
    if config.head == "mlm":
        heads["mlm"] = _predictions(config, names)
    return combine(_trunk("roformer.", positions=False), OLD_NORMS, heads.get(config.head, KeyMap(())))


def _parse(reader: ConfigReader, head: str, names: Names) -> ParsedConfig:
    """The options that BERT, RoBERTa and RoFormer have in common."""
    reader.reject("is_decoder", "add_cross_attention", "pruned_heads")
    activation = reader.activation("hidden_act", "gelu")
    options = {
        "vocab_size": reader.integer("vocab_size"),
        "n_layers": reader.integer("num_hidden_layers"),
        "n_heads": reader.integer("num_attention_heads"),
        "d_model": reader.integer("hidden_size"),
        "d_ff": reader.integer("intermediate_size"),
        "max_len": reader.integer("max_position_embeddings"),
        "n_segments": reader.integer("type_vocab_size", 2),
        "norm_eps": reader.number("layer_norm_eps", 1e-12),
        "dropout": reader.number("hidden_dropout_prob", 0.1),
        "tie_embeddings": reader.boolean("tie_word_embeddings", True),
        "activation": activation,
        "head": head,
        "n_labels": reader.n_labels(),
        "pooler": "tanh" if any("pooler.dense." in name for name in names) else "none",
        "next_sentence": False,
    }
    if head == "mlm":
        options["head_activation"] = activation
    return ParsedConfig(options, (NO_HEAD,) if head == "none" else ())


def _parse_bert(reader: ConfigReader, head: str, names: Names) -> ParsedConfig:
    _require_absolute_positions(reader)
    parsed = _parse(reader, head, names)
    parsed.options["next_sentence"] = any(name.startswith("cls.seq_relationship.") for name in names)
    return parsed


def _parse_roberta(reader: ConfigReader, head: str, names: Names) -> ParsedConfig:
    """Positions are numbered from pad_token_id + 1 on; the rows of the table before that are not used."""
    _require_absolute_positions(reader)
    parsed = _parse(reader, head, names)
    offset = reader.integer("pad_token_id", 1) + 1
    parsed.options.update(position_offset=offset, max_len=max(parsed.options["max_len"] - offset, 0))
    if head == "mlm":
        parsed.options["head_activation"] = "gelu"
    if head == "classifier":
        parsed.options["pooler"] = "tanh"
    return parsed


def _parse_roformer(reader: ConfigReader, head: str, names: Names) -> ParsedConfig:
    reader.reject("rotary_value")
    if reader.integer("embedding_size", reader.integer("hidden_size")) != reader.integer("hidden_size"):
        reader.reject("embedding_size")
    parsed = _parse(reader, head, names)
    if head == "classifier":
        parsed.options["pooler"] = reader.activation("hidden_act", "gelu")
    return parsed


def _require_absolute_positions(reader: ConfigReader) -> None:
    if reader.string("position_embedding_type", "absolute") != "absolute":
        reader.reject("position_embedding_type")


def _write(config: BertConfig) -> dict[str, Any]:
    return {
        "vocab_size": config.vocab_size,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "hidden_size": config.d_model,
        "intermediate_size": config.ff_width,
        "max_position_embeddings": config.max_len,
        "type_vocab_size": config.n_segments,
        "layer_norm_eps": config.norm_eps,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
        "tie_word_embeddings": config.tie_embeddings,
        "hidden_act": HF_ACTIVATIONS.get(config.activation, config.activation),
        "pad_token_id": 0,
    }


def _write_roberta(config: BertConfig) -> dict[str, Any]:
    rows = config.max_len + config.position_offset
    return _write(config) | {"max_position_embeddings": rows, "pad_token_id": config.position_offset - 1}


def _write_roformer(config: BertConfig) -> dict[str, Any]:
    return _write(config) | {"embedding_size": config.d_model, "rotary_value": False}


def _family(
    model_type: str, title: str, mlm: str, core_family: str = "bert", without: tuple[str, ...] = (), **functions: Any
) -> Family:
    architectures = {title + name: head for name, head in HEADS.items() if name not in without}
    head_prefixes: dict[str, tuple[str, ...]] = {
        "mlm": (mlm,), "classifier": ("classifier.",), "tagger": ("classifier.",), "qa": ("qa_outputs.",),
    }  # fmt: skip
    return Family(model_type, core_family, architectures, head_prefixes, **functions)


BERT = _family("bert", "Bert", "cls.predictions.", parse=_parse_bert, write=_write, key_map=bert_map)
ROBERTA = _family(
    "roberta", "Roberta", "lm_head.", without=("ForPreTraining",),
    parse=_parse_roberta, write=_write_roberta, key_map=roberta_map,
)  # fmt: skip
ROFORMER = _family(
    "roformer", "RoFormer", "cls.predictions.", "roformer", without=("ForPreTraining",),
    parse=_parse_roformer, write=_write_roformer, key_map=roformer_map,
)  # fmt: skip
