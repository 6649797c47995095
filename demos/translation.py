"""English to 中文 with a Transformer, and the picture of what it looked at for every word it wrote.

Expected: about 98 % of held-out sentences exactly right; the cross-attention of its one head agrees with the true
alignment of words by about 0.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

import torch

import core
from core.analysis.measures import agreement
from core.tasks.layouts import EOS, Examples, prompt
from demos.stage import Stage, heatmap, play


def demo(stage: Stage) -> dict[str, float]:
    run = stage.train(stage.recipe("transformer", "translation"))
    examples = run.task.evaluation(20 if stage.fast else 200, seed=stage.seed)
    judged = judge(run, examples)
    for one in judged[:3]:
        print(f"  {run.task.say(one.read)} → {run.task.say(one.said)}")
    shares = {"exact": mean(one.exact for one in judged), "agreement": mean(one.agreement for one in judged)}
    print(f"  {shares['exact']:.1%} exactly right; agreement with the true alignment {shares['agreement']:.2f}")
    one, show = judged[-1], run.task.show
    rows, columns = [*show(one.right), "</s>"], [*show(one.read), "</s>"]
    stage.show("translation", heatmap(one.weights, rows, columns, "Written (row) looked at (column)"))
    return shares


@dataclass(frozen=True)
class Judged:
    read: list[int]
    right: list[int]
    said: list[int]
    weights: torch.Tensor  # (target + end, source + end)
    agreement: float  # of the weights with the true alignment
    exact: bool


def judge(run: core.Run, examples: Examples) -> list[Judged]:
    """Every sentence as the model writes it by itself, and what it looks at in writing the right one."""
    source, lengths = prompt(examples, "pairs")
    written = core.generate(run.model, source, lengths, max_new=examples.target.shape[1] + 1).tolist()
    judged = []
    for row, wrote in enumerate(written):
        right = examples.target[row, : examples.target_lengths[row]].tolist()
        read = examples.source[row, : examples.source_lengths[row]].tolist()
        weights = looked(run.model, source[row, : lengths[row]], right)
        agreed = float(agreement(weights, run.task.alignment_with_eos(read, right)))
        exact = wrote[: len(right) + 1] == [*right, EOS]
        judged.append(Judged(read, right, [i for i in wrote if i > EOS], weights, agreed, exact))
    return judged


def looked(model: torch.nn.Module, source: torch.Tensor, target: list[int]) -> torch.Tensor:
    """(target + end, source + end): the last layer's cross-attention, averaged over heads"""
    begun = torch.tensor([[1, *target]])
    with torch.no_grad(), core.capture(model, "decoder.blocks.*.cross.weights") as tape:
        model(source[None], begun)
    return tape[tape.names()[-1]][0].mean(0)


if __name__ == "__main__":
    play(demo, __doc__)
