"""Loading and full capture of GPT-2 and BERT-Base sizes, against transformers and TransformerLens."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers as hf
from transformers.utils import logging

import core
from core.text.tokenizer import train_tokenizer
from tests.bench.measure import Row, compare

TIME = 128


def rows() -> Iterator[Row]:
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        gpt2, bert = Path(folder) / "gpt2", Path(folder) / "bert"
        hf.GPT2LMHeadModel(hf.GPT2Config()).save_pretrained(gpt2)
        hf.BertForPreTraining(hf.BertConfig()).save_pretrained(bert)
        yield from _loading(gpt2, bert)
        yield from _capturing(gpt2)


def _loading(gpt2: Path, bert: Path) -> Iterator[Row]:
    for name, folder, theirs in [("GPT-2", gpt2, hf.GPT2LMHeadModel), ("BERT-Base", bert, hf.BertForPreTraining)]:
        yield compare(
            f"load {name} size / transformers' from_pretrained",
            lambda folder=folder: core.load_pretrained(folder),
            lambda folder=folder, theirs=theirs: theirs.from_pretrained(folder),
            1.2,
            rounds=21,
        )


def _capturing(folder: Path) -> Iterator[Row]:
    ids = torch.randint(1, 50_000, (1, TIME))
    model, _ = core.load_pretrained(folder)
    eager = hf.GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager").eval()

    @torch.no_grad()
    def captured() -> None:
        with core.capture(model):
            model(ids)

    @torch.no_grad()
    def hugging_face() -> None:
        eager(ids, output_attentions=True, output_hidden_states=True)

    size = f"GPT-2 size, {TIME} tokens"
    yield compare(f"capture everything, {size} / transformers eager", captured, hugging_face, None, rounds=21)
    if importlib.util.find_spec("transformer_lens") is None:
        print("TransformerLens is not installed, and not compared with; `make bench` installs it")
        return
    bridge = _bridge(folder)

    @torch.no_grad()
    def transformer_lens() -> None:
        bridge.run_with_cache(ids)

    _check_same(model, bridge, ids)
    yield compare(f"capture everything, {size} / TransformerLens", captured, transformer_lens, 0.9, rounds=21)


def _bridge(folder: Path):
    """The same weights in TransformerLens 4, which needs some tokenizer beside them."""
    from transformer_lens.model_bridge import TransformerBridge

    tokenizer = train_tokenizer("bytes", ["some text"], 300)
    special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend, **special).save_pretrained(folder)
    return TransformerBridge.boot_transformers(str(folder), device="cpu").eval()


@torch.no_grad()
def _check_same(model: torch.nn.Module, bridge, ids: torch.Tensor) -> None:
    """Both sides compute the same logits and attention."""
    logits, cache = bridge.run_with_cache(ids)
    with core.capture(model) as tape:
        torch.testing.assert_close(model(ids).logits, logits, atol=1e-3, rtol=1e-3)
    for i in range(model.config.n_layers):
        theirs, ours = cache[f"blocks.{i}.attn.hook_pattern"], tape[f"blocks.{i}.attn.weights"]
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-3)
