"""Every demo runs alone: quickly, to see that it prints and draws; in full, to see what its first lines promise."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import demos
from app.service.runs import shipped
from demos.stage import Stage, play
from demos.translation import judge

ROOT = Path(__file__).resolve().parents[2]

NAMES = sorted({module.name for module in pkgutil.iter_modules(demos.__path__)} - {"stage"})
EXPECTED = {
    "capture_and_edit": lambda found: found["whole"] >= 0.99 and found["score"] > 0.8 and found["without"] < 0.6,
    "feature_extraction": lambda found: found["trained"] > 0.9 > 0.2 + found["untrained"],
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


@pytest.mark.parametrize("name", NAMES)
def test_it_explains_itself_on_the_command_line(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        play(import_module(f"demos.{name}").demo, import_module(f"demos.{name}").__doc__)
    said = capsys.readouterr().out
    assert end.value.code == 0 and all(option in said for option in ("--seed", "--out", "Expected"))


def test_it_runs_alone(tmp_path):
    """As a command of its own, from the folder of the project."""
    command = [sys.executable, "-m", "demos.gradients", "--fast", "--seed", "3", "--out", str(tmp_path / "pictures")]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert said.count("of the last step's gradient") == 3 and (tmp_path / "pictures/gradients.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_in_full_it_keeps_its_promise(name, tmp_path):
    found = import_module(f"demos.{name}").demo(Stage(out=tmp_path))
    assert EXPECTED[name](found), found


def test_the_translator_that_comes_with_the_app_is_as_good():
    """English to 中文 on sentences it never read: exactly right, and looking at the words it translates."""
    run = shipped.load("translation-transformer").run
    judged = judge(run, run.task.evaluation(400, seed=7))
    assert sum(one.exact for one in judged) / 400 >= 0.95
    assert sum(one.agreement for one in judged) / 400 >= 0.8
