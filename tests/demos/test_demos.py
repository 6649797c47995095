"""Every demo runs alone: quickly, to see that it prints and draws; in full, to see what its first lines promise."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import demos
from demos.stage import Stage

NAMES = sorted({module.name for module in pkgutil.iter_modules(demos.__path__)} - {"stage"})
EXPECTED = {
    "capture_and_edit": lambda found: found["whole"] >= 0.99 and found["score"] > 0.8 and found["without"] < 0.6,
    "feature_extraction": lambda found: found["trained"] > max(0.02, found["untrained"]),
    "fine_tuning": lambda found: (
        found["tuned"][0] > found["scratch"][0] + 0.05 and found["tuned"][1] > 0.9 > found["scratch"][1]
    ),
    "gpt_generation": lambda found: found["sample"] > 0.8 > found["temperature 2"],
    "gradients": lambda found: found["rnn"] < 1e-3 < found["lstm"] and found["rnn"] < 0.1 * found["gru"],
    "layers_heads": lambda found: found["one"] < 0.4 and found["two"] > 0.95,
    "length_extrapolation": lambda found: found["rope"][3] > 0.9 > found["learned"][3],
    "mlm": lambda found: 0.55 < found["accuracy"] < found["ceiling"],
    "ner_crf": lambda found: (
        found["crf"] > found["softmax"] + 0.01
        and found["least"] > 0
        and found["broken_crf"] == 0 < found["broken_softmax"]
    ),
    "t5_seq2seq": lambda found: found["accuracy"] >= 0.99,
    "text_classification": lambda found: min(found.values()) >= 0.99,
    "translation": lambda found: found["exact"] >= 0.95 and found["agreement"] >= 0.8,
}


def test_every_demo_has_its_promise():
    assert list(EXPECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_prints_and_draws(name, tmp_path, capsys):
    module = import_module(f"demos.{name}")
    assert "Expected" in module.__doc__
    assert module.demo(Stage(seed=1, out=tmp_path, fast=True))
    pictures = list(tmp_path.glob("*.html"))
    assert pictures and str(pictures[0]) in capsys.readouterr().out
    for picture in pictures:
        page = picture.read_text("utf-8")
        assert "Plotly.newPlot" in page and 'src="http' not in page


def test_it_explains_itself_on_the_command_line():
    command = [sys.executable, "-m", "demos.gradients", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "--seed" in said and "--out" in said and "Expected" in said


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_in_full_it_keeps_its_promise(name, tmp_path):
    found = import_module(f"demos.{name}").demo(Stage(out=tmp_path))
    assert EXPECTED[name](found), found
