"""Longer than in training: the same Transformer copies with each position scheme, then meets longer sequences.

Expected: all reach 99 % at the lengths of training (up to 12); at 16 and 24, RoPE keeps most of it, ALiBi and T5 some,
sinusoidal and learned positions lose nearly all. What works inside the range says little about what lies outside.
"""

from __future__ import annotations

import plotly.graph_objects as go

from demos.stage import Stage, play

VARIANTS = {"rope": "default", "learned": "learned", "t5": "t5", "sinusoidal": "sinusoidal", "alibi": "alibi"}
LENGTHS = (4, 8, 12, 16, 20, 24)


def demo(stage: Stage) -> dict[str, list[float]]:
    found = {}
    figure = go.Figure(layout={"title": "Copy: accuracy by length, trained up to 12"})
    for scheme, variant in list(VARIANTS.items())[: 2 if stage.fast else None]:
        run = stage.train(stage.recipe("transformer", "copy", variant))
        found[scheme] = [run.evaluate(128, length=length).accuracy for length in LENGTHS]
        print(f"  {scheme:11}" + "".join(f"{n:4}: {a:4.0%} " for n, a in zip(LENGTHS, found[scheme], strict=True)))
        figure.add_scatter(x=LENGTHS, y=found[scheme], name=scheme)
    figure.update_yaxes(title="share of tokens right", range=[0, 1.02])
    figure.update_xaxes(title="length")
    stage.show("length_extrapolation", figure)
    return found


if __name__ == "__main__":
    play(demo, __doc__)
