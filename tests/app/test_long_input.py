"""All 144 heads of BERT-Base on 512 tokens, within a bound of memory and of bytes sent to the page."""

import subprocess
import sys
from pathlib import Path

from tests.app.long_input import ALL_WEIGHTS

BOUND = 140  # MB beyond the model: less than all weights together, which are never in memory at once
SENT = 4  # MB


def test_arrays_of_512_tokens_through_bert_base_stay_within_the_bound():
    root = Path(__file__).resolve().parents[2]
    process = subprocess.run(
        [sys.executable, "-m", "tests.app.long_input"], cwd=root, capture_output=True, text=True, timeout=280
    )
    assert process.returncode == 0, process.stderr
    peak, sent = map(float, process.stdout.split())
    assert peak < BOUND < ALL_WEIGHTS, f"{peak} MB"
    assert sent < SENT, f"{sent} MB"
