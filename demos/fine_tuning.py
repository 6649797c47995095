"""Fine-tuning against from scratch: a small BERT fills in masked words, then tags names with only a few labels.

Expected: with 8 labelled sentences, about 83 % of the tags right after pretraining and 65 % from scratch; with 32, about
95 % and 82 %; with 128, about 99 % and 95 %: the more labels there are, the less the pretraining is worth.
"""

from __future__ import annotations

from statistics import mean

import plotly.graph_objects as go

import core
from core.runs.recipes.fine_tuning import PRETRAINING, TUNING, fine_tuned, pretraining
from demos.runner import DemoRunner, run_demo

LABELS = (8, 32, 128)
METHODS = {"tuned": "fine-tuned", "scratch": "from scratch"}


def demo(runner: DemoRunner) -> dict[str, list[float]]:
    labels, seeds, share = (LABELS[:1], 1, 20) if runner.fast else (LABELS, 3, 1)
    pretrained = runner.train(pretraining(PRETRAINING["steps"] // share))
    results: dict[str, list[list[float]]] = {method: [[] for _ in labels] for method in METHODS}  # (labels, seed)
    for i, n in enumerate(labels):
        for seed in range(runner.seed, runner.seed + seeds):
            tuned = fine_tuned(pretrained, n, seed, TUNING["steps"] // share)
            for method, run in {"tuned": tuned, "scratch": core.Run(tuned.recipe.from_scratch, seed)}.items():
                for _ in run.train():
                    pass
                results[method][i].append(run.evaluate(1000).accuracy)
        shares = ", ".join(f"{name} {mean(results[method][i]):.1%}" for method, name in METHODS.items())
        print(f"  {n:3} labelled sentences: {shares} of the tags right")
    means = {method: [mean(accuracies) for accuracies in results[method]] for method in METHODS}
    title = "Tags right on new sentences, by how many labelled ones there were"
    figure = go.Figure([go.Scatter(x=labels, y=means[method], name=name) for method, name in METHODS.items()])
    figure.update_layout(title=title, xaxis={"type": "log", "tickvals": labels, "title": "labelled sentences"})
    runner.save_figure("fine_tuning", figure)
    return means


if __name__ == "__main__":
    run_demo(demo, __doc__)
