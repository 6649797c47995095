"""Capturing and editing in ten lines: a GPT learns to repeat a sequence; without its induction heads it cannot.

Expected: 99 % or more whole; the strongest induction head has a score above 0.8. Several heads do the same, so without
the strongest alone little is lost; without all of them the accuracy falls below 60 %.
"""

from __future__ import annotations

import torch

import core
from app import figures
from core.analysis.measures import induction
from core.analysis.training_events import ROLE_THRESHOLD
from demos.runner import DemoRunner, run_demo


def demo(runner: DemoRunner) -> dict[str, float]:
    run = runner.train(runner.recipe("gpt", "induction"))
    ids = torch.tensor([run.task.read("t g w b n h c s t g w b n h c s")])
    with torch.no_grad(), core.capture(run.model, "*.weights") as tape:
        run.model(ids)
    scores = {
        (layer, head): float(induction(tape[f"blocks.{layer}.attn.weights"][0, head], ids[0]))
        for layer in range(run.model.config.n_layers)
        for head in range(run.model.config.n_heads)
    }
    layer, head = max(scores, key=scores.get)
    induction_heads = [h for (i, h), score in scores.items() if i == layer and score > ROLE_THRESHOLD]
    accuracy = run.evaluate().accuracy
    without_one, without_all = (ablated_accuracy(run, layer, heads) for heads in ([head], induction_heads))
    print(
        f"  head {layer}.{head}: induction score {scores[layer, head]:.2f}; clear induction heads: {len(induction_heads)}"
    )
    print(f"  accuracy {accuracy:.1%}; without that head {without_one:.1%}; without all of them {without_all:.1%}")
    tokens = run.task.show(ids[0].tolist())
    runner.save_figure("induction_head", figures.attention(tape, tokens, layer=layer, head=head))
    return {"score": scores[layer, head], "whole": accuracy, "without": without_all}


def ablated_accuracy(run: core.Run, layer: int, heads: list[int]) -> float:
    """Accuracy with the output of these heads set to 0."""
    edits = (
        {f"blocks.{layer}.attn.context": core.edits.zero_heads(heads)} if heads else {}
    )  # there may be no clear head
    with core.edit(run.model, edits):
        return run.evaluate().accuracy


if __name__ == "__main__":
    run_demo(demo, __doc__)
