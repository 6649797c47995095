"""Named entities with and without a CRF, from only 50 sentences: the CRF knows which tags may follow each other.

Expected, over three seeds: the CRF's tags are more often right, and it never writes an I- tag that continues nothing;
the softmax tagger does, in some sentences.
"""

from __future__ import annotations

from statistics import mean

import torch

import core
from demos.stage import Stage, heatmap, play


def demo(stage: Stage) -> dict[str, float]:
    found: dict[str, list[float]] = {"few": [], "few-crf": []}
    broken = dict.fromkeys(found, 0)
    for seed in range(stage.seed, stage.seed + (1 if stage.fast else 3)):
        for variant in found:
            run = stage.train(stage.recipe("lstm", "entities", variant), seed)
            found[variant].append(run.evaluate(1000).accuracy)
            broken[variant] += illegal(run)
    for variant, name in (("few", "softmax"), ("few-crf", "CRF")):
        print(f"  {name}: {mean(found[variant]):.1%} of the tags right, {broken[variant]} impossible transitions")
    names = [name.en for name in run.task.label_names]
    title = "The CRF's transition scores: from (row) to (column)"
    stage.show(
        "crf_transitions",
        heatmap(run.model.head.crf.transition.detach(), names, names, title, colorscale="RdBu", zmid=0),
    )
    return {"softmax": mean(found["few"]), "crf": mean(found["few-crf"]), "broken": broken["few-crf"]}


def illegal(run: core.Run, n: int = 1000) -> int:
    """How often an I-X tag stands behind anything but B-X or I-X in what the model writes."""
    batch = run.task.lay_out(run.task.evaluation(n), "tags")
    with torch.no_grad():
        logits = run.model(*batch.inputs).logits
    names = [name.en for name in run.task.label_names]
    count = 0
    for row in run.model.head.predict(logits, batch.inputs[1]):
        tags = [names[tag] for tag in row if tag >= 0]
        count += sum(
            after.startswith("I-") and before not in (f"B-{after[2:]}", after)
            for before, after in zip(["O", *tags], tags, strict=False)
        )
    return count


if __name__ == "__main__":
    play(demo, __doc__)
