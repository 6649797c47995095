"""The training loop: an iterator of steps that can be stopped, stored and resumed after any of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.layers.task_heads.heads import IGNORE, CrfHead, PointerHead
from core.tasks import as_task
from core.tasks.base import Batch, Task
from core.training.batches import BatchStream
from core.training.divergence import Diverged, DivergenceDetector
from core.training.optimisers import (
    AveragedWeights,
    load_parameters,
    make_optimiser,
    perturbed_embeddings,
    separate_gradients,
    token_embeddings,
)
from core.training.options import Training
from core.training.schedules import learning_rate


@dataclass(frozen=True)
class Step:
    """Numbers of one update. `index` counts from 1: the updates made so far."""

    index: int
    loss: float
    accuracy: float  # of the batch, before the update
    lr: float
    grad_norm: float  # before clipping
    tokens: int
    limit: int | None = None  # the curriculum's greatest length


class Trainer(BatchStream):
    """A model with its optimiser, batches and random generators: everything that determines the next step.

    The model is the trainer's to write into; what only looks at a run's batches takes a `BatchStream`.
    """

    def __init__(self, model: nn.Module, task: Task, options: Training, seed: int = 0):
        super().__init__(task, task.form(model), options, seed)  # raises if the task does not suit the model
        self.model = model.to(self.device)
        if isinstance(model.head, CrfHead):
            model.head.crf.constrain(task.may_follow)
        self.index = 0
        self.divergence = DivergenceDetector()
        self.optimiser = make_optimiser(model, options)
        self.average = AveragedWeights(model, options.ema) if options.ema else None
        self.dropout_rng_state = torch.Generator().manual_seed(self.seed + 1).get_state()

    def steps(self) -> Iterator[Step]:
        while self.index < self.options.steps:
            yield self.step()

    def step(self) -> Step:
        """One update. Raises `Diverged` with all state as before the step, so that repeating it fails alike."""
        with single_thread():
            return self._step()

    def _step(self) -> Step:
        lr = learning_rate(self.index, self.options)
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        self.model.train()
        self.optimiser.zero_grad(set_to_none=True)
        data_rng_state, dropout_rng_state = self.data_rng.get_state(), self.dropout_rng_state
        with self.dropout_rng():
            loss, accuracy, tokens = self.gradients()
        clip = self.options.clip or math.inf
        grad_norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), clip))
        try:
            self.divergence.check(self.index, loss, grad_norm, self.options)
        except Diverged:
            self.data_rng.set_state(data_rng_state)
            self.dropout_rng_state = dropout_rng_state
            raise
        self.optimiser.step()
        if self.average:
            self.average.update(self.model)
        limit = None
        if self.curriculum:
            limit = self.curriculum.limit
            self.curriculum.update(accuracy)
        self.index += 1
        return Step(self.index, loss, accuracy, lr, grad_norm, tokens, limit)

    def gradients(self) -> tuple[float, float, int]:
        """Accumulate the gradients of one update's batches; returns mean loss, accuracy, number of tokens."""
        loss, correct, total, tokens = 0.0, 0.0, 0, 0
        for _ in range(self.options.accumulate):
            batch = self.next_batch()
            with separate_gradients(token_embeddings(self.model) if self.options.adversarial else []):
                logits, batch_loss = self.forward(batch)
                (batch_loss / self.options.accumulate).backward()
                if self.options.adversarial:
                    with perturbed_embeddings(self.model, self.options.adversarial):
                        (self.forward(batch)[1] / self.options.accumulate).backward()
            batch_correct, batch_total = count_correct(self.model, logits.detach(), batch)
            value = batch_loss.item()
            self.divergence.update_baseline(value, partial(self.uniform_loss, logits, batch))
            loss += value / self.options.accumulate
            correct, total, tokens = correct + batch_correct, total + batch_total, tokens + int(batch.lengths.sum())
        return loss, correct / max(1, total), tokens

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits in float32, and the loss."""
        mixed = self.options.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=mixed):
            output = self.model(*batch.inputs)
        logits = output.logits.float()
        loss = head_of(self.model).loss(logits, batch.target, batch.lengths)
        if batch.next_sentence is not None:
            loss = loss + F.cross_entropy(output.next_sentence.float(), batch.next_sentence)
        return logits, loss

    @torch.no_grad()
    def uniform_loss(self, logits: Tensor, batch: Batch) -> float:
        """The loss of uniform predictions: all logits equal."""
        loss = head_of(self.model).loss(torch.zeros_like(logits), batch.target, batch.lengths).item()
        return loss if batch.next_sentence is None else loss + math.log(2)

    @contextmanager
    def dropout_rng(self) -> Iterator[None]:
        """Torch's global generator in this trainer's own state, so that dropout does not depend on other code."""
        global_state = torch.get_rng_state()
        torch.set_rng_state(self.dropout_rng_state)
        try:
            yield
        finally:
            self.dropout_rng_state = torch.get_rng_state()
            torch.set_rng_state(global_state)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue training exactly; a copy."""
        return {
            "index": self.index,
            "model": {name: p.detach().clone() for name, p in self.model.named_parameters()},
            "optimiser": deepcopy(self.optimiser.state_dict()),
            "average": None if self.average is None else (self.average.updates, deepcopy(self.average.shadow)),
            "curriculum": self.curriculum.state_dict() if self.curriculum else None,
            "watch": self.divergence.state_dict(),
            "data": self.data_rng.get_state(),
            "noise": self.dropout_rng_state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.index = state["index"]
        load_parameters(self.model, state["model"])
        self.optimiser.load_state_dict(deepcopy(state["optimiser"]))
        if self.average:
            self.average.updates = state["average"][0]
            for name, value in state["average"][1].items():
                self.average.shadow[name].copy_(value)
        if self.curriculum:
            self.curriculum.load_state_dict(state["curriculum"])
        self.divergence.load_state_dict(state["watch"])
        self.data_rng = torch.Generator().set_state(state["data"])
        self.dropout_rng_state = state["noise"]


@contextmanager
def single_thread() -> Iterator[None]:
    """Torch on one thread: sums over several are rounded differently, and a run must not depend on the core count."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class LossHead(Protocol):
    """The methods of task heads that training needs."""

    def loss(self, logits: Tensor, target: Tensor, lengths: Tensor | None = None) -> Tensor: ...

    def predict(self, logits: Tensor, lengths: Tensor | None = None) -> Tensor | list: ...


def head_of(model: nn.Module) -> LossHead:
    """The model's task head; every family has one."""
    return cast(LossHead, model.head)


def count_correct(model: nn.Module, logits: Tensor, batch: Batch) -> tuple[float, int]:
    """Number of correct predictions and of targets; for spans, the intersection and union of predicted and true ones."""
    head = head_of(model)
    if isinstance(head, PointerHead):
        predicted = logits > 0
        return float((predicted & batch.target).sum()), int((predicted | batch.target).sum())
    predictions = head.predict(logits, batch.lengths)
    if isinstance(predictions, list):  # tag paths, each as long as its sequence
        predictions = nn.utils.rnn.pad_sequence([torch.tensor(path) for path in predictions], batch_first=True)
        predictions = predictions.to(batch.target.device)
    if predictions.shape != batch.target.shape:
        raise ValueError(f"Answers {tuple(predictions.shape)} do not meet targets {tuple(batch.target.shape)}.")
    counted = batch.target != IGNORE
    correct = (predictions == batch.target) & counted
    return float(correct.sum()), int(counted.sum())


def train(model: nn.Module, task: Task | str, *, seed: int = 0, **options: Any) -> Iterator[Step]:
    """Train a model on a task (or the task of this name), one `Step` per update; options as in `Training`.

    A generator: training stops when it is no longer iterated.
    """
    return Trainer(model, as_task(task), Training.make(**options), seed).steps()


__all__ = ["Diverged", "Step", "Trainer", "count_correct", "head_of", "single_thread", "train"]
