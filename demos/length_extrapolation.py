"""Longer than in training: the same Transformer copies with each position scheme, then meets longer sequences.

Expected: all reach 99 % at the lengths of training (up to 12); at 16 and 24, RoPE keeps most of it, ALiBi and T5 some,
sinusoidal and learned positions lose nearly all. What works inside the range says little about what lies outside.
"""

from __future__ import annotations

import plotly.graph_objects as go

from demos.runner import DemoRunner, run_demo

VARIANTS = {"rope": "default", "learned": "learned", "t5": "t5", "sinusoidal": "sinusoidal", "alibi": "alibi"}
LENGTHS = (4, 8, 12, 16, 20, 24)


def demo(runner: DemoRunner) -> dict[str, list[float]]:
    accuracies = {}
    figure = go.Figure(layout={"title": "Copy: accuracy by length, trained up to 12"})
    for scheme, variant in list(VARIANTS.items())[: 2 if runner.fast else None]:
        run = runner.train(runner.recipe("transformer", "copy", variant))
        accuracies[scheme] = [run.evaluate(128, length=length).accuracy for length in LENGTHS]
        print(
            f"  {scheme:11}" + "".join(f"{n:4}: {a:4.0%} " for n, a in zip(LENGTHS, accuracies[scheme], strict=True))
        )
        figure.add_scatter(x=LENGTHS, y=accuracies[scheme], name=scheme)
    figure.update_yaxes(title="share of tokens right", range=[0, 1.02])
    figure.update_xaxes(title="length")
    runner.save_figure("length_extrapolation", figure)
    return accuracies


if __name__ == "__main__":
    run_demo(demo, __doc__)
