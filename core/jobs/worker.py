"""What a worker process does: train one of its runs for a moment, tell what came of it, ask for the next order.

Orders  open(key, recipe, seed, seen, shares), train(key, seconds, until), leave(key), end()
Answers ready(pid), opened(key, steps), steps(key, steps, seconds), rested(key, cpu seconds, seconds to store),
        seen(key, news), done(key), left(key, steps), failed(key, why, traceback), log(text)
"""

from __future__ import annotations

import os
import time
import traceback
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn

from core.jobs.failures import BUG, NOT_STORED, diverged
from core.jobs.monitor import News, Witness
from core.messages import Text
from core.runs.run import Run, recipe_from_dict
from core.runs.store import Store, StoreError
from core.training.loop import Diverged, Step

TELL_SECONDS = 0.1
MOST_STORING = 0.1  # share of the time that may go into checkpoints


def warm_up() -> None:
    """What torch puts off until the first update takes as long as a short slice; no run should pay for it."""
    layer = nn.LSTM(2, 2)
    optimiser = torch.optim.AdamW(layer.parameters())
    layer(torch.zeros(1, 1, 2))[0].sum().backward()
    optimiser.step()


class Held:
    """A run in memory, and how much of it is not stored yet."""

    def __init__(self, run: Run, witness: Witness | None):
        self.run, self.witness = run, witness
        self.stored_steps = run.trainer.index
        self.unstored_seconds = 0.0
        self.storing_seconds = 0.0

    def due(self, seconds: float) -> bool:
        """Time for a checkpoint, unless they would take too much of it."""
        return self.unstored_seconds > max(seconds, self.storing_seconds / MOST_STORING)


class Desk:
    """Serves until told to end, or until the caller is gone (EOFError)."""

    def __init__(self, connection: Connection, store: Store, checkpoint_seconds: float):
        self.connection, self.store, self.checkpoint_seconds = connection, store, checkpoint_seconds
        self.held: dict[str, Held] = {}

    def serve(self) -> None:
        warm_up()
        self.tell("ready", os.getpid())
        while True:
            order, *details = self.connection.recv()
            if order == "end":
                for key in list(self.held):
                    self.attempt(self.leave, key)
                return
            self.attempt(getattr(self, order), *details)

    def tell(self, *answer: Any) -> None:
        self.connection.send(answer)

    def attempt(self, order: Any, key: str, *details: Any) -> None:
        """Whatever goes wrong with one run is told; the others are not concerned."""
        try:
            order(key, *details)
        except Diverged as end:
            self.fail(key, diverged(end), None)
        except StoreError as error:
            self.fail(key, error.text, traceback.format_exc())
        except (EOFError, BrokenPipeError, ConnectionError):
            raise
        except (OSError, SafetensorError):
            self.fail(key, NOT_STORED, traceback.format_exc())
        except Exception:
            self.fail(key, BUG, traceback.format_exc())

    def fail(self, key: str, why: Text, trace: str | None) -> None:
        self.held.pop(key, None)
        self.tell("failed", key, why, trace)

    def open(
        self, key: str, recipe: dict[str, Any], seed: int, seen: int, shares: dict[int, Any] | None = None
    ) -> None:
        """`shares`: what is known of the run's heads, if it is to be looked into while it is trained."""
        wanted = recipe_from_dict(recipe)
        try:
            run = self.store.get(wanted, seed)
        except StoreError as damage:
            if self.store.path(key).exists():
                self.tell("log", f"{damage} It is trained anew.")
                self.store.delete(key)
            run = self.store.get(wanted, seed)  # refused again if it is a fork whose parent is not there
        self.held[key] = Held(run, None if shares is None else Witness(run, shares))
        self.tell("opened", key, run.steps[seen:])
        if shares is not None:
            self.report(key, self.held[key].witness.sight())

    def train(self, key: str, seconds: float, until: int | None = None) -> None:
        held = self.held.get(key)
        if held is None:  # it could not be opened
            return
        began, cpu = time.monotonic(), time.process_time()
        try:
            finished = self.advance(held, key, seconds, until)
        finally:
            held.unstored_seconds += time.monotonic() - began
        if finished or held.due(self.checkpoint_seconds):
            self.save(held)
        if held.witness:
            held.witness.trained += time.process_time() - cpu
            for news in held.witness.conclude() if finished else [held.witness.glance()]:
                self.report(key, news)
        self.tell("rested", key, time.process_time() - cpu, held.storing_seconds)
        if finished:
            del self.held[key]
            self.tell("done", key)

    def advance(self, held: Held, key: str, seconds: float, until: int | None) -> bool:
        """Some steps, none past `until`; True when the last one is made. Ends early when there is a new order.

        A slice is counted in processor time, so that a busy machine does not make it unfair.
        """
        run, fresh, told = held.run, [], time.monotonic()
        cpu_end, end = time.process_time() + seconds, told + 4 * seconds
        most = None if until is None else max(0, until - run.trainer.index)
        try:
            for step in islice(run.train(), most):
                fresh.append(step)
                now = time.monotonic()
                if now - told >= TELL_SECONDS:
                    self.stream(key, fresh, now - told)
                    fresh, told = [], now
                if now >= end or time.process_time() >= cpu_end or self.connection.poll():
                    break
        except Diverged:
            self.stream(key, fresh, time.monotonic() - told)
            self.save(held)
            if held.witness:
                self.report(key, {**held.witness.sight(), **held.witness.judge(None, diverged=True)})
            raise
        self.stream(key, fresh, time.monotonic() - told)
        return run.trainer.index >= run.recipe.training.steps

    def stream(self, key: str, steps: list[Step], seconds: float) -> None:
        if steps:
            self.tell("steps", key, steps, seconds)

    def report(self, key: str, news: News) -> None:
        if news:
            self.tell("seen", key, news)

    def leave(self, key: str) -> None:
        """Store it and forget it; it has just ended if it is not here."""
        if key in self.held:
            self.save(self.held[key])
            if self.held[key].witness:
                self.report(key, self.held[key].witness.sight())
            self.tell("left", key, self.held.pop(key).stored_steps)

    def save(self, held: Held) -> None:
        if held.run.trainer.index == held.stored_steps and self.store.path(held.run.key).exists():
            return
        began = time.monotonic()
        self.store.save(held.run)
        held.stored_steps, held.unstored_seconds = held.run.trainer.index, 0.0
        held.storing_seconds = time.monotonic() - began
