"""Every demo runs as a command: in fast mode it prints and draws; in full it meets what its docstring expects."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import demos
from app.service.runs import shipped
from demos.runner import DemoRunner, run_demo
from demos.translation import translate

ROOT = Path(__file__).resolve().parents[2]

NAMES = sorted({module.name for module in pkgutil.iter_modules(demos.__path__)} - {"runner"})
EXPECTED = {
    "capture_and_edit": lambda results: (
        results["whole"] >= 0.99 and results["score"] > 0.8 and results["without"] < 0.6
    ),
    "feature_extraction": lambda results: results["trained"] > 0.9 > 0.2 + results["untrained"],
    "fine_tuning": lambda results: (
        results["tuned"][0] > results["scratch"][0] + 0.05 and results["tuned"][1] > 0.9 > results["scratch"][1]
    ),
    "gpt_generation": lambda results: results["sample"] > 0.8 > results["temperature 2"],
    "gradients": lambda results: results["rnn"] < 1e-3 < results["lstm"] and results["rnn"] < 0.1 * results["gru"],
    "layers_heads": lambda results: results["one"] < 0.4 and results["two"] > 0.95,
    "length_extrapolation": lambda results: results["rope"][3] > 0.9 > results["learned"][3],
    "mlm": lambda results: 0.55 < results["accuracy"] < results["ceiling"],
    "ner_crf": lambda results: (
        results["crf"] > results["softmax"] + 0.01
        and results["least"] > 0
        and results["broken_crf"] == 0 < results["broken_softmax"]
    ),
    "t5_seq2seq": lambda results: results["accuracy"] >= 0.99,
    "text_classification": lambda results: min(results.values()) >= 0.99,
    "translation": lambda results: results["exact"] >= 0.95 and results["agreement"] >= 0.8,
}


def test_every_demo_has_an_expectation():
    assert list(EXPECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_prints_and_draws(name, tmp_path, capsys):
    module = import_module(f"demos.{name}")
    assert "Expected" in module.__doc__
    assert module.demo(DemoRunner(seed=1, out=tmp_path, fast=True))
    pictures = list(tmp_path.glob("*.html"))
    assert pictures and str(pictures[0]) in capsys.readouterr().out
    for picture in pictures:
        page = picture.read_text("utf-8")
        assert "Plotly.newPlot" in page and 'src="http' not in page


@pytest.mark.parametrize("name", NAMES)
def test_it_explains_itself_on_the_command_line(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        run_demo(import_module(f"demos.{name}").demo, import_module(f"demos.{name}").__doc__)
    output = capsys.readouterr().out
    assert end.value.code == 0 and all(option in output for option in ("--seed", "--out", "Expected"))


def test_it_runs_as_a_command(tmp_path):
    command = [sys.executable, "-m", "demos.gradients", "--fast", "--seed", "3", "--out", str(tmp_path / "pictures")]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert output.count("of the last position's gradient") == 3 and (tmp_path / "pictures/gradients.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_in_full_it_meets_its_expectation(name, tmp_path):
    results = import_module(f"demos.{name}").demo(DemoRunner(out=tmp_path))
    assert EXPECTED[name](results), results


def test_the_shipped_translator_is_as_good():
    """English to 中文 on held-out sentences: exactly right, and attending to the words it translates."""
    run = shipped.load("translation-transformer").run
    translations = translate(run, run.task.evaluation(400, seed=7))
    assert sum(translation.exact for translation in translations) / 400 >= 0.95
    assert sum(translation.agreement for translation in translations) / 400 >= 0.8
