"""English to 中文 with a Transformer, and its cross-attention for every word it writes.

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
from demos.runner import DemoRunner, heatmap, run_demo


def demo(runner: DemoRunner) -> dict[str, float]:
    run = runner.train(runner.recipe("transformer", "translation"))
    examples = run.task.evaluation(20 if runner.fast else 200, seed=runner.seed)
    translations = translate(run, examples)
    for translation in translations[:3]:
        print(f"  {run.task.say(translation.source)} → {run.task.say(translation.output)}")
    shares = {name: mean(getattr(t, name) for t in translations) for name in ("exact", "agreement")}
    print(f"  {shares['exact']:.1%} exactly right; agreement with the true alignment {shares['agreement']:.2f}")
    last, show = translations[-1], run.task.show
    rows, columns = [*show(last.target), "</s>"], [*show(last.source), "</s>"]
    runner.save_figure("translation", heatmap(last.weights, rows, columns, "Written (row) looked at (column)"))
    return shares


@dataclass(frozen=True)
class Translation:
    source: list[int]
    target: list[int]  # the right translation
    output: list[int]  # the model's
    weights: torch.Tensor  # (target + end, source + end)
    agreement: float  # of the weights with the true alignment
    exact: bool


def translate(run: core.Run, examples: Examples) -> list[Translation]:
    """Every sentence as the model translates it, with its cross-attention on the right translation."""
    prompts, lengths = prompt(examples, "pairs")
    outputs = core.generate(run.model, prompts, lengths, max_new=examples.target.shape[1] + 1).tolist()
    translations = []
    for row, output in enumerate(outputs):
        target = examples.target[row, : examples.target_lengths[row]].tolist()
        source = examples.source[row, : examples.source_lengths[row]].tolist()
        weights = cross_attention(run.model, prompts[row, : lengths[row]], target)
        aligned = float(agreement(weights, run.task.ended_alignment(source, target)))
        exact = output[: len(target) + 1] == [*target, EOS]
        translations.append(Translation(source, target, [i for i in output if i > EOS], weights, aligned, exact))
    return translations


def cross_attention(model: torch.nn.Module, source: torch.Tensor, target: list[int]) -> torch.Tensor:
    """(target + end, source + end): the last layer's weights, averaged over heads"""
    decoder_input = torch.tensor([[1, *target]])
    with torch.no_grad(), core.capture(model, "decoder.blocks.*.cross.weights") as tape:
        model(source[None], decoder_input)
    return tape[tape.names()[-1]][0].mean(0)


if __name__ == "__main__":
    run_demo(demo, __doc__)
