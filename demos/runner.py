"""Shared by all demos: command line, fast mode, training, and figures as standalone HTML pages."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import plotly.graph_objects as go
import torch

import core
from app.figures.live import Live


@dataclass(frozen=True)
class DemoRunner:
    """Options of the command line, with training and saving of figures accordingly."""

    seed: int = 0
    out: Path = Path("demos-out")
    fast: bool = False  # a tenth of the steps: to check that everything runs

    def recipe(self, family: str, task: str, variant: str = "default", steps: int | None = None) -> core.Recipe:
        recipe = core.recipe(family, task, variant)
        steps = steps or recipe.training.steps
        return replace(recipe, training=replace(recipe.training, steps=max(2, steps // 10) if self.fast else steps))

    def train(self, recipe: core.Recipe, seed: int | None = None) -> core.Run:
        """Train to the end of the recipe and print accuracy and time."""
        run, start = core.Run(recipe, self.seed if seed is None else seed), time.process_time()
        for _ in run.train():
            pass
        accuracy, seconds = run.evaluate().accuracy, time.process_time() - start
        print(
            f"  {recipe.family} on {recipe.task.name}: {accuracy:.1%} after {len(run.steps)} steps, {seconds:.0f} s"
        )
        run.model.eval()
        return run

    def save_figure(self, name: str, figure: go.Figure | Live) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"{name}.html"
        if isinstance(figure, Live):
            figure = figure.scrubbed()
        figure.update_layout(template="plotly_white", font={"size": 15})
        figure.write_html(path, include_plotlyjs=True)
        print(f"  picture: {path}")


def heatmap(values: torch.Tensor, rows: list[str], columns: list[str], title: str, **options) -> go.Figure:
    """A heatmap with tokens as tick labels; axes are numeric, since tokens may repeat."""
    trace = go.Heatmap(z=values.numpy(), colorscale=options.pop("colorscale", "Viridis"), **options)
    figure = go.Figure(trace, layout={"title": title})
    figure.update_xaxes(tickvals=list(range(len(columns))), ticktext=columns)
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=rows, autorange="reversed")
    return figure


def run_demo(demo: Callable[[DemoRunner], object], doc: str) -> None:
    """Run a demo as a command."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("demos-out"), help="folder for the pictures")
    parser.add_argument("--fast", action="store_true", help="a tenth of the training: figures will be worse")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(doc.split("\n")[0])
    demo(DemoRunner(options.seed, options.out, options.fast))
