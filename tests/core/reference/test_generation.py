"""Written texts and filtered logits against Hugging Face's `generate` and its processors, with the same weights."""

from __future__ import annotations

import pytest
import torch
import transformers
from transformers.generation import logits_process as theirs_of

import core
from core.decoding import filters
from core.pretrained.families.gpt2 import gpt2_map
from core.pretrained.families.t5 import t5_map
from tests.core.reference.equality import copy_weights, padded_batch, randomise

VOCABULARY, EOS, NEW = 30, 2, 14
STRATEGIES = [
    ({}, {}),
    ({"no_repeat": 2}, {"no_repeat_ngram_size": 2}),
    ({"repetition_penalty": 1.7}, {"repetition_penalty": 1.7}),
    *[
        (
            {"strategy": "beam", "beams": beams, "length_penalty": penalty, "n_best": best},
            {"num_beams": beams, "length_penalty": penalty, "num_return_sequences": best},
        )
        for beams, penalty, best in [(2, 1.0, 1), (3, 0.0, 3), (4, 1.0, 4), (5, 2.0, 2), (4, -1.0, 1), (8, 0.6, 8)]
    ],
    ({"strategy": "beam", "beams": 3, "no_repeat": 2}, {"num_beams": 3, "no_repeat_ngram_size": 2}),
    ({"strategy": "beam", "beams": 3, "repetition_penalty": 1.3}, {"num_beams": 3, "repetition_penalty": 1.3}),
]


def gpt(seed: int):
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_layer=2, n_head=2, n_embd=16, n_positions=40, bos_token_id=1, eos_token_id=EOS, pad_token_id=0
    )  # fmt: skip
    theirs = randomise(transformers.GPT2LMHeadModel(config)).eval()
    ours = core.build("gpt", vocab_size=VOCABULARY, n_layers=2, n_heads=2, d_model=16, max_len=40)
    copy_weights(theirs, ours, gpt2_map(ours.config))
    return theirs, ours


def t5(seed: int):
    torch.manual_seed(seed)
    config = transformers.T5Config(
        vocab_size=VOCABULARY, num_layers=2, num_heads=2, d_model=16, d_kv=8, d_ff=24, decoder_start_token_id=0,
        eos_token_id=EOS, pad_token_id=0,
    )  # fmt: skip
    theirs = randomise(transformers.T5ForConditionalGeneration(config)).eval()
    ours = core.build("t5", vocab_size=VOCABULARY, n_layers=2, n_heads=2, d_model=16, d_head=8, d_ff=24)
    copy_weights(theirs, ours, t5_map(ours.config))
    return theirs, ours


def until_end(rows: torch.Tensor) -> list[list[int]]:
    """Behind the end, they fill with the end token where the padding's id is 0."""
    return [row[: row.index(EOS) + 1] if EOS in row else row for row in rows.tolist()]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("our_options", "their_options"), STRATEGIES)
def test_gpt_writes_the_same(our_options, their_options, seed):
    theirs, ours = gpt(seed)
    ids = torch.randint(3, VOCABULARY, (4, 5))
    expected = theirs.generate(ids, max_new_tokens=NEW, do_sample=False, **their_options)[:, ids.shape[1] :]
    for cache in (True, False):
        written = core.generate(ours, ids, max_new=NEW, eos=EOS, cache=cache, **our_options)
        assert until_end(written) == until_end(expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("our_options", "their_options"), STRATEGIES)
def test_t5_writes_the_same(our_options, their_options, seed):
    theirs, ours = t5(seed)
    ids, lengths, valid = padded_batch(4, 9, VOCABULARY, seed=seed)
    expected = theirs.generate(
        ids, attention_mask=valid.long(), max_new_tokens=NEW, do_sample=False, **their_options
    )[:, 1:]
    for cache in (True, False):
        written = core.generate(ours, ids, lengths, max_new=NEW, bos=0, eos=EOS, cache=cache, **our_options)
        assert until_end(written) == until_end(expected)


SCORED = [(2, 1.0, 2), (4, 0.0, 4), (5, -1.0, 3), (6, 2.0, 6)]  # beams, length penalty, n best


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("beams", "penalty", "best"), SCORED)
def test_the_best_texts_have_the_same_scores(beams, penalty, best, seed):
    ours_options = {"strategy": "beam", "beams": beams, "length_penalty": penalty, "n_best": best, "max_new": NEW}
    their_options = {
        "num_beams": beams, "length_penalty": penalty, "num_return_sequences": best, "max_new_tokens": NEW,
        "do_sample": False, "return_dict_in_generate": True, "output_scores": True,
    }  # fmt: skip
    theirs, ours = gpt(seed)
    ids = torch.randint(3, VOCABULARY, (3, 5))
    written, expected = (
        core.decoding.generate_with_scores(ours, ids, eos=EOS, **ours_options),
        theirs.generate(ids, **their_options),
    )
    torch.testing.assert_close(written.scores, expected.sequences_scores, atol=1e-5, rtol=1e-5)
    theirs, ours = t5(seed)
    ids, lengths, valid = padded_batch(3, 9, VOCABULARY, seed=seed)
    written = core.decoding.generate_with_scores(ours, ids, lengths, bos=0, eos=EOS, **ours_options)
    expected = theirs.generate(ids, attention_mask=valid.long(), **their_options)
    torch.testing.assert_close(written.scores, expected.sequences_scores, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("our_options", "their_options"), STRATEGIES)
def test_gpt_goes_on_from_prefixes_of_different_lengths(our_options, their_options, seed):
    """They pad on the left, we on the right: the same prefixes, the same texts."""
    theirs, ours = gpt(seed)
    ids, lengths = torch.randint(3, VOCABULARY, (4, 6)), torch.tensor([6, 3, 1, 5])
    left = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        left[row, 6 - length :] = ids[row, :length]
    expected = theirs.generate(
        left, attention_mask=(left > 0).long(), max_new_tokens=NEW, do_sample=False, **their_options
    )[:, 6:]
    if "repetition_penalty" in our_options or "no_repeat" in our_options:
        rows = [r for r in range(4) if lengths[r] == 6]  # their filters look at the padding too
    else:
        rows = range(4)
    best = our_options.get("n_best", 1)
    written = core.generate(ours, ids, lengths, max_new=NEW, eos=EOS, **our_options)
    for row in rows:
        part = slice(row * best, (row + 1) * best)
        assert until_end(written[part]) == until_end(expected[part])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("our_options", "their_options"), STRATEGIES)
def test_t5_goes_on_from_a_prefix(our_options, their_options, seed):
    theirs, ours = t5(seed)
    ids, lengths, valid = padded_batch(4, 9, VOCABULARY, seed=seed)
    prefix = torch.randint(3, VOCABULARY, (4, 3))
    begun = torch.cat([torch.zeros(4, 1, dtype=torch.long), prefix], dim=1)
    expected = theirs.generate(
        ids,
        attention_mask=valid.long(),
        decoder_input_ids=begun,
        max_new_tokens=NEW,
        do_sample=False,
        **their_options,
    )[:, 4:]
    for cache in (True, False):
        how = {"max_new": NEW, "bos": 0, "eos": EOS, "cache": cache, **our_options}
        written = core.generate(ours, ids, lengths, prefix=prefix, **how)
        assert until_end(written) == until_end(expected)


def test_some_texts_end_early_and_beams_differ_from_greedy():
    """Otherwise the comparisons above would say little."""
    ended, differs = 0, 0
    for seed in range(3):
        _, ours = t5(seed)
        ids, lengths, _ = padded_batch(4, 9, VOCABULARY, seed=seed)
        how = {"max_new": NEW, "bos": 0, "eos": EOS}
        greedy = core.generate(ours, ids, lengths, **how)
        beams = core.generate(ours, ids, lengths, strategy="beam", beams=8, n_best=8, length_penalty=0.0, **how)
        ended += int((beams == EOS).any(dim=1).sum())
        differs += until_end(greedy) != until_end(beams[::8])
    assert ended > 10 and differs > 0


@pytest.mark.parametrize("seed", range(5))
def test_filters_give_the_processors_logits(seed):
    torch.manual_seed(seed)
    logits, ids = 3 * torch.randn(6, 50), torch.randint(0, 50, (6, 30)) % (7 + seed)
    texts = ids.tolist()
    pairs = [
        (filters.penalise_repetition(logits, texts, 1.4), theirs_of.RepetitionPenaltyLogitsProcessor(1.4)),
        *[
            (filters.forbid_repeats(logits, texts, n), theirs_of.NoRepeatNGramLogitsProcessor(n))
            for n in (1, 2, 3, 4)
        ],
        *[(filters.keep_top_k(logits, k), theirs_of.TopKLogitsWarper(k)) for k in (1, 5, 50, 80)],
        *[(filters.keep_top_p(logits, p), theirs_of.TopPLogitsWarper(p)) for p in (0.05, 0.5, 0.9, 0.999)],
        (
            filters.warp_logits(logits, core.decoding.Decoding(strategy="sample", temperature=0.7)),
            theirs_of.TemperatureLogitsWarper(0.7),
        ),
    ]
    for ours, processor in pairs:
        torch.testing.assert_close(ours, processor(ids, logits.clone()), atol=1e-5, rtol=0)


def test_filters_together_in_the_same_order():
    logits, ids = 3 * torch.randn(4, 50), torch.randint(0, 9, (4, 12))
    how = core.decoding.Decoding(
        strategy="sample", temperature=1.6, top_k=12, top_p=0.8, no_repeat=2, repetition_penalty=1.2
    )
    ours = filters.warp_logits(filters.process_logits(logits, ids.tolist(), how), how)
    chain = [
        theirs_of.RepetitionPenaltyLogitsProcessor(1.2),
        theirs_of.NoRepeatNGramLogitsProcessor(2),
        theirs_of.TemperatureLogitsWarper(1.6),
        theirs_of.TopKLogitsWarper(12),
        theirs_of.TopPLogitsWarper(0.8),
    ]
    expected = logits
    for processor in chain:
        expected = processor(ids, expected)
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)
