"""The two sides of `make bench-ui`: our app with models of many heads and many tokens in it, and a bare Gradio page with one plot.

`python -m tests.bench.ui_app ours|bare PORT`
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr
import numpy as np
import plotly.graph_objects as go
import torch
import uvicorn
from fastapi import FastAPI

from app.main import make_app
from app.service.runs.job_service import JobSettings, job_service
from app.service.runs.loaded_run import LoadedRun
from app.service.runs.run_registry import RunEntry, register_run
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.translatable import verbatim

WIDE = {"n_layers": 12, "n_heads": 12, "d_model": 48, "d_ff": 48}
USUAL = {"n_layers": 2, "n_heads": 4, "d_model": 32, "d_ff": 32}
FRAMES, HEADS, SIDE = 24, 8, 16  # of the picture that both sides show


def offer(name: str, model: dict[str, int], tokens: int, snapshots: int = 1) -> None:
    """A model that looks at so many tokens; a few steps of training, for the timeline to have something."""
    recipe = make_recipe(
        "bert",
        "parity",
        model=model,
        task_options={"min_len": tokens, "max_len": tokens},
        training={"steps": snapshots + 1, "batch_size": 2},
    )
    run = Run(recipe)
    for _ in run.train():
        pass
    run.snapshots.entries = run.snapshots.entries[-snapshots:]
    facts = {"recipe": recipe.to_dict(), "seed": 0, "accuracy": 0.5, "accuracy_by_length": {}}
    title = verbatim(f"{model['n_layers']} × {model['n_heads']} heads, {tokens} tokens")
    register_run(RunEntry(name, title, title, loaded_run=LoadedRun(name, run, [], facts)))


def bare_page() -> gr.Blocks:
    maps = np.random.default_rng(0).dirichlet(np.ones(SIDE), (FRAMES, HEADS, SIDE)).astype(np.float32)

    def draw(frame: float) -> go.Figure:
        return go.Figure(go.Heatmap(z=maps[int(frame), 0], name=str(int(frame)))).update_layout(height=500)

    with gr.Blocks() as page:
        slider = gr.Slider(0, FRAMES - 1, 0, step=1, elem_id="frame")
        plot = gr.Plot(draw(0), elem_id="plot")
        slider.change(draw, slider, plot, show_progress="hidden", trigger_mode="always_last")
    return page


def main() -> None:
    side, port = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    if side == "ours":
        offer("wide-64", WIDE, 64, snapshots=6)
        offer("wide-512", WIDE, 512)
        for tokens in (64, 256, 512):
            offer(f"usual-{tokens}", USUAL, tokens, snapshots=6)
        job_service.open(JobSettings(Path(tempfile.mkdtemp(prefix="innerview-bench-"))))
        app = make_app()
    else:
        app = gr.mount_gradio_app(FastAPI(), bare_page(), path="/")
    uvicorn.run(app, port=port, log_level="warning")


if __name__ == "__main__":
    main()
