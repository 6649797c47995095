"""A family of Hugging Face checkpoints: its config.json and weight names, mapped to our options and weights and back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from core.config.families import Config
from core.pretrained.config_reader import ConfigReader
from core.pretrained.errors import PretrainedError
from core.pretrained.key_map import KeyMap
from core.translatable import Text

NO_HEAD = Text(
    "The checkpoint has no head: the logits are the hidden states themselves.",
)
TIED_HEAD = Text(
    "The checkpoint has no head of its own; as input and output are tied, the token table serves as one.",
)
Names = Collection[str]


@dataclass(frozen=True)
class ParsedConfig:
    """A config.json as options of our model."""

    options: dict[str, Any]
    notes: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Family:
    model_type: str  # theirs
    core_family: str  # ours, as `core.build` takes it
    architectures: dict[str, str]  # their class → our head
    head_prefixes: dict[str, tuple[str, ...]]  # our head → prefixes of its weights' names
    parse: Callable[[ConfigReader, str, Names], ParsedConfig]  # config.json, our head, the weights' names
    write: Callable[[Any], dict[str, Any]]  # our configuration → config.json, but architectures and model_type
    key_map: Callable[[Any, Names | None], KeyMap]  # by our configuration; names are None while writing

    def head(self, reader: ConfigReader, names: Names) -> str:
        """Our head for a checkpoint: by the names of its weights, and by the architecture where these do not decide."""
        architecture = reader.architecture()
        if architecture and architecture not in self.architectures:
            known = ", ".join(self.architectures)
            raise PretrainedError(
                "config.json says that this is a {architecture}, whose head models here cannot hold; "
                "known are: {known}.",
                architecture=architecture[:60],
                known=known,
            )
        declared = self.architectures.get(architecture, "none")
        stored = [
            head for head, prefixes in self.head_prefixes.items() if any(name.startswith(prefixes) for name in names)
        ]
        if declared in stored or not stored:
            return declared
        if declared == "none" and len(stored) == 1:
            return stored[0]
        weight = next(name for name in names if name.startswith(self.head_prefixes[stored[0]]))
        raise PretrainedError(
            "{weight} belongs to a head, but config.json says {architecture} under architectures.",
            weight=weight,
            architecture=architecture or Text("nothing"),
        )

    def architecture(self, config: Config) -> str:
        """Their class for a model of ours."""
        head = getattr(config, "head", "lm")
        classes = [name for name, ours in self.architectures.items() if ours == head]
        if not classes:
            raise PretrainedError(
                "head = {head!r} has no place in a {model_type} checkpoint.",
                head=head,
                model_type=self.model_type,
            )
        return classes[
            -1 if getattr(config, "has_next_sentence_head", False) else 0
        ]  # BERT has a class for both heads
