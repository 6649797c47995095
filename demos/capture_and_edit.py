"""Capturing and editing in ten lines: a GPT learns to repeat a sequence; without its induction heads it cannot.

Expected: 99 % or more whole; the strongest induction head has a score above 0.8. Several heads do the same, so without
the strongest alone little is lost; without all of them the accuracy falls below 60 %.
"""

from __future__ import annotations

import torch

import core
from core.analysis.measures import induction
from core.analysis.training_events import ROLE_THRESHOLD
from demos.stage import Stage, heatmap, play


def demo(stage: Stage) -> dict[str, float]:
    run = stage.train(stage.recipe("gpt", "induction"))
    ids = torch.tensor([run.task.read("t g w b n h c s t g w b n h c s")])
    with torch.no_grad(), core.capture(run.model, "*.weights") as tape:
        run.model(ids)
    scores = {
        (layer, head): float(induction(tape[f"blocks.{layer}.attn.weights"][0, head], ids[0]))
        for layer in range(run.model.config.n_layers)
        for head in range(run.model.config.n_heads)
    }
    layer, head = max(scores, key=scores.get)
    alike = [h for (at, h), score in scores.items() if at == layer and score > ROLE_THRESHOLD]
    whole, without_one, without_all = run.evaluate().accuracy, *(knocked_out(run, layer, h) for h in ([head], alike))
    print(f"  head {layer}.{head}: induction score {scores[layer, head]:.2f}; clear induction heads: {len(alike)}")
    print(f"  accuracy {whole:.1%}; without that head {without_one:.1%}; without all of them {without_all:.1%}")
    tokens = run.task.show(ids[0].tolist())
    weights = tape[f"blocks.{layer}.attn.weights"][0, head]
    stage.show("induction_head", heatmap(weights, tokens, tokens, f"Head {layer}.{head}: weights by query and key"))
    return {"score": scores[layer, head], "whole": whole, "without": without_all}


def knocked_out(run: core.Run, layer: int, heads: list[int]) -> float:
    edits = {f"blocks.{layer}.attn.context": core.edits.zero_heads(heads)} if heads else {}  # no head may be clear
    with core.edit(run.model, edits):
        return run.evaluate().accuracy


if __name__ == "__main__":
    play(demo, __doc__)
