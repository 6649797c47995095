"""Peak memory, in MB beyond the model itself, of collecting the arrays of 512 tokens with a BERT-Base.

`python -m tests.app.long_input` prints it. In a process of its own: memory freed by other tests would be reused.
"""

import threading
import time
from pathlib import Path

import torch

import core
from app.service.inputs import input_from_text
from app.service.snapshot_arrays import collect_arrays
from core.runs.pretrained_run import PretrainedRun, SpecialTokens
from core.text.tokenizer import train_tokenizer

TOKENS = 512
ALL_WEIGHTS = 12 * 12 * TOKENS * TOKENS * 4 / 1e6  # MB, on a tape


def resident_memory() -> float:
    """MB"""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def bert_base() -> PretrainedRun:
    torch.manual_seed(0)
    tokenizer = train_tokenizer("wordpiece", ["walnut harbor quilt ember lantern fossil"], 200)
    model = core.build("bert-base", vocab_size=tokenizer.vocab_size, head="none", next_sentence=False)
    return PretrainedRun(model, tokenizer, special_tokens=SpecialTokens(0, None, 0))


def measure_peak() -> tuple[float, bytes]:
    torch.set_num_threads(1)
    run = bert_base()
    model_input = input_from_text(run, " ".join(["walnut harbor"] * ((TOKENS - 2) // 2)))
    assert len(model_input.source) == TOKENS
    collect_arrays(run, input_from_text(run, "walnut harbor quilt")).pack()  # warm up
    before, peak, done = resident_memory(), 0.0, threading.Event()

    def sample() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident_memory())
            time.sleep(0.001)

    sampler = threading.Thread(target=sample)
    sampler.start()
    packed = collect_arrays(run, model_input).pack()
    done.set()
    sampler.join()
    return peak - before, packed


if __name__ == "__main__":
    peak, packed = measure_peak()
    print(f"{peak:.0f} {len(packed) / 1e6:.2f}")
