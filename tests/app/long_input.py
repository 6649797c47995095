"""How much memory a look at 512 tokens through a model of BERT-Base's size takes beyond the model itself, in MB.

`python -m tests.app.long_input` prints it. In a process of its own: what others have freed would count otherwise.
"""

import threading
import time
from pathlib import Path

import torch

import core
from app.service.inputs import typed
from app.service.snapshot_arrays import look
from core.runs.pretrained_run import PretrainedRun, SpecialTokens
from core.text.tokenizer import train_tokenizer

TOKENS = 512
ALL_WEIGHTS = 12 * 12 * TOKENS * TOKENS * 4 / 1e6  # MB, on a tape


def resident() -> float:
    """MB"""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def bert_base() -> PretrainedRun:
    torch.manual_seed(0)
    cut = train_tokenizer("wordpiece", ["walnut harbor quilt ember lantern fossil"], 200)
    model = core.build("bert-base", vocab_size=cut.vocab_size, head="none", next_sentence=False)
    return PretrainedRun(model, cut, special_tokens=SpecialTokens(0, None, 0))


def measured() -> tuple[float, bytes]:
    torch.set_num_threads(1)
    run = bert_base()
    problem = typed(run, " ".join(["walnut harbor"] * ((TOKENS - 2) // 2)))
    assert len(problem.source) == TOKENS
    look(run, typed(run, "walnut harbor quilt")).pack()  # kernels and tables that are made once
    before, most, done = resident(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, resident())
            time.sleep(0.001)

    watching = threading.Thread(target=watch)
    watching.start()
    packed = look(run, problem).pack()
    done.set()
    watching.join()
    return most - before, packed


if __name__ == "__main__":
    peak, packed = measured()
    print(f"{peak:.0f} {len(packed) / 1e6:.2f}")
