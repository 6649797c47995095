"""Vanishing gradients: how much of the gradient of the final loss reaches each earlier position in RNN, LSTM and GRU.

Expected, before any training, at length 60: the RNN's gradient at the first position is many powers of ten below that
at the last; the GRU's and the LSTM's (forget gates held open by their bias) shrink far less.
"""

from __future__ import annotations

import plotly.graph_objects as go
import torch

import core
from core.analysis.measures import gradient_through_time
from demos.runner import DemoRunner, run_demo

CELLS = {"rnn": {}, "gru": {}, "lstm": {"forget_bias": 3.0}}


def demo(runner: DemoRunner) -> dict[str, float]:
    length, problems = (20, 8) if runner.fast else (60, 64)
    task = core.task("parity", max_len=length)
    batch = task.lay_out(task.evaluation(problems, length=length, seed=runner.seed), "label")
    figure = go.Figure(layout={"title": "‖∂loss/∂h‖ through time, before training"})
    ratios = {}
    for family, options in CELLS.items():
        torch.manual_seed(runner.seed)
        model = core.build(family, **{**task.model_options(family), "d_hidden": 64, "d_embed": 16, **options})
        (mean,) = gradient_through_time(model, batch).values()  # (time,): over all problems
        ratios[family] = float(mean[0] / mean[-1])
        figure.add_scatter(y=mean.tolist(), x=list(range(1, length + 1)), name=family.upper())
        print(f"  {family.upper():5} {ratios[family]:.1e} of the last position's gradient reaches the first")
    figure.update_yaxes(type="log", title="norm")
    figure.update_xaxes(title="position")
    runner.save_figure("gradients", figure)
    return ratios


if __name__ == "__main__":
    run_demo(demo, __doc__)
