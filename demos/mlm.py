"""BERT fills in masked words, as far as they can be known, and says whether one sentence follows another.

Expected: about 0.6 of the masked words right; whoever knows the whole grammar would reach 0.73, since many words
could stand in the gap.
"""

from __future__ import annotations

import plotly.graph_objects as go
import torch

from demos.stage import Stage, play

SENTENCE = "the [MASK] gave Mary an umbrella on Thursday."


def demo(stage: Stage) -> dict[str, float]:
    run = stage.train(stage.recipe("bert", "masked words"))
    task = run.task
    ids = torch.tensor([[task.ids["[CLS]"], *task.read(SENTENCE), task.ids["[SEP]"]]])
    with torch.no_grad():
        shares = run.model(ids).logits.softmax(-1)[0, ids[0] == task.ids["[MASK]"]][0]
    best = shares.topk(8)
    words = task.show(best.indices.tolist())
    print(f"  {SENTENCE} → " + ", ".join(f"{w} {s:.0%}" for w, s in zip(words, best.values.tolist(), strict=True)))
    accuracy = run.evaluate(1000).accuracy
    print(f"  {accuracy:.1%} of the masked words; at most {task.ceiling:.1%} can be known")
    stage.show("masked_word", go.Figure(go.Bar(x=words, y=best.values.tolist()), layout={"title": SENTENCE}))
    return {"accuracy": accuracy, "ceiling": task.ceiling}


if __name__ == "__main__":
    play(demo, __doc__)
