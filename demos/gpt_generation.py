"""A GPT learns to write English sentences, character by character, and writes: greedily, by beam, and by chance.

Expected: its loss comes close to the lowest possible; greedy and beam write the likeliest sentence again and again,
sampling writes different ones, and at a high temperature words fall apart.
"""

from __future__ import annotations

import plotly.graph_objects as go
import torch

import core
from core.runs.recipes import make_recipe
from demos.runner import DemoRunner, run_demo

STRATEGIES = {
    "greedy": {"strategy": "greedy"},
    "beam of 4": {"strategy": "beam"},
    "sample": {"strategy": "sample"},
    "temperature 0.5": {"strategy": "sample", "temperature": 0.5},
    "temperature 2": {"strategy": "sample", "temperature": 2.0},
    "top-p 0.9": {"strategy": "sample", "top_p": 0.9},
}


def demo(runner: DemoRunner) -> dict[str, float]:
    model = {"d_model": 64, "n_heads": 4, "n_layers": 2, "position": "rope", "norm_placement": "pre"}
    training = {"steps": 60 if runner.fast else 600, "batch_size": 32, "lr": 3e-3, "warmup": 20, "schedule": "linear"}
    run = runner.train(make_recipe("gpt", "characters", model=model, training=training))
    prefix = torch.tensor([[1, *run.task.read("the c")]])
    known = set(" ".join(run.task.say(row.tolist()) for row in run.task.evaluation(500).target).split())
    known_shares = {}
    for name, options in STRATEGIES.items():
        outputs = [core.generate(run.model, prefix, max_new=60, seed=runner.seed + i, **options)[0] for i in range(5)]
        texts = ["the c" + run.task.say([i for i in ids.tolist() if i > 2]) for ids in outputs]
        words = [word for text in texts for word in text.split()]
        known_shares[name] = sum(word in known or word.rstrip(".?,") in known for word in words) / len(words)
        print(f"  {name:16} {len(set(texts))} different, {known_shares[name]:.0%} known words: “{texts[0]}”")
    figure = go.Figure(go.Scatter(y=[step.loss for step in run.steps], name="loss"), layout={"title": "Loss by step"})
    figure.add_hline(run.task.entropy, annotation_text="the lowest there is")
    runner.save_figure("gpt_generation", figure)
    return {"accuracy": run.evaluate().accuracy, **known_shares}


if __name__ == "__main__":
    run_demo(demo, __doc__)
