"""Adding a family takes what the README says and nothing more: here it is done, in a copy of the library."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CONFIGS = """

@dataclass(frozen=True, kw_only=True)
class MixerConfig(Config):
    family: ClassVar[str] = "mixer"
    d_model: int = option("d_model", 16)
    max_len: int = option("max_len", 32)
    head: str = option("head", "lm", only=("lm", "classifier"))
    n_labels: int = option("n_labels", 2)


@dataclass(frozen=True, kw_only=True)
class BartConfig(EncoderDecoderConfig):
    family: ClassVar[str] = "bart"
    position: str = option("position", "learned")
"""
MIXER = '''
import torch
from torch import nn

from core.layers.task_heads.heads import TokenHead, make_head
from core.layers.input_checks import check_input
from core.layers.masks import last_valid
from core.models.output import Output
from core.models.transformer import Transformer
from core.capture.taps import tap


class Bart(Transformer):
    """Nothing of its own but its options."""


class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        mean = x.cumsum(1) / torch.arange(1, x.shape[1] + 1, device=x.device)[:, None]
        return x + tap(self, "mixed", self.proj(mean))


class Mixer(nn.Module):
    """Every token gets the mean of those before it."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.mixes = nn.ModuleList(Mix(config.d_model) for _ in range(config.n_layers))
        if config.head == "lm":
            self.head = TokenHead(config.d_model, config.vocab_size)
        else:
            self.head = make_head(config.head, config.d_model, config.n_labels, config.max_len, config.dropout)

    def forward(self, ids, lengths=None):
        lengths = check_input(ids, lengths, self.config.vocab_size, self.config.max_len)
        x = tap(self, "vectors", self.token_embedding(ids))
        for mix in self.mixes:
            x = mix(x)
        logits = tap(self, "logits", self.head(x, last_valid(x, lengths), lengths))
        return Output(logits=logits, hidden=x)
'''
USE = """
import json

import torch

torch.set_num_threads(1)
import core
import gradio as gr
from app.i18n import in_all_languages
from app.service.build import costs as build_costs, model_plan
from app.tabs.build.options import family_options
from core.analysis import costs

model, bart = core.build("mixer", n_layers=7).eval(), core.build("bart", n_layers=1).eval()
ids = torch.randint(1, 100, (1, 5))
with core.capture(model, "*mixed") as tape:
    model(ids)
drawn = core.anatomy(model, time=5)
config = model.config
parity, copy = core.task("parity", max_len=6), core.task("copy", max_len=5)
with gr.Blocks():
    controls = [option["name"] for option in family_options("mixer").props["options"]]
trained = {}
for family, task in (("mixer", parity), ("bart", copy)):
    trained_config = core.configure(family, **task.model_options(family))
    run = core.Run(core.Recipe(trained_config, task, core.Training(steps=3)))
    trained[family] = [step.index for step in run.train()]
print(json.dumps({
    "families": core.models(),
    "taped": list(tape.names()),
    "drawn": [part.path for part in drawn.root.walk() if part.kind == "point"],
    "shape": drawn["mixes.5.mixed"].shape,
    "words": [drawn[point].description is not None for point in ("logits", "vectors")],
    "parameters": drawn.root.count == sum(weight.numel() for weight in model.parameters()),
    "flops": costs.flops(config, 5),
    "counted": costs.count_flops(model, 5),
    "activations": costs.activation_bytes(config, 8) == costs.measure(model, 8).activation_bytes,
    "bart": sum(costs.flops(bart.config, 4).values()) == costs.count_flops(bart, 4),
    "predicted": build_costs.predict_costs(config)["flops"],
    "offered": {name: in_all_languages(model_plan.family_help(name)) for name in core.models()},
    "controls": controls,
    "plan": model_plan.plan(config, 5, 5)["python"],
    "met": [parity.families, copy.families],
    "trained": trained,
    "written": list(core.generate(model, ids, max_new=3, eos=None).shape),
}))
"""  # fmt: skip


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The library with two families more: configurations, a file of classes, and a line each in the registry."""
    place = tmp_path_factory.mktemp("with a family")
    shutil.copytree(ROOT / "core", place / "core", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("app", "static"):
        (place / name).symlink_to(ROOT / name)
    with (place / "core/config/families.py").open("a", encoding="utf-8") as configs:
        configs.write(CONFIGS)
    (place / "core/models/mixer.py").write_text(MIXER, "utf-8")
    registry = place / "core/models/registry.py"
    lines = registry.read_text("utf-8").replace(
        '    "t5": T5,\n', '    "t5": T5,\n    "mixer": Mixer,\n    "bart": Bart,\n'
    )
    lines = lines.replace("from core.models.rnn", "from core.models.mixer import Bart, Mixer\nfrom core.models.rnn")
    registry.write_text(lines, "utf-8")
    return place


def test_a_new_family_is_built_seen_drawn_counted_offered_and_trained(copy):
    done = subprocess.run(
        [sys.executable, "-c", USE],
        capture_output=True,
        text=True,
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["families"][-2:] == ["mixer", "bart"]
    mixed = [f"mixes.{i}.mixed" for i in range(7)]
    assert report["taped"] == mixed and report["drawn"] == ["vectors", *mixed, "logits"], "layers under any name"
    assert report["shape"] == [1, 5, 16] and report["parameters"] and report["activations"] and report["bart"]
    assert report["words"] == [True, False], "a tap without words is there all the same"
    assert report["flops"] == {"all": report["counted"]} and report["counted"] > 0
    assert report["predicted"]["all"][0] > report["counted"]
    assert report["offered"]["mixer"] == {"en": "mixer", "zh": "mixer"} and report["offered"]["bert"]["en"] != "bert"
    assert {"n_layers", "d_model", "max_len", "head"} <= set(report["controls"])
    assert report["plan"] == 'import core\n\nmodel = core.build("mixer", n_layers=7)'
    parity, copying = report["met"]
    assert "mixer" in parity and "bart" not in parity and "bart" in copying and "mixer" in copying
    assert report["written"] == [1, 3]
    assert report["trained"] == {"mixer": [1, 2, 3], "bart": [1, 2, 3]}
