"""Masked language modelling: BERT fills in masked words, and says whether one sentence follows another.

Expected: about 0.6 of the masked words right. The Bayes-optimal accuracy is 0.73, since many words fit the gap.
"""

from __future__ import annotations

import plotly.graph_objects as go
import torch

from demos.runner import DemoRunner, run_demo

SENTENCE = "the [MASK] gave Mary an umbrella on Thursday."


def demo(runner: DemoRunner) -> dict[str, float]:
    run = runner.train(runner.recipe("bert", "masked words"))
    task = run.task
    ids = torch.tensor([[task.ids["[CLS]"], *task.read(SENTENCE), task.ids["[SEP]"]]])
    with torch.no_grad():
        shares = run.model(ids).logits.softmax(-1)[0, ids[0] == task.ids["[MASK]"]][0]
    best = shares.topk(8)
    words = task.show(best.indices.tolist())
    print(f"  {SENTENCE} → " + ", ".join(f"{w} {s:.0%}" for w, s in zip(words, best.values.tolist(), strict=True)))
    accuracy = run.evaluate(1000).accuracy
    print(f"  {accuracy:.1%} of the masked words; at most {task.ceiling:.1%} can be known")
    runner.save_figure("masked_word", go.Figure(go.Bar(x=words, y=best.values.tolist()), layout={"title": SENTENCE}))
    return {"accuracy": accuracy, "ceiling": task.ceiling}


if __name__ == "__main__":
    run_demo(demo, __doc__)
