"""AdamW with weight decay on matrices only, averaged weights (EMA), and adversarial perturbation of embeddings (FGM)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby

import torch
from torch import Tensor, nn

from core.training.options import Training


def make_optimiser(model: nn.Module, options: Training) -> torch.optim.AdamW:
    """AdamW whose decay applies to matrices of linear and recurrent layers only, not to biases, norms and tables.

    The order of the groups is that of the parameter indices in stored runs: first all tensors with two or more
    dimensions that are no embeddings. A table without decay among them (a CRF's transitions) is a group of its own.
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


class AveragedWeights:
    """Exponential moving average: shadow ← d · shadow + (1 − d) · weight.

    The decay is min(d, n / (10 + n)) at update n, so that the initial weights are soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float):
        self.decay = decay
        self.reset(model)

    def reset(self, model: nn.Module) -> None:
        """Start again from the model's weights."""
        self.updates = 0
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        decay = min(self.decay, self.updates / (10 + self.updates))
        for name, parameter in model.named_parameters():
            self.shadow[name].lerp_(parameter, 1 - decay)

    @contextmanager
    def applied_to(self, model: nn.Module) -> Iterator[None]:
        """The model with averaged weights while the block runs; its own come back afterwards."""
        own = {name: p.detach().clone() for name, p in model.named_parameters()}
        load_parameters(model, self.shadow)
        try:
            yield
        finally:
            load_parameters(model, own)


def token_embeddings(model: nn.Module) -> list[Tensor]:
    """The token embedding matrices, each once, even if several modules share it."""
    modules = [module for name, module in model.named_modules() if name.endswith("token_embedding")]
    return list(dict.fromkeys(module.weight for module in modules if isinstance(module.weight, Tensor)))


@contextmanager
def separate_gradients(weights: list[Tensor]) -> Iterator[None]:
    """Inside the block `weight.grad` holds only the block's own gradients; at its end the earlier ones are added."""
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
def perturbed_embeddings(model: nn.Module, size: float) -> Iterator[None]:
    """FGM (Miyato et al. 2017): token embeddings moved by size · g / ‖g‖, along the gradient of the loss."""
    originals: list[tuple[Tensor, Tensor]] = []
    for weight in token_embeddings(model):
        if weight.grad is not None and (norm := weight.grad.norm()) > 0:
            originals.append((weight, weight.detach().clone()))
            weight.data.add_(weight.grad * (size / norm))
    try:
        yield
    finally:
        for weight, original in originals:
            weight.data.copy_(original)


@torch.no_grad()
def load_parameters(model: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Copy the values into the model's parameters of these names."""
    for name, parameter in model.named_parameters():
        parameter.copy_(values[name])
