"""Layers × heads: which sizes of a GPT learn to repeat a sequence? One layer never does, however many heads.

Expected: two layers reach 95 % or more with several heads; one layer stays below 40 %: an induction head needs an
earlier layer to look back by one token.
"""

from __future__ import annotations

import plotly.express as px

import core
from demos.runner import DemoRunner, run_demo


def demo(runner: DemoRunner) -> dict[str, float]:
    recipe = runner.recipe("gpt", "induction", steps=250)
    grid = {"n_layers": [1, 2], "n_heads": [1, 4] if runner.fast else [1, 2, 4]}
    frame = core.sweep(recipe, grid, seeds=[runner.seed])
    table = frame.pivot(index="n_layers", columns="n_heads", values="accuracy")
    print("  accuracy by layers (row) and heads (column)")
    print("  " + table.round(3).to_string().replace("\n", "\n  "))
    runner.save_figure(
        "layers_heads", px.imshow(table, text_auto=".0%", title="Accuracy by layers and heads", aspect="auto")
    )
    return {"one": float(table.loc[1].max()), "two": float(table.loc[2].max())}


if __name__ == "__main__":
    run_demo(demo, __doc__)
