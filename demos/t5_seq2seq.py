"""T5 reverses sequences: every decoder step has to find the right place of the source by relative positions alone.

Expected: 99 % or more of the tokens right, written one after the other; where it looks runs along the other diagonal.
"""

from __future__ import annotations

import torch

import core
from core.tasks.layouts import Examples, prompt
from demos.stage import Stage, heatmap, play


def demo(stage: Stage) -> dict[str, float]:
    run = stage.train(stage.recipe("t5", "reverse"))
    one: Examples = run.task.evaluation(1, seed=stage.seed)
    source, lengths = prompt(one, "pairs")
    written = core.generate(run.model, source, lengths, max_new=20)[0]
    read, wrote = (run.task.show([i for i in row.tolist() if i]) for row in (source[0], written))
    print(f"  {' '.join(read)} → {' '.join(wrote)}")
    begun = torch.cat([torch.tensor([1]), written[:-1]])[None]
    with torch.no_grad(), core.capture(run.model, "decoder.blocks.*.cross.weights") as tape:
        run.model(source, begun, lengths)
    weights = torch.stack([tape[name][0].mean(0) for name in tape]).mean(0)  # (query, key), all heads and layers
    stage.show(
        "t5_reverse", heatmap(weights, wrote, read, "Cross-attention, all heads: written (row), read (column)")
    )
    return {"accuracy": run.evaluate().accuracy}


if __name__ == "__main__":
    play(demo, __doc__)
