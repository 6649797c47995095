"""Small models of every family, all values of their options, and padded batches and losses that fit them."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import core
from core.config.families import CONFIGS
from core.config.options import Option
from core.layers.masks import valid_mask
from core.layers.task_heads.heads import IGNORE
from core.models import is_encoder_decoder

torch.set_num_threads(1)  # for tensors this small, more threads only wait for each other

FAMILIES = core.models()
RECURRENT = ["rnn", "gru", "lstm"]
ATTENTIVE = ["transformer", "bert", "roformer", "gpt", "t5"]
POSITIONS = ["sinusoidal", "learned", "rope", "alibi", "t5", "none"]

SIZES = {
    "vocab_size": 11, "n_layers": 2, "max_len": 12, "d_embed": 6, "d_hidden": 4, "d_model": 8, "n_heads": 2,
    "d_ff": 12, "window": 2, "n_buckets": 8, "max_distance": 16, "n_labels": 3,
}  # fmt: skip


def small_config(family: str, /, **options: Any) -> core.Config:
    known = {option.name for option in CONFIGS[family].options()}
    return core.configure(family, **{**{name: size for name, size in SIZES.items() if name in known}, **options})


def small(family: str, /, **options: Any) -> nn.Module:
    """A small model in eval mode with no weight left at zero, so that every one of them matters."""
    torch.manual_seed(0)
    model = core.build(small_config(family, **options)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def values(option: Option) -> list[Any]:
    """Every choice, both booleans, or a few numbers within the range; None where it may be left out."""
    if option.kind is str:
        choices = list(option.choices)
    elif option.kind is bool:
        choices = [False, True]
    elif option.kind is int:
        few = (1, 3) if option.name.endswith("layers") else (0, 1, 3, 4, 8, 16)
        choices = [value for value in few if option.low <= value <= option.high]
    else:
        choices = [option.low, option.default, min(option.high, option.low + 0.3)]
    return [*choices, None] if option.optional else choices


def variants(family: str) -> list[dict[str, Any]]:
    """All ways to change one option of the small model that its configuration accepts."""
    changes = []
    for option in CONFIGS[family].options():
        for value in values(option):
            try:
                small_config(family, **{option.name: value})
            except core.ConfigError:
                continue
            changes.append({option.name: value})
    return changes


def label(options: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in options.items()) or "default"


def batch(model: nn.Module, seed: int = 0, lengths: tuple[int, ...] = (7, 3, 1)) -> dict[str, Tensor]:
    """Three padded sequences (or pairs of them) as keyword arguments; longer than the model takes, they are cut."""
    config, random = model.config, torch.Generator().manual_seed(seed)
    valid = torch.tensor(lengths).clamp(max=config.max_len)

    def ids(valid: Tensor) -> Tensor:
        return torch.randint(config.vocab_size, (len(valid), int(valid.max())), generator=random)

    if is_encoder_decoder(model):
        target = valid.roll(1).clamp(max=5)
        inputs = {"src": ids(valid), "tgt": ids(target), "src_lengths": valid, "tgt_lengths": target}
    else:
        inputs = {"ids": ids(valid), "lengths": valid}
    if getattr(config, "n_segments", 0):
        inputs["segments"] = torch.randint(config.n_segments, inputs["ids"].shape, generator=random)
    if getattr(config, "norm", None) == "conditional" and config.norm_placement != "none":
        inputs["condition"] = torch.randint(config.n_conditions, valid.shape, generator=random)
    return inputs


def predicted_lengths(inputs: dict[str, Tensor]) -> Tensor:
    return inputs["tgt_lengths"] if "tgt" in inputs else inputs["lengths"]


def loss_of(model: nn.Module, output: Any, inputs: dict[str, Tensor]) -> Tensor:
    """The loss of the model's head on random targets of the right shape; padding does not count."""
    config, random = model.config, torch.Generator().manual_seed(1)
    lengths = predicted_lengths(inputs)
    rows, time = len(lengths), int(lengths.max())
    kind = getattr(config, "head", "lm")
    if kind == "none":
        return model.head.loss(output.logits, torch.zeros_like(output.logits), lengths)
    if kind == "classifier":
        target = torch.randint(config.n_labels, (rows,), generator=random)
    elif kind == "qa":
        target = torch.stack([torch.zeros_like(lengths), lengths - 1], dim=-1)
    elif kind == "pointer":
        target = torch.zeros(rows, config.n_labels, time, time, dtype=torch.bool)
        target[:, 0, 0, 0] = True
    else:
        classes = config.vocab_size if kind in ("lm", "mlm") else config.n_labels
        target = torch.randint(classes, (rows, time), generator=random)
        target = target.masked_fill(~valid_mask(lengths, time), IGNORE)
    loss = model.head.loss(output.logits, target, lengths)
    if output.next_sentence is not None:
        loss = loss + F.cross_entropy(output.next_sentence, torch.arange(rows) % 2)
    return loss
