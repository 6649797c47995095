"""The app with more runs: 12 layers × 12 heads over 512 tokens, and tokens of every kind; all untrained.

`python -m tests.browser.long_run_app PORT`. The odd tokens look like markup or formatting and must be shown as text.
"""

import sys

import torch
import uvicorn

from app.main import make_app
from app.service.runs.loaded_run import LoadedRun
from app.service.runs.run_registry import RunEntry, register_run
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.training.loop import Step
from core.training.snapshots import Snapshot
from core.translatable import Text, verbatim

NAME, TOKENS, LAYERS, HEADS = "long-bert", 512, 12, 12
ODD_NAME, ODD_LSTM = "odd-gpt", "odd-lstm"
ODD_TOKENS = [
    "</script><img src=x onerror=alert(1)>",
    "<b>bold</b>",
    "w" * 10_000,
    "🙂👩‍👩‍👧",
    "中文符号",
    "שלום עולם",
    "**stars**",
    '"quoted", with commas',
    "{braces}",
    "\u202eturned",
]


def long_run() -> Run:
    """Two snapshots: as initialised, and with sharper attention, so that they can be told apart."""
    model = {"n_layers": LAYERS, "n_heads": HEADS, "d_model": 48, "d_ff": 48, "max_len": TOKENS + 2}
    run = Run(make_recipe("bert", "parity", model=model, task_options={"min_len": TOKENS, "max_len": TOKENS}))
    return _sharpened(run, 100)


def odd_run(family: str) -> Run:
    model = {"n_layers": 2, "n_heads": 3, "d_model": 24, "d_ff": 24} if family == "gpt" else {"d_hidden": 6}
    task_options = {"n_symbols": len(ODD_TOKENS), "max_len": 10}
    return _sharpened(Run(make_recipe(family, "induction", model=model, task_options=task_options)), 50)


def _sharpened(run: Run, step: int) -> Run:
    with torch.no_grad():
        for name, parameter in run.model.named_parameters():
            if ".q_proj." in name or ".k_proj." in name:
                parameter.mul_(8)
    run.snapshots.entries.append(Snapshot.of(step, run.model))
    run.steps = [Step(index=i, loss=0.7, accuracy=0.5, lr=1e-3, grad_norm=1.0, tokens=1) for i in (1, step)]
    return run


def offer_runs() -> None:
    """Registers these runs beside the shipped ones, in this process."""
    for name, run in ((NAME, long_run()), (ODD_NAME, odd_run("gpt")), (ODD_LSTM, odd_run("lstm"))):
        facts = {"recipe": run.recipe.to_dict(), "seed": run.seed, "accuracy": 0.5, "accuracy_by_length": {}}
        register_run(
            RunEntry(name, verbatim(name), Text("**untrained**"), loaded_run=LoadedRun(name, run, [], facts))
        )
    task = type(odd_run("gpt").task)
    show = task.show
    task.show = lambda self, ids: odd_tokens(ids) if self.n_symbols == len(ODD_TOKENS) else show(self, ids)


def odd_tokens(ids: list[int]) -> list[str]:
    return [ODD_TOKENS[i % len(ODD_TOKENS)] for i in ids]


def main() -> None:
    torch.set_num_threads(1)
    offer_runs()
    uvicorn.run(make_app(), port=int(sys.argv[1]), log_level="warning")


if __name__ == "__main__":
    main()
