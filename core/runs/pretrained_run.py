"""Pretrained checkpoints with the interface of a run: one snapshot, any text as input, no training steps.

The snapshot holds the checkpoint's own weights in float32, neither copied nor rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import cast

import torch
from torch import Tensor, nn

from core.capture.tape import Tape
from core.config.families import Config
from core.decoding import SpecialTokens, generate
from core.errors import InputError
from core.layers.task_heads.heads import IGNORE
from core.models import is_encoder_decoder
from core.tasks.base import FORMS, DataError
from core.tasks.layouts import Batch
from core.text.tokenizer import Tokenizer
from core.training.snapshots import Snapshot, replay, split_inputs_and_patterns
from core.translatable import Text, verbatim

MOST_GENERATED = 48  # tokens that an encoder–decoder generates for a text
SPELLINGS = {  # of the tasks' special tokens in the tokenizers of checkpoints
    "[MASK]": ("[MASK]", "<mask>"),
    "[CLS]": ("[CLS]", "<s>"),
    "[SEP]": ("[SEP]", "</s>"),
}


@dataclass(frozen=True)
class PretrainedSpec:
    """The model configuration of a checkpoint, in the place of a run's recipe."""

    model: Config

    @property
    def family(self) -> str:
        return self.model.family


class FreeTextTask:
    """The task of a checkpoint: any text its tokenizer can split; it has no known answers.

    Has those members of `Task` that a page on a checkpoint needs.
    """

    name = "text"
    help = Text("Any text: the model's own tokenizer cuts it.")
    chance = None
    label_names: list[Text]

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, labels: list[str], special_tokens: SpecialTokens):
        self.config, self.tokenizer = config_of(model), tokenizer
        head = getattr(self.config, "head", "none")
        self.forms = ("pairs" if is_encoder_decoder(model) else FORMS.get(head, "none"),)
        count = getattr(self.config, "n_labels", 0)
        self.label_names = [verbatim(label) for label in labels] or [Text("class {i}", i=i) for i in range(count)]
        self.special_tokens = special_tokens

    def form(self, model: nn.Module) -> str:
        return self.forms[0]

    def max_tokens(self, form: str) -> int:
        """The longest input, in tokens."""
        return self.config.max_len

    @cached_property
    def tokens(self) -> list[str]:
        """The text of each id; an embedding table is often longer than the vocabulary."""
        known = min(self.tokenizer.vocab_size, self.config.vocab_size)
        return [*self.tokenizer.show(range(known)), *(f"⟨{i}⟩" for i in range(known, self.config.vocab_size))]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The ids of the special tokens, by their names in tasks."""
        ids = {name: [self.tokenizer.id_of(spelling) for spelling in SPELLINGS[name]] for name in SPELLINGS}
        known = {name: [i for i in candidates if i is not None] for name, candidates in ids.items()}
        return {name: candidates[0] for name, candidates in known.items() if candidates}

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of special tokens that are no part of a text; without the mask, which stands for a part."""
        added = self.tokenizer.backend.get_added_tokens_decoder()
        return frozenset(i for i, token in added.items() if token.special) - {self.ids.get("[MASK]")}

    def spell_special_tokens(self, text: str) -> str:
        """The text with [MASK], [CLS] and [SEP] as this tokenizer spells them."""
        for name, i in self.ids.items():
            text = text.replace(name, self.tokenizer.tokens[i])
        return text

    def split_segments(self, text: str) -> tuple[str, str | None]:
        """The text, or its two parts around [SEP] if the model has segments."""
        if "[SEP]" not in self.ids or not getattr(self.config, "n_segments", 0):
            return text, None
        first, *rest = text.split(self.tokenizer.tokens[self.ids["[SEP]"]])
        rest = [part for part in rest if part.strip()]
        if len(rest) > 1:
            raise DataError("Type at most two texts, one [SEP] between them.")
        return first, rest[0] if rest else None

    def read(self, text: str) -> list[int]:
        ids = self.tokenizer.encode(*self.split_segments(self.spell_special_tokens(text)))
        if not set(ids) - self.special_ids:
            raise DataError("The input is empty.")
        if self.forms[0] == "stream" and len(ids) < 2:
            raise DataError("Type at least two tokens.")
        return ids

    def segments(self, text: str) -> list[int]:
        return self.tokenizer.segments(*self.split_segments(self.spell_special_tokens(text)))

    def show(self, ids: list[int]) -> list[str]:
        return [self.tokens[i] for i in ids]

    def say(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids)

    def solve(self, source: list[int]) -> None:
        return None


class PretrainedRun:
    """A checkpoint with the members of `Run` that views of it need. Read-only, so it can be shared between threads."""

    seed = None
    steps: tuple = ()  # its training is unknown

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        *,
        labels: list[str] | None = None,
        special_tokens: SpecialTokens,
    ):
        self.model = model.eval().requires_grad_(False)
        self.recipe = PretrainedSpec(config_of(model))
        self.task = FreeTextTask(model, tokenizer, labels or [], special_tokens)
        self.snapshots = [Snapshot(0, dict(model.named_parameters()))]

    def snapshot_models(self, *steps: int) -> Iterator[tuple[Snapshot, nn.Module]]:
        """Its one snapshot with the model itself, as `Run.snapshot_models`."""
        return iter([(self.snapshots[0], self.model)] if not steps or 0 in steps else [])

    def replay(self, *arguments: Tensor | str) -> list[Tape]:
        return replay(self.snapshot_models(), *split_inputs_and_patterns(arguments))

    def lay_out(self, text: str) -> Batch:
        """A text as model inputs; for an encoder–decoder the target is what the model generates for it."""
        ids = torch.tensor([self.task.read(text)])
        lengths, ignored = torch.tensor([ids.shape[1]]), torch.full_like(ids, IGNORE)
        form = self.task.forms[0]
        if form == "pairs":
            return self._with_generated_target(ids, lengths)
        if form == "stream":
            return Batch((ids, lengths), torch.cat([ids[:, 1:], ignored[:, :1]], dim=1), lengths)
        inputs = (ids, lengths)
        n_segments = getattr(self.task.config, "n_segments", None)  # None: not an encoder
        if n_segments is not None:  # 0 in DistilBERT, which ignores segments
            inputs = (*inputs, torch.tensor([self.task.segments(text)]).clamp(max=max(1, n_segments) - 1))
        return Batch(inputs, ignored[:, 0] if form == "label" else ignored, lengths)

    def _with_generated_target(self, ids: Tensor, lengths: Tensor) -> Batch:
        special_tokens = self.task.special_tokens
        most = min(MOST_GENERATED, self.task.config.max_len - 1)
        target = generate(self.model, ids, lengths, **asdict(special_tokens), max_new=most)
        decoder_input = torch.cat([torch.full_like(target[:, :1], special_tokens.bos), target[:, :-1]], dim=1)
        target_lengths = torch.tensor([target.shape[1]])
        return Batch((ids, decoder_input, lengths, target_lengths), target, target_lengths)


def config_of(model: nn.Module) -> Config:
    return cast(Config, model.config)


def check_vocabulary(model: nn.Module, tokenizer: Tokenizer) -> None:
    """`InputError` if the tokenizer has more tokens than the model has embeddings: it belongs to another model."""
    vocab_size = config_of(model).vocab_size
    if tokenizer.vocab_size > vocab_size:
        raise InputError(
            "The tokenizer knows {tokens:,} tokens, the model only {vocab_size:,}: they do not belong together.",
            tokens=tokenizer.vocab_size,
            vocab_size=vocab_size,
        )
