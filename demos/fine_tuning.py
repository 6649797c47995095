"""Fine-tuning against from scratch: a small BERT fills in masked words, then tags names with only a few labels.

Expected: with 8 labelled sentences, about 83 % of the tags right after pretraining and 65 % from scratch; with 32, about
95 % and 82 %; with 128, about 99 % and 95 %: the more labels there are, the less the pretraining is worth.
"""

from __future__ import annotations

from statistics import mean

import plotly.graph_objects as go

import core
from core.runs.recipes.fine_tuning import PRETRAINING, TUNING, fine_tuned, pretraining
from demos.stage import Stage, play

LABELS = (8, 32, 128)
WAYS = {"tuned": "fine-tuned", "scratch": "from scratch"}


def demo(stage: Stage) -> dict[str, list[float]]:
    labels, seeds, share = (LABELS[:1], 1, 20) if stage.fast else (LABELS, 3, 1)
    pretrained = stage.train(pretraining(PRETRAINING["steps"] // share))
    found: dict[str, list[list[float]]] = {way: [[] for _ in labels] for way in WAYS}  # (labels, seed)
    for i, n in enumerate(labels):
        for seed in range(stage.seed, stage.seed + seeds):
            tuned = fine_tuned(pretrained, n, seed, TUNING["steps"] // share)
            for way, run in {"tuned": tuned, "scratch": core.Run(tuned.recipe.from_scratch, seed)}.items():
                for _ in run.train():
                    pass
                found[way][i].append(run.evaluate(1000).accuracy)
        shares = ", ".join(f"{name} {mean(found[way][i]):.1%}" for way, name in WAYS.items())
        print(f"  {n:3} labelled sentences: {shares} of the tags right")
    means = {way: [mean(accuracies) for accuracies in found[way]] for way in WAYS}
    title = "Tags right on new sentences, by how many labelled ones there were"
    figure = go.Figure([go.Scatter(x=labels, y=means[way], name=name) for way, name in WAYS.items()])
    figure.update_layout(title=title, xaxis={"type": "log", "tickvals": labels, "title": "labelled sentences"})
    stage.show("fine_tuning", figure)
    return means


if __name__ == "__main__":
    play(demo, __doc__)
