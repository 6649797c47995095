"""A model that somebody else trained, with the face of a run: one moment, any text, no training to look back on.

Nothing is copied or rounded on the way to the pictures: what is shown are the checkpoint's own weights, in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from core.capture.tape import Tape
from core.config.families import Config
from core.decoding import SpecialTokens, generate
from core.errors import InputError
from core.layers.task_heads.heads import IGNORE
from core.messages import Text, verbatim
from core.models import is_encoder_decoder
from core.tasks.base import FORMS, DataError
from core.tasks.layouts import Batch
from core.text.tokenizer import Tokenizer
from core.training.snapshots import Snapshot, inputs_and_patterns, replay

MOST_WRITTEN = 48  # tokens that an encoder–decoder is let write in answer to a text
NAMES = {  # what tokenizers call the tokens that tasks here call so
    "[MASK]": ("[MASK]", "<mask>"),
    "[CLS]": ("[CLS]", "<s>"),
    "[SEP]": ("[SEP]", "</s>"),
}


@dataclass(frozen=True)
class PretrainedSpec:
    """What stands where a run has its recipe."""

    model: Config

    @property
    def family(self) -> str:
        return self.model.family


class FreeTextTask:
    """What a checkpoint is asked: any text its tokenizer can cut. Nobody here knows the right answer."""

    name = "text"
    help = Text("Any text: the model's own tokenizer cuts it.")
    chance = None
    label_names: list[Text]

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, labels: list[str], signs: SpecialTokens):
        self.config, self.tokenizer = model.config, tokenizer
        head = getattr(model.config, "head", None)
        self.forms = ("pairs" if is_encoder_decoder(model) else FORMS.get(head, "none"),)
        count = getattr(model.config, "n_labels", 0)
        self.label_names = [verbatim(one) for one in labels] or [Text("class {i}", i=i) for i in range(count)]
        self.signs = signs

    def form(self, model: nn.Module) -> str:
        return self.forms[0]

    def max_tokens(self, form: str) -> int:
        """Tokens in the longest row it may have seen in training."""
        return self.config.max_len

    @cached_property
    def tokens(self) -> list[str]:
        """What each id is called; a table is often longer than its vocabulary."""
        known = min(self.tokenizer.vocab_size, self.config.vocab_size)
        return [*self.tokenizer.show(range(known)), *(f"⟨{i}⟩" for i in range(known, self.config.vocab_size))]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The tokens with a meaning of their own, as tasks call them."""
        spelt = {name: [one for one in ways if self.tokenizer.id_of(one) is not None] for name, ways in NAMES.items()}
        return {name: self.tokenizer.id_of(ways[0]) for name, ways in spelt.items() if ways}

    @cached_property
    def special(self) -> frozenset[int]:
        """Tokens that are no part of a text; a mask stands for one that is."""
        added = self.tokenizer.backend.get_added_tokens_decoder()
        return frozenset(i for i, token in added.items() if token.special) - {self.ids.get("[MASK]")}

    def own_names(self, text: str) -> str:
        """With [MASK] and [SEP] as this tokenizer spells them."""
        for name, i in self.ids.items():
            text = text.replace(name, self.tokenizer.tokens[i])
        return text

    def parts(self, text: str) -> tuple[str, str | None]:
        """One text, or two with [SEP] between them where the model tells segments apart."""
        if "[SEP]" not in self.ids or not getattr(self.config, "n_segments", 0):
            return text, None
        first, *rest = text.split(self.tokenizer.tokens[self.ids["[SEP]"]])
        rest = [part for part in rest if part.strip()]
        if len(rest) > 1:
            raise DataError("Type at most two texts, one [SEP] between them.")
        return first, rest[0] if rest else None

    def read(self, text: str) -> list[int]:
        ids = self.tokenizer.encode(*self.parts(self.own_names(text)))
        if not set(ids) - self.special:
            raise DataError("The input is empty.")
        if self.forms[0] == "stream" and len(ids) < 2:
            raise DataError("Type at least two tokens.")
        return ids

    def segments(self, text: str) -> list[int]:
        return self.tokenizer.segments(*self.parts(self.own_names(text)))

    def show(self, ids: list[int]) -> list[str]:
        return [self.tokens[i] for i in ids]

    def say(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids)

    def solve(self, source: list[int]) -> None:
        return None


class PretrainedRun:
    """One model for everybody who looks at it: it is only read."""

    seed = None
    steps: tuple = ()  # of training: unknown

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, *, labels: list[str] | None = None, signs: SpecialTokens
    ):
        self.model = model.eval().requires_grad_(False)
        self.recipe = PretrainedSpec(model.config)
        self.task = FreeTextTask(model, tokenizer, labels or [], signs)
        self.snapshots = [Snapshot(0, dict(model.named_parameters()))]

    def views(self, *steps: int) -> Iterator[tuple[Snapshot, nn.Module]]:
        """Its one moment, with the model itself."""
        return iter([(self.snapshots[0], self.model)] if not steps or 0 in steps else [])

    def replay(self, *arguments: Tensor | str) -> list[Tape]:
        return replay(self.views(), *inputs_and_patterns(arguments))

    def lay_out(self, text: str) -> Batch:
        """A text as the model takes it; an encoder–decoder is also given what it writes in answer."""
        ids = torch.tensor([self.task.read(text)])
        lengths, nothing = torch.tensor([ids.shape[1]]), torch.full_like(ids, IGNORE)
        form = self.task.forms[0]
        if form == "pairs":
            return self._answered(ids, lengths)
        if form == "stream":
            return Batch((ids, lengths), torch.cat([ids[:, 1:], nothing[:, :1]], dim=1), lengths)
        inputs = (ids, lengths)
        if hasattr(self.model.config, "n_segments"):  # of an encoder; DistilBERT has none and takes no notice
            kinds = max(1, self.model.config.n_segments)
            inputs = (*inputs, torch.tensor([self.task.segments(text)]).clamp(max=kinds - 1))
        return Batch(inputs, nothing[:, 0] if form == "label" else nothing, lengths)

    def _answered(self, ids: Tensor, lengths: Tensor) -> Batch:
        most = min(MOST_WRITTEN, self.model.config.max_len - 1)
        written = generate(self.model, ids, lengths, **asdict(self.task.signs), max_new=most)
        given = torch.cat([torch.full_like(written[:, :1], self.task.signs.bos), written[:, :-1]], dim=1)
        written_lengths = torch.tensor([written.shape[1]])
        return Batch((ids, given, lengths, written_lengths), written, written_lengths)


def check_vocabulary(model: nn.Module, tokenizer: Tokenizer) -> None:
    """A tokenizer that cuts into tokens the model has no vector for belongs to another model."""
    if tokenizer.vocab_size > model.config.vocab_size:
        raise InputError(
            "The tokenizer knows {tokens:,} tokens, the model only {vocab_size:,}: they do not belong together.",
            tokens=tokenizer.vocab_size,
            vocab_size=model.config.vocab_size,
        )
