"""Saving a model of ours as a folder that transformers loads; written beside its place, then moved there as a whole."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from core.config.families import Config
from core.decoding import can_generate, special_tokens_of
from core.errors import ConfigError
from core.models import configure, is_encoder_decoder
from core.pretrained.checkpoint_folder import CONFIG, WEIGHTS
from core.pretrained.config_reader import ConfigReader
from core.pretrained.errors import PretrainedError
from core.pretrained.families import Family, family_by_config
from core.pretrained.key_map import KeyMapError, to_theirs
from core.text.tokenizer import Tokenizer

# Options that do not change what a model computes.
WITHOUT_EFFECT = {"checkpointing", "dropout"}
ONLY_WITH = {  # option → the other option, and its values, with which alone it has an effect
    "window": ("attention", ("local",)),
    "n_buckets": ("position", ("t5",)),
    "max_distance": ("position", ("t5",)),
    "n_conditions": ("norm", ("conditional",)),
    "n_labels": ("head", ("classifier", "tagger")),
    "head_activation": ("head", ("mlm",)),
    "classifier_bias": ("head", ("classifier",)),
}
DERIVED = {  # option that may be automatic → the property with its value
    "n_kv_heads": "kv_heads",
    "d_head": "head_width",
    "d_ff": "ff_width",
    "n_decoder_layers": "decoder_layers",
    "next_sentence": "has_next_sentence_head",
    "scale_output": "scales_output",
}
SPECIAL_TOKENS = {  # entry of tokenizer_config.json → the tokens that can be it
    "pad_token": ("[PAD]", "<pad>"),
    "unk_token": ("[UNK]", "<unk>"),
    "cls_token": ("[CLS]",),
    "sep_token": ("[SEP]",),
    "mask_token": ("[MASK]", "<mask>"),
    "bos_token": ("<s>", "<|endoftext|>"),
    "eos_token": ("</s>", "<|endoftext|>"),
}


def save_pretrained(model: nn.Module, folder: str | Path, tokenizer: Tokenizer | None = None) -> Path:
    """Write config.json, model.safetensors and, if given, the tokenizer, as a folder that transformers loads.

    The family follows from the model's options; an option that its checkpoints cannot represent is a
    `PretrainedError` that names it. The folder must be new, empty, or a checkpoint, which is then replaced.
    """
    folder, ours = Path(folder), model.config
    assert isinstance(ours, Config)
    family = family_by_config(ours)
    config = hf_config(ours, family) | hf_special_tokens(model)
    try:
        weights = to_theirs(model, family.key_map(ours, None))
    except KeyMapError as error:
        raise PretrainedError(error.text) from error
    check_round_trip(ours, config, weights, family)
    _check_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        fresh = Path(temporary) / "new"
        fresh.mkdir()
        (fresh / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
        save_file({name: weight.contiguous() for name, weight in weights.items()}, fresh / WEIGHTS, {"format": "pt"})
        if tokenizer is not None:
            _write_tokenizer(tokenizer, fresh, ours.max_len)
        if folder.exists():
            folder.rename(Path(temporary) / "old")
        fresh.rename(folder)
    return folder


def hf_config(config: Config, family: Family) -> dict[str, Any]:
    """The config.json of a model of ours, but its special tokens."""
    entries = {"architectures": [family.architecture(config)], "model_type": family.model_type, "dtype": "float32"}
    if getattr(config, "head", "") in ("classifier", "tagger"):
        labels = {str(i): f"LABEL_{i}" for i in range(config.to_dict()["n_labels"])}
        entries |= {"id2label": labels, "label2id": {label: int(i) for i, label in labels.items()}}
    return entries | family.write(config)


def hf_special_tokens(model: nn.Module) -> dict[str, Any]:
    """The entries of config.json with which transformers' `generate` begins, ends and pads as ours does."""
    if not can_generate(model):
        return {}
    special = special_tokens_of(model)
    bos = "decoder_start_token_id" if is_encoder_decoder(model) else "bos_token_id"
    eos = list(special.eos) if isinstance(special.eos, tuple) else special.eos
    return {bos: special.bos, "eos_token_id": eos, "pad_token_id": special.pad}


def check_round_trip(config: Config, hf_entries: dict[str, Any], names: dict[str, Any], family: Family) -> None:
    """Parse the config.json again: an option that comes back otherwise is not representable, and would be lost."""
    reader = ConfigReader(hf_entries)
    try:
        options = family.parse(reader, family.head(reader, names), names).options
        parsed = _effective_options(configure(family.core_family, **options))
    except ConfigError as error:
        raise _not_representable(family, error.option, error.value) from error
    for name, value in _effective_options(config).items():
        if parsed.get(name) != value:
            raise _not_representable(family, name, value)


def _effective_options(config: Config) -> dict[str, Any]:
    """The options that change what the model computes, automatic ones by their value."""
    options = {}
    for name, value in config.to_dict().items():
        other, values = ONLY_WITH.get(name, (None, ()))
        if name in WITHOUT_EFFECT or (other is not None and getattr(config, other, None) not in values):
            continue
        options[name] = getattr(config, DERIVED[name]) if name in DERIVED else value
    return options


def _not_representable(family: Family, name: str, value: Any) -> PretrainedError:
    return PretrainedError(
        "{name} = {value!r} has no place in a {model_type} checkpoint of Hugging Face.",
        name=name,
        value=value,
        model_type=family.model_type,
    )


def _check_folder(folder: Path) -> None:
    """Refuse to replace anything but a checkpoint."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise PretrainedError("{folder} is there already, and is no folder.", folder=folder)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / CONFIG).is_file():
        raise PretrainedError("{folder} holds something else; choose a new folder.", folder=folder)


def _write_tokenizer(tokenizer: Tokenizer, folder: Path, max_len: int) -> None:
    tokenizer.save(folder)
    special = {
        kind: token
        for kind, tokens in SPECIAL_TOKENS.items()
        for token in tokens
        if tokenizer.id_of(token) is not None
    }
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_len, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
