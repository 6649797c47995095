"""Figures in a line, as a notebook makes them: they hold the tape's own numbers, and say what is missing."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest
import torch

import core
from app import figures
from core.layers.positions import Sinusoidal

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOK = ROOT / "demos/figures.ipynb"


def tape_of(family: str, **options) -> core.Tape:
    model = core.build(family, vocab_size=12, **options).eval()
    with torch.no_grad(), core.capture(model) as tape:
        model(torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, 8, 2]]))
    return tape


def test_attention_of_a_tape():
    tape = tape_of("gpt", n_layers=2, n_heads=3, d_model=24)
    whole = figures.attention(tape, list("abcde")).at().data[0].z
    one = figures.attention(tape, list("abcde"), layer=1, head=2, example=1).at()
    np.testing.assert_array_equal(one.data[0].z, tape["blocks.1.attn.weights"][1, 2])
    assert np.isfinite(whole).sum() == 2 * 3 * 25 and one.layout.xaxis.ticktext == tuple("abcde")
    several = figures.attention([tape, tape], layer=0, head=0)
    assert len(several.scrubbed().layout.sliders[0].steps) == 2


def test_gates_of_a_tape():
    tape = tape_of("lstm", n_layers=1, d_hidden=8)
    for gate in ("hidden", "forget", "cell"):
        shown = figures.gates(tape, list("abcde"), gate=gate).at().data[0].z
        np.testing.assert_array_equal(shown, tape[f"layers.0.fwd.{gate}"][0].T)


def test_positions_training_and_diagram():
    table = Sinusoidal(16, 8).table
    np.testing.assert_array_equal(figures.positions(table).at().data[0].z, table)
    run = core.Run(core.recipe("lstm", "parity"), seed=0)
    for _ in islice(run.train(), 3):
        pass
    curve = figures.training(run).at()
    assert len(curve.data[1].y) == 3 and curve.data[4].x[0] == 0
    assert "token_embedding" in figures.diagram(core.anatomy("gpt"))._repr_svg_()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: figures.attention(tape_of("lstm", d_hidden=8)), "no attention on this tape"),
        (lambda: figures.attention(tape_of("gpt", d_model=16), stack="decoder.cross"), "there is blocks"),
        (lambda: figures.attention(tape_of("gpt", d_model=16), ["a"]), "5 queries, but 1 tokens"),
        (lambda: figures.gates(tape_of("gpt", d_model=16)), "no gates on this tape"),
        (lambda: figures.gates(tape_of("rnn", d_hidden=8), gate="forget"), "has no 'forget'"),
    ],
)
def test_what_is_missing_is_said(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_figures_import_neither_torch_nor_gradio():
    code = "import app.figures, sys; print([name for name in ('torch', 'gradio', 'core') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert result.stdout.strip() == "[]"


def test_the_example_notebook_runs_and_its_figures_hold_data():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": ROOT}}).execute()
    shown = [out["data"] for cell in notebook.cells for out in cell.get("outputs", []) if "data" in out]
    plots = [data["application/vnd.plotly.v1+json"] for data in shown if "application/vnd.plotly.v1+json" in data]
    assert len(plots) >= 4 and all(trace for plot in plots for trace in plot["data"])
    assert any(plot["data"][0].get("z") is not None for plot in plots)
    assert any("<svg" in str(data.get("text/html", data.get("image/svg+xml", ""))) for data in shown)
