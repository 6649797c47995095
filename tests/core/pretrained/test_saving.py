"""`save_pretrained`: models that transformers loads, options that are refused, and folders complete or not there."""

from __future__ import annotations

import json

import pytest
import torch
import transformers as hf

import core
from core.pretrained import saving
from tests.core.examples import small
from tests.core.reference.equality import assert_equal
from tests.words import chinese

OPTIONS = {
    "bert": {"d_head": None},
    "roformer": {"pooler": "none"},
    "gpt": {},
    "t5": {},
}


@pytest.mark.parametrize("family", OPTIONS)
def test_models_that_were_built_here(family, tmp_path):
    """Saved here, and loaded by transformers as the class that config.json names."""
    model = small(family, **OPTIONS[family])
    core.save_pretrained(model, tmp_path / "saved")
    name = json.loads((tmp_path / "saved/config.json").read_text())["architectures"][0]
    theirs = getattr(hf, name).from_pretrained(tmp_path / "saved").eval()
    ids = torch.randint(1, 11, (3, 7))
    with torch.no_grad():
        if family == "t5":
            ours, expected = model(ids, ids).logits, theirs(ids, decoder_input_ids=ids).logits
        else:
            out, ours = theirs(ids), model(ids).logits
            expected = out.prediction_logits if name == "BertForPreTraining" else out.logits
    assert_equal(ours, expected, 1e-5, family)
    again, _ = core.load_pretrained(tmp_path / "saved")
    assert saving._effective_options(again.config) == saving._effective_options(model.config)


@pytest.mark.parametrize(
    ("family", "options", "named"),
    [
        ("bert", {"position": "alibi"}, "position = 'alibi'|position_embedding"),
        ("bert", {"position": "none"}, "position"),
        ("bert", {"norm": "rmsnorm"}, "norm|embedding_norm"),
        ("bert", {"norm_placement": "pre"}, "norm_placement|final_norm"),
        ("bert", {"attention": "local"}, "attention = 'local'"),
        ("bert", {"n_kv_heads": 1}, "n_kv_heads = 1"),
        ("bert", {"d_head": 6}, "d_head = 6"),
        ("bert", {"activation": "swiglu"}, "gate_proj|swiglu"),
        ("bert", {"bias": False}, "bias"),
        ("bert", {"head": "crf"}, "head = 'crf'"),
        ("bert", {"head": "pointer"}, "head = 'pointer'"),
        ("bert", {"head_activation": "relu"}, "head_activation = 'relu'"),
        ("bert", {"head": "classifier", "pooler": "gelu"}, "pooler = 'gelu'"),
        ("bert", {"n_segments": 0}, "pooler|next_sentence"),
        ("roformer", {"position": "learned", "pooler": "none"}, "position"),
        ("roformer", {}, "pooler|next_sentence"),
        ("gpt", {"position": "rope"}, "position"),
        ("gpt", {"causal": False}, "causal = False"),
        ("gpt", {"head": "classifier"}, "classifier_bias = True|head.proj.bias"),
        ("t5", {"cross_position": True}, "cross_position"),
        ("t5", {"downsample": 2}, "downsample = 2"),
        ("t5", {"activation": "geglu"}, "gate_proj|geglu"),
        ("transformer", {}, "transformer has no place"),
        ("lstm", {}, "lstm has no place"),
    ],
)
def test_options_that_no_checkpoint_can_represent_are_refused(family, options, named, tmp_path):
    with pytest.raises(core.PretrainedError, match=named) as refused:
        core.save_pretrained(small(family, **options), tmp_path / "saved")
    assert chinese(refused.value) != str(refused.value)
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_a_checkpoint_is_replaced_as_a_whole(tmp_path):
    core.save_pretrained(small("gpt"), tmp_path / "saved")
    (tmp_path / "saved/tokenizer.json").write_text("of another model")
    core.save_pretrained(small("bert"), tmp_path / "saved")
    assert sorted(file.name for file in (tmp_path / "saved").iterdir()) == ["config.json", "model.safetensors"]
    assert core.load_pretrained(tmp_path / "saved")[0].config.family == "bert"
    assert [file.name for file in tmp_path.iterdir()] == ["saved"]


def test_folders_that_are_no_checkpoint_are_left_alone(tmp_path):
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/notes.txt").write_text("not weights")
    (tmp_path / "file").write_text("a file")
    (tmp_path / "link").symlink_to(tmp_path / "documents")
    for name in ("documents", "file", "link"):
        with pytest.raises(core.PretrainedError, match=r"holds something else|no folder"):
            core.save_pretrained(small("gpt"), tmp_path / name)
    assert (tmp_path / "documents/notes.txt").read_text() == "not weights"


def test_an_interrupted_save_leaves_the_old_one(tmp_path, monkeypatch):
    core.save_pretrained(small("gpt"), tmp_path / "saved")
    before = (tmp_path / "saved/model.safetensors").read_bytes()

    def disk_full(*arguments, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr(saving, "save_file", disk_full)
    with pytest.raises(OSError, match="No space left"):
        core.save_pretrained(small("bert"), tmp_path / "saved")
    assert (tmp_path / "saved/model.safetensors").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["saved"]
