"""Print every ratio with its goal; choose some with `python -m tests.bench recurrent local`."""

from __future__ import annotations

import sys

import torch

from core.allocator import keep_freed_memory
from tests.bench import capture, local, pretrained, recurrent, stacks

BENCHES = {"recurrent": recurrent, "stacks": stacks, "capture": capture, "local": local, "pretrained": pretrained}


def main(names: list[str]) -> int:
    keep_freed_memory()  # for both sides alike, as the app does
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{'measured in one run, sides in turns, one thread':<70} {'ratio':>6}  {'goal':<15} our time")
    missed = 0
    for name in names or BENCHES:
        for row in BENCHES[name].rows():
            print(row, flush=True)
            missed += row.goal is not None and row.ratio > row.goal
    print(f"{missed} goals missed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
