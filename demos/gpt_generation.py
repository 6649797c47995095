"""A GPT learns to write English sentences, character by character, and writes: greedily, by beam, and by chance.

Expected: its loss comes close to the lowest possible; greedy and beam write the likeliest sentence again and again,
sampling writes different ones, and at a high temperature words fall apart.
"""

from __future__ import annotations

import plotly.graph_objects as go
import torch

import core
from core.runs.recipes import make_recipe
from demos.stage import Stage, play

WAYS = {
    "greedy": {"strategy": "greedy"},
    "beam of 4": {"strategy": "beam"},
    "sample": {"strategy": "sample"},
    "temperature 0.5": {"strategy": "sample", "temperature": 0.5},
    "temperature 2": {"strategy": "sample", "temperature": 2.0},
    "top-p 0.9": {"strategy": "sample", "top_p": 0.9},
}


def demo(stage: Stage) -> dict[str, float]:
    model = {"d_model": 64, "n_heads": 4, "n_layers": 2, "position": "rope", "norm_placement": "pre"}
    training = {"steps": 60 if stage.fast else 600, "batch_size": 32, "lr": 3e-3, "warmup": 20, "schedule": "linear"}
    run = stage.train(make_recipe("gpt", "characters", model=model, training=training))
    prefix = torch.tensor([[1, *run.task.read("the c")]])
    known = set(" ".join(run.task.say(row.tolist()) for row in run.task.evaluation(500).target).split())
    spelt = {}
    for name, how in WAYS.items():
        texts = [core.generate(run.model, prefix, max_new=60, seed=stage.seed + i, **how)[0] for i in range(5)]
        written = ["the c" + run.task.say([i for i in text.tolist() if i > 2]) for text in texts]
        words = [word for text in written for word in text.split()]
        spelt[name] = sum(word in known or word.rstrip(".?,") in known for word in words) / len(words)
        print(f"  {name:16} {len(set(written))} different, {spelt[name]:.0%} known words: “{written[0]}”")
    figure = go.Figure(go.Scatter(y=[step.loss for step in run.steps], name="loss"), layout={"title": "Loss by step"})
    figure.add_hline(run.task.entropy, annotation_text="the lowest there is")
    stage.show("gpt_generation", figure)
    return {"accuracy": run.evaluate().accuracy, **spelt}


if __name__ == "__main__":
    play(demo, __doc__)
