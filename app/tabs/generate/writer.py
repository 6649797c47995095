"""A model that writes: two ways of writing side by side on one seed, and behind each token what it was chosen from."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import gradio as gr

from app.components.live_plot import LiveText
from app.components.page_state import told
from app.components.token_buttons import TokenButtons, token_values
from app.components.words import word
from app.figures.beam_tree import ALL, WRITTEN
from app.figures.expressions import Format
from app.figures.tokens import seen
from app.service.generation import generation
from app.service.generation.result import Result
from app.service.lru_cache import LRUCache
from app.service.runs import run_registry
from app.service.runs.model_slots import exclusive_run
from app.tabs.generate.asked import Asked
from app.tabs.generate.way import OPTIONS, SHARED, Way, option_control, option_problem
from app.tabs.generate.way_plots import NextTokenPlots, TreePlot, way_values
from core import ConfigError

PACE = 0.45  # seconds from token to token when the text is written step by step
BETWEEN = 0.3  # seconds, where writing takes long: from one look at the tokens so far to the next
CACHE_BYTES = 64_000_000

Memory = dict[
    str, Any
]  # of one page: the last input and options, the usual length of the run, how many tokens were written
Values = dict[gr.components.Component, Any]

_written = LRUCache(CACHE_BYTES, lambda result: result.nbytes)


class Writer:
    def __init__(self) -> None:
        with gr.Row(elem_classes="generate-top"):
            self.reads = TokenButtons(classes="generate-reads")
            with gr.Row(elem_classes="generate-shared"):
                self.shared = {name: option_control(name, None) for name in SHARED}
            with gr.Row(elem_classes="generate-buttons"):
                self.play = gr.Button(word("Write"), elem_classes="small-button", elem_id="generate-write")
                self.step = gr.Button(word("Next token"), elem_classes="small-button", elem_id="generate-next")
                self.stop = gr.Button(word("Stop"), elem_classes="small-button", elem_id="generate-stop")
        self.problem = LiveText(classes="problem shared-problem", role="alert")
        with gr.Row(elem_classes="generate-pair"):
            self.ways = [Way("a"), Way("b", strategy="sample", temperature=1.5)]
        self.plots = NextTokenPlots(("a", "b"))
        self.trees = [TreePlot(way.side) for way in self.ways]

    @property
    def controls(self) -> dict[str, Any]:
        """By key of the page's state."""
        return {**self.shared, **{key: control for way in self.ways for key, control in way.controls.items()}}

    @property
    def outputs(self) -> list[gr.components.Component]:
        plots = [plot for way in self.ways for plot in self.plots.of(way.side).values()]
        return [
            self.reads,
            self.problem,
            *plots,
            *(one for part in [*self.ways, *self.trees] for one in part.outputs),
        ]

    def answer(
        self, asked: Asked, state: dict[str, Any], memory: Memory
    ) -> Iterator[tuple[Values, dict[str, Any], Memory]]:
        """Values of components, keys of the state to set, and what to remember."""
        usual = usual_length(asked.run)
        length = usual if state.get("max_new") in (None, memory.get("usual")) else state["max_new"]
        shared = {"max_new": length, "seed": OPTIONS["seed"].default if state.get("seed") is None else state["seed"]}
        keys: dict[str, Any] = {"max_new": length}
        results: dict[str, Result] = {}
        values: Values = {self.problem: None}
        for way, tree in zip(self.ways, self.trees, strict=True):
            how = {**shared, **way.how(state)}
            try:
                for part in stream(lambda on_tokens, how=how: written(asked, how, on_tokens)):
                    if isinstance(part, list):
                        yield way.partial(part), {}, memory
                    else:
                        results[way.side] = part
                        about = asked.about(part.header["read"])
                        values |= way.values(part, how["strategy"]) | way_values(self.plots, tree, part, about)
            except ConfigError as error:
                values[self.problem if error.option in SHARED else way.problem] = option_problem(error)
                if (
                    memory.get("input", asked.input)[0] != asked.run
                ):  # nothing of another run stays beside the sentence
                    parts = [*way.outputs[1:], *self.plots.of(way.side).values(), *tree.outputs]
                    values |= dict.fromkeys(parts)
        for result in results.values():
            lead = Format("It reads") if result.header["two"] else Format("The text so far")
            values[self.reads] = token_values([seen(token) for token in result.header["read"]], lead, lead=lead)
        question = {"input": asked.input, "options": [shared, *(way.how(state) for way in self.ways)]}
        if memory.get("input") != asked.input:
            keys |= {"token": 0}
        if any(memory.get(name) != value for name, value in question.items()):
            keys |= {"node": -1, WRITTEN: ALL}
        branching = [side for side, result in results.items() if result.header["tree"]]
        if len(branching) == 1:
            keys |= {"treeSide": branching[0]}
        tokens = max((len(result.header["steps"]) for result in results.values()), default=0)
        yield values, keys, {**question, "usual": usual, "tokens": tokens}

    def next_token(self, progress: dict[str, Any], memory: Memory) -> dict[str, Any]:
        """One token more; behind the last of them the first again."""
        shown, tokens = progress.get(WRITTEN), memory.get("tokens", 0)
        count = shown + 1 if shown is not None and shown < tokens else min(1, tokens)
        return told(state={WRITTEN: count, "token": max(0, count - 1), "node": -1})

    async def write(self, progress: dict[str, Any], memory: Memory) -> AsyncIterator[dict[str, Any]]:
        """Token by token, from where it was stopped."""
        while True:
            step = self.next_token(progress, memory)
            progress = {WRITTEN: step["state"][WRITTEN]}
            yield step
            if progress[WRITTEN] >= memory.get("tokens", 0):
                return
            await asyncio.sleep(PACE)


def usual_length(run: str) -> int:
    return generation.usual_length(run_registry.open_run(run).run)


def written(asked: Asked, how: dict[str, Any], on_tokens: Callable[[list[str]], None]) -> Result:
    def write() -> Result:
        with exclusive_run(asked.run) as run:
            prompt = generation.make_prompt(run, asked.text, asked.held_out or 0)
            return generation.write(run, prompt, asked.step, how, asked.run, on_tokens)

    key = (run_registry.version_of(asked.run), *asked.input, asked.step, *how.items())
    return _written.get(key, write)


def stream(write: Callable[[Callable[[list[str]], None]], Result]) -> Iterator[list[str] | Result]:
    """The tokens so far, as long as there is nothing but those; then the result. When nobody waits any more, writing ends."""
    parts: queue.SimpleQueue[Any] = queue.SimpleQueue()
    left = threading.Event()

    def on_tokens(tokens: list[str]) -> None:
        if left.is_set():
            raise Stopped
        parts.put(tokens)

    def run() -> None:
        while not left.is_set():
            try:
                return parts.put(write(on_tokens))
            except Stopped:  # of somebody else who wanted the same text
                continue
            except Exception as error:
                return parts.put(error)

    threading.Thread(target=run, daemon=True).start()
    last = time.monotonic()
    try:
        while True:
            part = parts.get()
            if isinstance(part, Exception):
                raise part
            if not isinstance(part, list):
                yield part
                return
            if time.monotonic() - last > BETWEEN:
                yield part
                last = time.monotonic()
    finally:
        left.set()


class Stopped(Exception):
    """Nobody waits for this text any more."""
