"""`capture(keep=…)` records what the function returns, and needs little memory for a long input."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

import core
from core.capture.tape import as_bytes
from tests.core.examples import FAMILIES, batch, small


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_returned_is_kept(family):
    model = small(family)
    inputs = batch(model)
    with torch.no_grad():
        with core.capture(model) as whole:
            model(**inputs)
        names = []
        with core.capture(model, keep=lambda name, tensor: names.append(name) or tensor.sum()) as sums:
            model(**inputs)
        with core.capture(model, keep=lambda name, tensor: None) as nothing:
            out = model(**inputs)
        with core.capture(model, "logits", keep=lambda name, tensor: tensor + 1) as one:
            model(**inputs)
    assert names == whole.names() == sums.names() and len(nothing) == 0
    assert all(torch.equal(sums[name], whole[name].sum()) for name in whole)
    assert one.names() == ["logits"]
    torch.testing.assert_close(one["logits"], out.logits + 1)


def test_weights_as_bytes():
    model = small("gpt", max_len=40)
    ids = torch.randint(0, 11, (2, 33))
    with torch.no_grad():
        with core.capture(model, "*.weights") as whole:
            model(ids)
        with core.capture(model, "*.weights", keep=as_bytes) as small_tape:
            model(ids)
    assert small_tape.names() == whole.names()
    for name, weights in whole.items():
        assert small_tape[name].dtype == torch.uint8 and small_tape[name].shape == weights.shape
        assert float((small_tape[name] / 255 - weights).abs().max()) <= 0.5 / 255 + 1e-6


def test_not_with_gradients():
    with (
        pytest.raises(core.TapError, match="either gradients=True or keep"),
        core.capture(small("gpt"), gradients=True, keep=as_bytes),
    ):
        pass


MEASURE = """
import sys, torch, core
from core.capture.tape import as_bytes
torch.set_num_threads(1)
def status(what):
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith(what)).split()[1])
model = core.build("bert-base", head="none").eval()
ids = torch.randint(1, 30_000, (1, 512))
heads = 0
def count(name, weights):
    global heads
    assert weights.shape[:2] == (1, 12)
    heads += weights.shape[1]
keep = {"bytes": as_bytes, "stream": count, "whole": None}[sys.argv[1]]
with torch.no_grad():
    with core.capture(model, "*.weights", keep=keep):
        model(ids[:, :8])
    heads = 0
    open("/proc/self/clear_refs", "w").write("5")
    before = status("VmRSS")
    with core.capture(model, "*.weights", keep=keep) as tape:
        model(ids)
print(status("VmHWM") - before, heads or sum(weights.shape[1] for weights in tape.values()))
"""
MIB = 1024**2


@pytest.mark.parametrize(
    ("mode", "bound"),
    [
        pytest.param(
            "stream", 80 * MIB, marks=pytest.mark.slow
        ),  # one layer's 12 MiB of weights, and what computing them takes
        ("bytes", 80 * MIB + 36 * MIB),  # and all 144 heads, a byte per weight
    ],
)
def test_512_tokens_through_bert_base(mode, bound):
    """All 144 heads of 512 × 512 weights; in float32 they would be 144 MiB, and twice that while they are computed."""
    command = [sys.executable, "-c", MEASURE, mode]
    for _ in range(3):  # pages that the system had taken away before come back too: it can only look like more
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=os.environ)
        assert done.returncode == 0, done.stderr
        grown, heads = map(int, done.stdout.split())
        assert heads == 144
        if grown < bound:
            return
    pytest.fail(f"{grown / MIB:.0f} MiB")
