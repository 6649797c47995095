"""The training loop: an iterator of steps that can be stopped, stored and continued at any of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.layers.task_heads.heads import IGNORE, CrfHead, PointerHead
from core.seeding import check_seed
from core.tasks import as_task
from core.tasks.base import Batch, Examples, Task
from core.training.curriculum import Curriculum
from core.training.divergence import Diverged, Watch
from core.training.optimisers import (
    AveragedWeights,
    fresh_gradients,
    learning_rate,
    make_optimiser,
    pushed_embeddings,
    token_embeddings,
)
from core.training.options import Training


@dataclass(frozen=True)
class Step:
    """What one update did. `index` counts from 1: the number of updates made so far."""

    index: int
    loss: float
    accuracy: float  # share of right answers in the batch, before the update
    lr: float
    grad_norm: float  # before clipping
    tokens: int
    limit: int | None = None  # the curriculum's longest length


class Trainer:
    """A model, its optimiser, its data and its own randomness: everything that decides the next step."""

    def __init__(self, model: nn.Module, task: Task, options: Training, seed: int = 0):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.form = task.form(model)  # refuses what it cannot train
        self.model, self.task, self.options, self.seed = model.to(self.device), task, options, check_seed(seed)
        if isinstance(model.head, CrfHead):
            model.head.crf.constrain(task.may_follow)
        self.index = 0
        self.watch = Watch()
        self.optimiser = make_optimiser(model, options)
        self.average = AveragedWeights(model, options.ema) if options.ema else None
        self.curriculum = Curriculum(task.longest) if options.curriculum else None
        self.noise = torch.Generator().manual_seed(self.seed + 1).get_state()  # for dropout

    @property
    def fixed(self) -> Examples | None:
        """The problems that are trained on over and over; None: always fresh ones."""
        return self._gathered[0]

    @cached_property
    def data(self) -> torch.Generator:
        """Draws the batches: behind the fixed problems, unless a state from elsewhere has taken its place."""
        return self._gathered[1]

    @cached_property
    def _gathered(self) -> tuple[Examples | None, torch.Generator]:
        """Made at the first step: most trainers belong to a run that is only looked at, and the problems may be many."""
        rng, count = torch.Generator().manual_seed(self.seed), self.options.samples
        return None if count is None else self.task.gather(count, rng, held_out=False), rng

    def steps(self) -> Iterator[Step]:
        while self.index < self.options.steps:
            yield self.step()

    def step(self) -> Step:
        """One update. Raises `Diverged`, leaving everything as it was before: asked again, it would fail again."""
        with one_thread():
            return self._step()

    def _step(self) -> Step:
        lr = learning_rate(self.index, self.options)
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        self.model.train()
        self.optimiser.zero_grad(set_to_none=True)
        data, noise = self.data.get_state(), self.noise
        with self.own_noise():
            loss, accuracy, tokens = self.gradients()
        clip = self.options.clip or math.inf
        grad_norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), clip))
        try:
            self.watch.judge(self.index, loss, grad_norm, self.options)
        except Diverged:
            self.data.set_state(data)
            self.noise = noise
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
        """Add up the gradients of one update's batches: mean loss, accuracy, tokens seen."""
        loss, right, asked, tokens = 0.0, 0.0, 0, 0
        for _ in range(self.options.accumulate):
            batch = self.next_batch()
            with fresh_gradients(token_embeddings(self.model) if self.options.adversarial else []):
                logits, batch_loss = self.forward(batch)
                (batch_loss / self.options.accumulate).backward()
                if self.options.adversarial:
                    with pushed_embeddings(self.model, self.options.adversarial):
                        (self.forward(batch)[1] / self.options.accumulate).backward()
            batch_right, batch_asked = score(self.model, logits.detach(), batch)
            value = batch_loss.item()
            self.watch.see(value, partial(self.guessing, logits, batch))
            loss += value / self.options.accumulate
            right, asked, tokens = right + batch_right, asked + batch_asked, tokens + int(batch.lengths.sum())
        return loss, right / max(1, asked), tokens

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        half = self.options.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            output = self.model(*batch.inputs)
        logits = output.logits.float()
        loss = self.model.head.loss(logits, batch.target, batch.lengths)
        if batch.next_sentence is not None:
            loss = loss + F.cross_entropy(output.next_sentence.float(), batch.next_sentence)
        return logits, loss

    @torch.no_grad()
    def guessing(self, logits: Tensor, batch: Batch) -> float:
        """The loss of whoever knows nothing: every logit the same."""
        loss = self.model.head.loss(torch.zeros_like(logits), batch.target, batch.lengths).item()
        return loss if batch.next_sentence is None else loss + math.log(2)

    def next_batch(self) -> Batch:
        if self.fixed is None:
            lengths = self.curriculum.lengths if self.curriculum else {}
            while True:
                examples = self.task.gather(self.options.batch_size, self.data, held_out=False, **lengths)
                batch = self.task.lay_out(examples, self.form)
                if (batch.target != IGNORE).any():  # the shortest problems may ask nothing
                    return batch.to(self.device)
        rows = torch.randint(len(self.fixed), (self.options.batch_size,), generator=self.data)
        return self.task.lay_out(self.fixed.pick(rows), self.form).to(self.device)

    @contextmanager
    def own_noise(self) -> Iterator[None]:
        """Dropout draws from this trainer's own stream, whatever else runs between two steps."""
        outside = torch.get_rng_state()
        torch.set_rng_state(self.noise)
        try:
            yield
        finally:
            self.noise = torch.get_rng_state()
            torch.set_rng_state(outside)

    def state(self) -> dict[str, Any]:
        """Everything needed to go on exactly as if nothing had happened."""
        return {
            "index": self.index,
            "model": {name: p.detach().clone() for name, p in self.model.named_parameters()},
            "optimiser": deepcopy(self.optimiser.state_dict()),
            "average": None if self.average is None else (self.average.updates, deepcopy(self.average.shadow)),
            "curriculum": self.curriculum and self.curriculum.state(),
            "watch": self.watch.state(),
            "data": self.data.get_state(),
            "noise": self.noise,
        }

    def load(self, state: dict[str, Any]) -> None:
        self.index = state["index"]
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(state["model"][name])
        self.optimiser.load_state_dict(deepcopy(state["optimiser"]))
        if self.average:
            self.average.updates = state["average"][0]
            for name, value in state["average"][1].items():
                self.average.shadow[name].copy_(value)
        if self.curriculum:
            self.curriculum.load(state["curriculum"])
        self.watch.load(state["watch"])
        self.data = torch.Generator().set_state(state["data"])
        self.noise = state["noise"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums over more threads would be rounded differently: a run must not depend on how many cores there are."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def score(model: nn.Module, logits: Tensor, batch: Batch) -> tuple[float, int]:
    """How many answers are right, and how many were asked for (spans: found or to be found)."""
    if isinstance(model.head, PointerHead):
        found = logits > 0
        return float((found & batch.target).sum()), int((found | batch.target).sum())
    answers = model.head.predict(logits, batch.lengths)
    if isinstance(answers, list):  # tag paths, each as long as its sequence
        answers = nn.utils.rnn.pad_sequence([torch.tensor(path) for path in answers], batch_first=True)
        answers = answers.to(batch.target.device)
    if answers.shape != batch.target.shape:
        raise ValueError(f"Answers {tuple(answers.shape)} do not meet targets {tuple(batch.target.shape)}.")
    asked = batch.target != IGNORE
    right = (answers == batch.target) & asked
    return float(right.sum()), int(asked.sum())


def train(model: nn.Module, task: Task | str, *, seed: int = 0, **options: Any) -> Iterator[Step]:
    """Train a model on a task (or the task of this name), step by step; options as in `Training`.

    Stop by no longer asking for steps.
    """
    return Trainer(model, as_task(task), Training.make(**options), seed).steps()


__all__ = ["Diverged", "Step", "Trainer", "one_thread", "score", "train"]
