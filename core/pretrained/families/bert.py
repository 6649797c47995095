"""BERT, and those that share its names: RoBERTa (positions from row 2 on) and RoFormer (no position table)."""

from __future__ import annotations

from typing import Any

from core.config.families import BertConfig
from core.pretrained.facts import THEIR_ACTIVATION, Facts
from core.pretrained.families.family import NO_HEAD, Family, Names, Reading
from core.pretrained.key_maps import KeyMap, combined, lines


def _trunk(prefix: str, positions: bool = True) -> KeyMap:
    """Everything but the head; base models are saved without the prefix."""
    return KeyMap(
        lines(
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
            lines((f"{prefix}embeddings.position_embeddings.weight", "position_embedding.weight"))
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
CLASSIFIER = lines(("classifier.*", "head.proj.*"))
DEEP_CLASSIFIER = lines(("classifier.dense.*", "pooler.*"), ("classifier.out_proj.*", "head.proj.*"))
ANSWER = lines(("qa_outputs.*", "head.proj.*"))
OLD_NORMS = KeyMap(
    (),  # as the first checkpoints were written
    (("{path}.LayerNorm.gamma", "{path}.LayerNorm.weight"), ("{path}.LayerNorm.beta", "{path}.LayerNorm.bias")),
)


def _masked_tokens(dense: str, norm: str, decoder: str, bias: str, config: BertConfig, names: Names | None) -> KeyMap:
    """Their output bias has two names: of a tied table they are one weight, else the decoder's own is what counts."""
    place = lines(
        (f"{dense}.*", "head.dense.*"), (f"{norm}.*", "head.norm.*"), (f"{decoder}.weight", "head.proj.weight")
    )
    if not config.tie_embeddings and (names is None or f"{decoder}.bias" in names):
        return KeyMap(place + lines((f"{decoder}.bias", "head.proj.bias")), ignored=(bias,))
    return KeyMap(place + lines((bias, "head.proj.bias")), aliases=((f"{decoder}.bias", bias),))


def _predictions(config: BertConfig, names: Names | None) -> KeyMap:
    parts = "transform.dense", "transform.LayerNorm", "decoder", "bias"
    return _masked_tokens(*(f"cls.predictions.{part}" for part in parts), config, names)


def _lm_head(config: BertConfig, names: Names | None) -> KeyMap:
    return _masked_tokens(*(f"lm_head.{part}" for part in ("dense", "layer_norm", "decoder", "bias")), config, names)


def bert_map(config: BertConfig, names: Names | None = None) -> KeyMap:
    heads = {"classifier": KeyMap(CLASSIFIER), "tagger": KeyMap(CLASSIFIER), "qa": KeyMap(ANSWER)}
    if config.head == "mlm":
        heads["mlm"] = combined(
            _predictions(config, names), KeyMap(lines(("cls.seq_relationship.*", "next_sentence.*")))
        )
    pooler = KeyMap(lines(("bert.pooler.dense.*", "pooler.*")))
    return combined(_trunk("bert."), OLD_NORMS, pooler, heads.get(config.head, KeyMap(())))


def roberta_map(config: BertConfig, names: Names | None = None) -> KeyMap:
    heads = {"classifier": KeyMap(DEEP_CLASSIFIER), "tagger": KeyMap(CLASSIFIER), "qa": KeyMap(ANSWER)}
    if config.head == "mlm":
        heads["mlm"] = _lm_head(config, names)
    pooler = KeyMap(lines(("roberta.pooler.dense.*", "pooler.*")) if config.head != "classifier" else ())
    return combined(_trunk("roberta."), OLD_NORMS, pooler, heads.get(config.head, KeyMap(())))


def roformer_map(config: BertConfig, names: Names | None = None) -> KeyMap:
    heads = {"classifier": KeyMap(DEEP_CLASSIFIER), "tagger": KeyMap(CLASSIFIER), "qa": KeyMap(ANSWER)}
    if config.head == "mlm":
        heads["mlm"] = _predictions(config, names)
    return combined(_trunk("roformer.", positions=False), OLD_NORMS, heads.get(config.head, KeyMap(())))


def _read(facts: Facts, head: str, names: Names) -> Reading:
    """What the three have in common."""
    facts.never("is_decoder", "add_cross_attention", "pruned_heads")
    activation = facts.activation("hidden_act", "gelu")
    options = {
        "vocab_size": facts.whole("vocab_size"),
        "n_layers": facts.whole("num_hidden_layers"),
        "n_heads": facts.whole("num_attention_heads"),
        "d_model": facts.whole("hidden_size"),
        "d_ff": facts.whole("intermediate_size"),
        "max_len": facts.whole("max_position_embeddings"),
        "n_segments": facts.whole("type_vocab_size", 2),
        "norm_eps": facts.number("layer_norm_eps", 1e-12),
        "dropout": facts.number("hidden_dropout_prob", 0.1),
        "tie_embeddings": facts.flag("tie_word_embeddings", True),
        "activation": activation,
        "head": head,
        "n_labels": facts.n_labels(),
        "pooler": "tanh" if any("pooler.dense." in name for name in names) else "none",
        "next_sentence": False,
    }
    if head == "mlm":
        options["head_activation"] = activation
    return Reading(options, (NO_HEAD,) if head == "none" else ())


def _read_bert(facts: Facts, head: str, names: Names) -> Reading:
    _only_absolute_positions(facts)
    read = _read(facts, head, names)
    read.options["next_sentence"] = any(name.startswith("cls.seq_relationship.") for name in names)
    return read


def _read_roberta(facts: Facts, head: str, names: Names) -> Reading:
    """Positions are counted from the padding's id on; its own row, and those before, are never looked up."""
    _only_absolute_positions(facts)
    read = _read(facts, head, names)
    offset = facts.whole("pad_token_id", 1) + 1
    read.options.update(position_offset=offset, max_len=max(read.options["max_len"] - offset, 0))
    if head == "mlm":
        read.options["head_activation"] = "gelu"
    if head == "classifier":
        read.options["pooler"] = "tanh"
    return read


def _read_roformer(facts: Facts, head: str, names: Names) -> Reading:
    facts.never("rotary_value")
    if facts.whole("embedding_size", facts.whole("hidden_size")) != facts.whole("hidden_size"):
        facts.never("embedding_size")
    read = _read(facts, head, names)
    if head == "classifier":
        read.options["pooler"] = facts.activation("hidden_act", "gelu")
    return read


def _only_absolute_positions(facts: Facts) -> None:
    if facts.word("position_embedding_type", "absolute") != "absolute":
        facts.never("position_embedding_type")


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
        "hidden_act": THEIR_ACTIVATION.get(config.activation, config.activation),
        "pad_token_id": 0,
    }


def _write_roberta(config: BertConfig) -> dict[str, Any]:
    rows = config.max_len + config.position_offset
    return _write(config) | {"max_position_embeddings": rows, "pad_token_id": config.position_offset - 1}


def _write_roformer(config: BertConfig) -> dict[str, Any]:
    return _write(config) | {"embedding_size": config.d_model, "rotary_value": False}


def _family(
    model_type: str, title: str, mlm: str, ours: str = "bert", without: tuple[str, ...] = (), **ways: Any
) -> Family:
    architectures = {title + name: head for name, head in HEADS.items() if name not in without}
    evidence = {
        "mlm": (mlm,), "classifier": ("classifier.",), "tagger": ("classifier.",), "qa": ("qa_outputs.",),
    }  # fmt: skip
    return Family(model_type, ours, architectures, evidence, **ways)


BERT = _family("bert", "Bert", "cls.predictions.", read=_read_bert, write=_write, key_map=bert_map)
ROBERTA = _family(
    "roberta", "Roberta", "lm_head.", without=("ForPreTraining",),
    read=_read_roberta, write=_write_roberta, key_map=roberta_map,
)  # fmt: skip
ROFORMER = _family(
    "roformer", "RoFormer", "cls.predictions.", "roformer", without=("ForPreTraining",),
    read=_read_roformer, write=_write_roformer, key_map=roformer_map,
)  # fmt: skip
