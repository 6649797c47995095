"""The batches of a training run: determined by task, options and seed alone."""

from __future__ import annotations

from functools import cached_property

import torch

from core.layers.task_heads.heads import IGNORE
from core.seeding import check_seed
from core.tasks.base import Batch, Examples, Task
from core.training.curriculum import Curriculum
from core.training.options import Training


class BatchStream:
    """Draws one batch after the other, laid out in a form that the task has (`task.form(model)`)."""

    def __init__(self, task: Task, form: str, options: Training, seed: int = 0):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.task, self.form, self.options, self.seed = task, form, options, check_seed(seed)
        self.curriculum = Curriculum(task.longest) if options.curriculum else None

    @property
    def fixed_examples(self) -> Examples | None:
        """The `samples` problems that batches are drawn from; None: every batch is fresh."""
        return self._examples_and_rng[0]

    @cached_property
    def data_rng(self) -> torch.Generator:
        """Generator of the batches: the one that drew the fixed problems first, unless a loaded state replaced it."""
        return self._examples_and_rng[1]

    @cached_property
    def _examples_and_rng(self) -> tuple[Examples | None, torch.Generator]:
        """Drawn at the first step: most trainers belong to a run that is only viewed, and there may be many problems."""
        rng, count = torch.Generator().manual_seed(self.seed), self.options.samples
        return None if count is None else self.task.gather(count, rng, held_out=False), rng

    def next_batch(self) -> Batch:
        examples = self.fixed_examples
        if examples is not None:
            rows = torch.randint(len(examples), (self.options.batch_size,), generator=self.data_rng)
            return self.task.lay_out(examples.pick(rows), self.form).to(self.device)
        lengths = self.curriculum.lengths if self.curriculum else {}
        while True:
            examples = self.task.gather(self.options.batch_size, self.data_rng, held_out=False, **lengths)
            batch = self.task.lay_out(examples, self.form)
            if (batch.target != IGNORE).any():  # the shortest problems may have no target at all
                return batch.to(self.device)
