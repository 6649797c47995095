"""AdamW with the right groups, the learning rate's course, averaged weights, and adversarial pushes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from core.training.options import Training
from core.training.points import factor_at


def make_optimiser(model: nn.Module, options: Training) -> torch.optim.AdamW:
    """Decay pulls on matrices of linear and recurrent layers only: never on biases, norms or embeddings."""
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    decayed, spared = [], []
    for parameter in model.parameters():
        matrix = parameter.dim() >= 2 and id(parameter) not in embeddings
        (decayed if matrix else spared).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": options.weight_decay},
        {"params": spared, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=options.lr, betas=(0.9, options.beta2))


def learning_rate(step: int, options: Training) -> float:
    """At step 0, 1, …: up in a straight line over the warm-up, then as the schedule says, down to floor · lr."""
    if options.schedule == "piecewise":
        return options.lr * factor_at(step + 1, options.points)
    if step < options.warmup:
        return options.lr * (step + 1) / (options.warmup + 1)
    progress = (step - options.warmup) / max(1, options.steps - options.warmup)
    if options.schedule == "linear":
        share = 1 - progress
    elif options.schedule == "cosine":
        share = (1 + math.cos(math.pi * progress)) / 2
    else:
        return options.lr
    return options.lr * (options.floor + (1 - options.floor) * share)


class AveragedWeights:
    """EMA: shadow ← d · shadow + (1 − d) · weight, with d rising from 0 so that the start does not linger."""

    def __init__(self, model: nn.Module, decay: float):
        self.decay = decay
        self.begin(model)

    def begin(self, model: nn.Module) -> None:
        """From these weights on."""
        self.updates = 0
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        decay = min(self.decay, self.updates / (10 + self.updates))
        for name, parameter in model.named_parameters():
            self.shadow[name].lerp_(parameter, 1 - decay)

    @contextmanager
    def in_place(self, model: nn.Module) -> Iterator[None]:
        """The model with averaged weights while the block runs."""
        own = {name: p.detach().clone() for name, p in model.named_parameters()}
        load_parameters(model, self.shadow)
        try:
            yield
        finally:
            load_parameters(model, own)


@contextmanager
def pushed_embeddings(model: nn.Module, size: float) -> Iterator[None]:
    """FGM (Miyato et al. 2017): the embeddings moved by size · g / |g|, towards a greater loss."""
    pushed: list[tuple[Tensor, Tensor]] = []
    for module in model.modules():
        if isinstance(module, nn.Embedding) and module.weight.grad is not None:
            length = module.weight.grad.norm()
            if length > 0 and not any(module.weight is weight for weight, _ in pushed):
                pushed.append((module.weight, module.weight.detach().clone()))
                module.weight.data.add_(module.weight.grad * (size / length))
    try:
        yield
    finally:
        for weight, own in pushed:
            weight.data.copy_(own)


@torch.no_grad()
def load_parameters(model: nn.Module, values: dict[str, Tensor]) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(values[name])
