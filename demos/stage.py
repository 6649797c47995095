"""What all demos share: the command line, the quick mode, and pictures as pages of their own."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import plotly.graph_objects as go
import torch

import core


@dataclass(frozen=True)
class Stage:
    seed: int = 0
    out: Path = Path("demos-out")
    fast: bool = False  # a tenth of the training: to see that everything runs

    def recipe(self, family: str, task: str, variant: str = "default", steps: int | None = None) -> core.Recipe:
        chosen = core.recipe(family, task, variant)
        steps = steps or chosen.training.steps
        return replace(chosen, training=replace(chosen.training, steps=max(2, steps // 10) if self.fast else steps))

    def train(self, recipe: core.Recipe, seed: int | None = None) -> core.Run:
        """To the end of the recipe, telling how it went."""
        run, begun = core.Run(recipe, self.seed if seed is None else seed), time.process_time()
        for _ in run.train():
            pass
        accuracy, seconds = run.evaluate().accuracy, time.process_time() - begun
        print(
            f"  {recipe.family} on {recipe.task.name}: {accuracy:.1%} after {len(run.steps)} steps, {seconds:.0f} s"
        )
        run.model.eval()
        return run

    def show(self, name: str, figure: go.Figure) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"{name}.html"
        figure.update_layout(template="plotly_white", font={"size": 15})
        figure.write_html(path, include_plotlyjs=True)
        print(f"  picture: {path}")


def heatmap(values: torch.Tensor, rows: list[str], columns: list[str], title: str, **options) -> go.Figure:
    """Tokens may repeat: axes are numbered, and labelled with them."""
    picture = go.Heatmap(z=values.numpy(), colorscale=options.pop("colorscale", "Viridis"), **options)
    figure = go.Figure(picture, layout={"title": title})
    figure.update_xaxes(tickvals=list(range(len(columns))), ticktext=columns)
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=rows, autorange="reversed")
    return figure


def play(demo: Callable[[Stage], object], doc: str) -> None:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("demos-out"), help="folder for the pictures")
    parser.add_argument("--fast", action="store_true", help="a tenth of the training: figures will be worse")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(doc.split("\n")[0])
    demo(Stage(options.seed, options.out, options.fast))
