"""From a model of ours to a folder that transformers loads: written beside its place, then moved there as a whole."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from core.config.families import Config
from core.decoding import special_tokens_of, writes
from core.errors import ConfigError
from core.models import configure, is_encoder_decoder
from core.pretrained.errors import PretrainedError
from core.pretrained.facts import Facts
from core.pretrained.families import Family, family_for
from core.pretrained.folder import CONFIG, WEIGHTS
from core.pretrained.key_maps import KeyMapError, to_theirs
from core.text.tokenizer import Tokenizer

# Options that do not change what a model computes, or not in every model.
WITHOUT_EFFECT = {"checkpointing", "dropout"}
ONLY_WITH = {
    "window": ("attention", ("local",)),
    "n_buckets": ("position", ("t5",)),
    "max_distance": ("position", ("t5",)),
    "n_conditions": ("norm", ("conditional",)),
    "n_labels": ("head", ("classifier", "tagger")),
    "head_activation": ("head", ("mlm",)),
    "classifier_bias": ("head", ("classifier",)),
}
# Those that may be left automatic, by what they come to.
DERIVED = {
    "n_kv_heads": "kv_heads",
    "d_head": "head_width",
    "d_ff": "ff_width",
    "n_decoder_layers": "decoder_layers",
    "next_sentence": "has_next_sentence_head",
    "scale_output": "scales_output",
}
SPECIAL = {
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

    The family is read off the model's options; one that no checkpoint can tell of is a `PretrainedError` that names
    it. The folder must be new, empty, or a checkpoint, which is then replaced.
    """
    folder = Path(folder)
    family = family_for(model.config)
    config = their_config(model.config, family) | their_signs(model)
    try:
        weights = to_theirs(model, family.key_map(model.config, None))
    except KeyMapError as error:
        raise PretrainedError(error.text) from error
    check_told(model.config, config, weights, family)
    _check_place(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
        fresh = Path(beside) / "new"
        fresh.mkdir()
        (fresh / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
        save_file({name: weight.contiguous() for name, weight in weights.items()}, fresh / WEIGHTS, {"format": "pt"})
        if tokenizer is not None:
            _write_tokenizer(tokenizer, fresh, model.config.max_len)
        if folder.exists():
            folder.rename(Path(beside) / "old")
        fresh.rename(folder)
    return folder


def their_config(config: Config, family: Family) -> dict[str, Any]:
    told = {"architectures": [family.architecture(config)], "model_type": family.model_type, "dtype": "float32"}
    if getattr(config, "head", "") in ("classifier", "tagger"):
        labels = {str(i): f"LABEL_{i}" for i in range(config.n_labels)}
        told |= {"id2label": labels, "label2id": {label: int(i) for i, label in labels.items()}}
    return told | family.write(config)


def their_signs(model: nn.Module) -> dict[str, Any]:
    """With what it begins and ends what it writes: what `generate` takes here, it takes there."""
    if not writes(model):
        return {}
    signs, begin = special_tokens_of(model), "decoder_start_token_id" if is_encoder_decoder(model) else "bos_token_id"
    eos = list(signs.eos) if isinstance(signs.eos, tuple) else signs.eos
    return {begin: signs.bos, "eos_token_id": eos, "pad_token_id": signs.pad}


def check_told(config: Config, theirs: dict[str, Any], names: dict[str, Any], family: Family) -> None:
    """Read what was written: whatever does not come back cannot be told, and would be computed otherwise there."""
    facts = Facts(theirs)
    try:
        back = configure(family.ours, **family.read(facts, family.head(facts, names), names).options)
    except ConfigError as error:
        raise _untold(family, error.option, error.value) from error
    wanted, got = _effects(config), _effects(back)
    for name, value in wanted.items():
        if got.get(name) != value:
            raise _untold(family, name, value)


def _effects(config: Config) -> dict[str, Any]:
    found = {}
    for name, value in config.to_dict().items():
        other, values = ONLY_WITH.get(name, (None, ()))
        if name in WITHOUT_EFFECT or (other is not None and getattr(config, other, None) not in values):
            continue
        found[name] = getattr(config, DERIVED[name]) if name in DERIVED else value
    return found


def _untold(family: Family, name: str, value: Any) -> PretrainedError:
    return PretrainedError(
        "{name} = {value!r} has no place in a {model_type} checkpoint of Hugging Face.",
        name=name,
        value=value,
        model_type=family.model_type,
    )


def _check_place(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise PretrainedError("{folder} is there already, and is no folder.", folder=folder)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / CONFIG).is_file():
        raise PretrainedError("{folder} holds something else; choose a new folder.", folder=folder)


def _write_tokenizer(tokenizer: Tokenizer, folder: Path, max_len: int) -> None:
    tokenizer.save(folder)
    special = {
        kind: token for kind, tokens in SPECIAL.items() for token in tokens if tokenizer.id_of(token) is not None
    }
    told = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_len, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(told, indent=2) + "\n", "utf-8")
