"""The model families by name: `models`, `configure` and `build`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from core.config.families import CONFIGS, Config
from core.config.presets import PRESETS
from core.errors import ConfigError, unknown_name
from core.models.bert import Bert
from core.models.gpt import Gpt
from core.models.gru import Gru
from core.models.lstm import Lstm
from core.models.rnn import Rnn
from core.models.roformer import Roformer
from core.models.seq2seq import Seq2Seq
from core.models.t5 import T5
from core.models.transformer import Transformer
from core.translatable import Text

FAMILIES: dict[str, type[nn.Module]] = {  # each with the configuration in `core/config/families.py` that names it
    "rnn": Rnn,
    "gru": Gru,
    "lstm": Lstm,
    "seq2seq": Seq2Seq,
    "transformer": Transformer,
    "bert": Bert,
    "roformer": Roformer,
    "gpt": Gpt,
    "t5": T5,
}


def models() -> list[str]:
    """The names of all families, in the order in which they were published."""
    return list(FAMILIES)


def configure(name: str, /, **options: Any) -> Config:
    """The checked configuration of a family or a preset, with some options changed."""
    if name in PRESETS:
        preset = PRESETS[name]
        return configure(preset.family, **{**preset.options, **options})
    if name not in FAMILIES:
        raise unknown_name("name", name, Text("there is no such model."), [*FAMILIES, *PRESETS])
    if name not in CONFIGS:
        raise ConfigError(
            "name",
            name,
            Text("no configuration in core/config/families.py names this family."),
            Text("Give its class the line family = {name!r}.", name=name),
        )
    return CONFIGS[name].make(**options)


def build(name: str | Config, /, *, device: str | torch.device | None = None, **options: Any) -> nn.Module:
    """A new model of a family (`"gpt"`), a preset (`"bert-base"`) or a configuration, with some options changed.

    On `device="meta"` no memory is allocated, whatever the model's size.
    """
    if isinstance(name, Config):
        if getattr(name, "family", None) not in FAMILIES:
            raise _not_a_family(type(name))
        config = type(name).make(**{**name.to_dict(), **options}) if options else name
    else:
        config = configure(name, **options)
    with _checked_device(device or "cpu"):
        return FAMILIES[config.family](config)


def _checked_device(device: str | torch.device) -> torch.device:
    try:
        torch.empty(0, device=device)
        return torch.device(device)
    except (AssertionError, RuntimeError, TypeError) as error:  # what torch raises differs from device to device
        there = ", ".join(["cpu", *(["cuda"] if torch.cuda.is_available() else []), "meta"])
        raise ConfigError(
            "device",
            device,
            Text("torch has no such device here."),
            Text("Use one of: {there}.", there=there),
        ) from error


def _not_a_family(kind: type[Config]) -> ConfigError:
    """The error for a configuration that several families share, or one whose family has no model class."""
    why = Text("it is not that of a family in FAMILIES (core/models/registry.py).")
    return unknown_name("config", kind.__name__, why, [CONFIGS[family].__name__ for family in FAMILIES])


def is_encoder_decoder(model: nn.Module | type[nn.Module]) -> bool:
    """Whether it reads a source and a target (has `encode` and `decode`), or one sequence."""
    return hasattr(model, "encode")
