"""RNN, LSTM and GRU: how much of the gradient of the loss at the end reaches each earlier step.

Expected, before any training, at 60 steps: the RNN's gradient at the first step is many powers of ten below that at
the last; the GRU's and the LSTM's (forget gates held open by their bias) shrink far less. That is why they were made.
"""

from __future__ import annotations

import plotly.graph_objects as go
import torch

import core
from core.analysis.measures import gradient_through_time
from demos.stage import Stage, play

CELLS = {"rnn": {}, "gru": {}, "lstm": {"forget_bias": 3.0}}


def demo(stage: Stage) -> dict[str, float]:
    length, problems = (20, 8) if stage.fast else (60, 64)
    task = core.task("parity", max_len=length)
    batch = task.lay_out(task.evaluation(problems, length=length, seed=stage.seed), "label")
    figure = go.Figure(layout={"title": "‖∂loss/∂h‖ through time, before training"})
    left = {}
    for family, options in CELLS.items():
        torch.manual_seed(stage.seed)
        model = core.build(family, **{**task.model_options(family), "d_hidden": 64, "d_embed": 16, **options})
        (mean,) = gradient_through_time(model, batch).values()  # (time,): over all problems
        left[family] = float(mean[0] / mean[-1])
        figure.add_scatter(y=mean.tolist(), x=list(range(1, length + 1)), name=family.upper())
        print(f"  {family.upper():5} {left[family]:.1e} of the last step's gradient reaches the first")
    figure.update_yaxes(type="log", title="norm")
    figure.update_xaxes(title="time step")
    stage.show("gradients", figure)
    return left


if __name__ == "__main__":
    play(demo, __doc__)
