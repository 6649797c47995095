"""What one family of checkpoints is: how its config.json reads, and where its weights go."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from core.config.families import Config
from core.messages import Text
from core.pretrained.errors import PretrainedError
from core.pretrained.facts import Facts
from core.pretrained.key_maps import KeyMap

NO_HEAD = Text(
    "The checkpoint has no head: the logits are the hidden states themselves.",
)
TIED_HEAD = Text(
    "The checkpoint has no head of its own; as input and output are tied, the token table serves as one.",
)
Names = Collection[str]


@dataclass(frozen=True)
class Reading:
    """A config.json in our words."""

    options: dict[str, Any]
    notes: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Family:
    model_type: str
    ours: str  # our family
    architectures: dict[str, str]  # their class → our head
    evidence: dict[str, tuple[str, ...]]  # our head → how the names of its weights begin
    read: Callable[[Facts, str, Names], Reading]  # config.json, our head, the weights' names
    write: Callable[[Any], dict[str, Any]]  # the other way round, without architectures and model_type
    key_map: Callable[[Any, Names | None], KeyMap]  # by our configuration; names are None while writing

    def head(self, facts: Facts, names: Names) -> str:
        """Which head the weights are of; the architecture decides where names do not."""
        architecture = facts.architecture()
        if architecture and architecture not in self.architectures:
            known = ", ".join(self.architectures)
            raise PretrainedError(
                "config.json says that this is a {architecture}, whose head models here cannot hold; "
                "known are: {known}.",
                architecture=architecture[:60],
                known=known,
            )
        said = self.architectures.get(architecture, "none")
        found = [head for head, prefixes in self.evidence.items() if any(name.startswith(prefixes) for name in names)]
        if said in found or not found:
            return said
        if said == "none" and len(found) == 1:
            return found[0]
        weight = next(name for name in names if name.startswith(self.evidence[found[0]]))
        raise PretrainedError(
            "{weight} belongs to a head, but config.json says {architecture} under architectures.",
            weight=weight,
            architecture=architecture or Text("nothing"),
        )

    def architecture(self, config: Config) -> str:
        """Their class for a model of ours."""
        head = getattr(config, "head", "lm")
        found = [name for name, ours in self.architectures.items() if ours == head]
        if not found:
            raise PretrainedError(
                "head = {head!r} has no place in a {model_type} checkpoint.",
                head=head,
                model_type=self.model_type,
            )
        return found[-1 if getattr(config, "has_next_sentence_head", False) else 0]  # BERT has a class for both heads
