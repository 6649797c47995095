"""English to 中文 with a Transformer, and the picture of what it looked at for every word it wrote.

Expected: about 98 % of held-out sentences exactly right; the cross-attention of its one head agrees with the true
alignment of words by about 0.8.
"""

from __future__ import annotations

import torch

import core
from core.measures import agreement
from core.tasks.layouts import prompt
from demos.stage import Stage, heatmap, play


def demo(stage: Stage) -> dict[str, float]:
    run = stage.train(stage.recipe("transformer", "translation"))
    task, n = run.task, 20 if stage.fast else 200
    examples = task.evaluation(n, seed=stage.seed)
    source, lengths = prompt(examples, "pairs")
    written = core.generate(run.model, source, lengths, max_new=examples.target.shape[1] + 1)
    exact, agreed = 0, []
    for row in range(n):
        right = examples.target[row, : examples.target_lengths[row]].tolist()
        said = written[row].tolist()
        exact += said[: said.index(2)] == right if 2 in said else False
        read = examples.source[row, : examples.source_lengths[row]].tolist()
        weights = looked(run.model, source[row, : lengths[row]], right)
        agreed.append(float(agreement(weights, task.ended_alignment(read, right))))
        if row < 3:
            print(f"  {task.say(read)} → {task.say([i for i in said if i > 2])}")
    shares = {"exact": exact / n, "agreement": sum(agreed) / n}
    print(f"  {shares['exact']:.1%} exactly right; agreement with the true alignment {shares['agreement']:.2f}")
    rows, columns = [*task.show(right), "</s>"], [*task.show(read), "</s>"]
    stage.show("translation", heatmap(weights, rows, columns, "Written (row) looked at (column)"))
    return shares


def looked(model: torch.nn.Module, source: torch.Tensor, target: list[int]) -> torch.Tensor:
    """(target + end, source + end): the last layer's cross-attention, averaged over heads"""
    begun = torch.tensor([[1, *target]])
    with torch.no_grad(), core.capture(model, "decoder.blocks.*.cross.weights") as tape:
        model(source[None], begun)
    return tape[tape.names()[-1]][0].mean(0)


if __name__ == "__main__":
    play(demo, __doc__)
