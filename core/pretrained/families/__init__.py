"""The families of checkpoints, by the `model_type` of their config.json."""

from __future__ import annotations

from core.config.families import BertConfig, Config, GptConfig, RoformerConfig, T5Config
from core.pretrained.errors import PretrainedError
from core.pretrained.families.bert import BERT, ROBERTA, ROFORMER
from core.pretrained.families.distilbert import DISTILBERT
from core.pretrained.families.family import Family
from core.pretrained.families.gpt2 import GPT2
from core.pretrained.families.t5 import T5

FAMILIES: dict[str, Family] = {
    family.model_type: family for family in (BERT, ROBERTA, DISTILBERT, ROFORMER, GPT2, T5)
}


def family_by_model_type(model_type: str) -> Family:
    if model_type not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise PretrainedError(
            "config.json says model_type = {model_type!r}; known are: {known}.",
            model_type=model_type[:60],
            known=known,
        )
    return FAMILIES[model_type]


def family_by_config(config: Config) -> Family:
    """The family that a model of ours is saved as, by the options that tell them apart."""
    match config:
        case RoformerConfig():
            return ROFORMER
        case BertConfig(n_segments=0):
            return DISTILBERT
        case BertConfig(position_offset=offset):
            return ROBERTA if offset else BERT
        case GptConfig():
            return GPT2
        case T5Config():
            return T5
    raise PretrainedError(
        "A {family} has no place among Hugging Face's models: bert, roformer, gpt and t5 can be saved so.",
        family=config.family,
    )
