"""GPT-2 checkpoints: `config.json` in and out, and the key map from their weights to ours.

Their matrices are stored as (in, out), and queries, keys and values are fused in one matrix.
"""

from __future__ import annotations

from typing import Any

from core.config.families import GptConfig
from core.pretrained.config_reader import HF_ACTIVATIONS, ConfigReader
from core.pretrained.errors import PretrainedError
from core.pretrained.families.family import NO_HEAD, TIED_HEAD, Family, Names, ParsedConfig
from core.pretrained.key_map import KeyMap, combine, rules

_TRUNK = KeyMap(
    rules(
        ("wte.weight", "token_embedding.weight"),
        ("wpe.weight", "position_embedding.weight"),
        ("h.{i}.ln_1.*", "blocks.{i}.attn_norm.*"),
        ("h.{i}.ln_2.*", "blocks.{i}.ff_norm.*"),
        ("ln_f.*", "final_norm.*"),
        theirs="transformer.",
    )
    + rules(
        ("attn.c_attn.*", "attn.q_proj.* attn.k_proj.* attn.v_proj.*"),
        ("attn.c_proj.*", "attn.out_proj.*"),
        ("mlp.c_fc.*", "ff.in_proj.*"),
        ("mlp.c_proj.*", "ff.out_proj.*"),
        theirs="transformer.h.{i}.",
        ours="blocks.{i}.",
        transposed=True,
    ),
    aliases=(  # base models, and the first checkpoints
        ("wte.weight", "transformer.wte.weight"),
        ("wpe.weight", "transformer.wpe.weight"),
        ("h.{i}.{path}", "transformer.h.{i}.{path}"),
        ("ln_f.*", "transformer.ln_f.*"),
    ),
    ignored=("transformer.h.{i}.attn.bias", "transformer.h.{i}.attn.masked_bias"),  # the causal mask
)
_HEADS = {
    "lm": rules(("lm_head.weight", "head.proj.weight")),
    "classifier": rules(("score.weight", "head.proj.weight")),
    "tagger": rules(("classifier.*", "head.proj.*")),
    "qa": rules(("qa_outputs.*", "head.proj.*")),
}


def gpt2_map(config: GptConfig, names: Names | None = None) -> KeyMap:
    return combine(_TRUNK, KeyMap(_HEADS.get(config.head, ())))


def _parse(reader: ConfigReader, head: str, names: Names) -> ParsedConfig:
    reader.reject("add_cross_attention", "scale_attn_by_inverse_layer_idx", "pruned_heads")
    if not reader.boolean("scale_attn_weights", True):
        raise PretrainedError(
            "config.json sets scale_attn_weights = False: models here always divide scores by √d_head.",
        )
    width, tied = reader.integer("n_embd"), reader.boolean("tie_word_embeddings", True)
    notes = ()
    if head == "none":
        head, notes = ("lm", (TIED_HEAD,)) if tied else ("none", (NO_HEAD,))
    options = {
        "vocab_size": reader.integer("vocab_size"),
        "n_layers": reader.integer("n_layer"),
        "n_heads": reader.integer("n_head"),
        "d_model": width,
        "d_ff": reader.integer("n_inner", 4 * width),
        "max_len": reader.integer("n_positions"),
        "norm_eps": reader.number("layer_norm_epsilon", 1e-5),
        "dropout": reader.number("resid_pdrop", 0.1),
        "tie_embeddings": tied,
        "activation": reader.activation("activation_function", "gelu_new"),
        "head": head,
        "n_labels": reader.n_labels(),
        "classifier_bias": head != "classifier",
    }
    return ParsedConfig(options, notes)


def _write(config: GptConfig) -> dict[str, Any]:
    return {
        "vocab_size": config.vocab_size,
        "n_layer": config.n_layers,
        "n_head": config.n_heads,
        "n_embd": config.d_model,
        "n_inner": config.ff_width,
        "n_positions": config.max_len,
        "layer_norm_epsilon": config.norm_eps,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout,
        "tie_word_embeddings": config.tie_embeddings,
        "activation_function": HF_ACTIVATIONS.get(config.activation, config.activation),
        "bos_token_id": None,
        "eos_token_id": None,
    }


GPT2 = Family(
    "gpt2",
    "gpt",
    architectures={
        "GPT2LMHeadModel": "lm",
        "GPT2ForSequenceClassification": "classifier",
        "GPT2ForTokenClassification": "tagger",
        "GPT2ForQuestionAnswering": "qa",
        "GPT2Model": "none",
    },
    head_prefixes={
        "lm": ("lm_head.",),
        "classifier": ("score.",),
        "tagger": ("classifier.",),
        "qa": ("qa_outputs.",),
    },
    parse=_parse,
    write=_write,
    key_map=gpt2_map,
)
