"""AdamW with the right groups, the learning rate's course, averaged weights, and adversarial pushes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

import torch
from torch import Tensor, nn

from core.training.options import Training
from core.training.schedules import factor_at


def make_optimiser(model: nn.Module, options: Training) -> torch.optim.AdamW:
    """Decay pulls on matrices of linear and recurrent layers only: never on biases, norms, embeddings or other tables.

    Stored runs count their parameters in the order of the groups, all tables that are no embeddings first; so a table
    that is spared in between makes a group of its own.
    """
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    layers = [m for m in model.modules() if isinstance(m, nn.Linear | nn.RNNBase)]
    matrices = {id(p) for layer in layers for p in layer.parameters(recurse=False) if p.dim() >= 2} - embeddings
    ordered = sorted(model.parameters(), key=lambda p: p.dim() < 2 or id(p) in embeddings)
    groups = [
        {"params": list(parameters), "weight_decay": options.weight_decay if decays else 0.0}
        for decays, parameters in groupby(ordered, lambda p: id(p) in matrices)
    ]
    return torch.optim.AdamW(groups, lr=options.lr, betas=(0.9, options.beta2))


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


def token_embeddings(model: nn.Module) -> list[Tensor]:
    """The tables of tokens' vectors, each once, whoever shares it."""
    named = model.named_modules()
    return list(dict.fromkeys(module.weight for name, module in named if name.endswith("token_embedding")))


@contextmanager
def fresh_gradients(weights: list[Tensor]) -> Iterator[None]:
    """While the block runs, the gradients of these weights are its own; those of before are added at its end."""
    before = [weight.grad for weight in weights]
    for weight in weights:
        weight.grad = None
    try:
        yield
    finally:
        for weight, earlier in zip(weights, before, strict=True):
            if earlier is not None:
                weight.grad = earlier if weight.grad is None else earlier + weight.grad


@contextmanager
def pushed_embeddings(model: nn.Module, size: float) -> Iterator[None]:
    """FGM (Miyato et al. 2017): the token embeddings moved by size · g / |g|, towards a greater loss."""
    pushed: list[tuple[Tensor, Tensor]] = []
    for weight in token_embeddings(model):
        if weight.grad is not None and (length := weight.grad.norm()) > 0:
            pushed.append((weight, weight.detach().clone()))
            weight.data.add_(weight.grad * (size / length))
    try:
        yield
    finally:
        for weight, own in pushed:
            weight.data.copy_(own)


@torch.no_grad()
def load_parameters(model: nn.Module, values: dict[str, Tensor]) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(values[name])
