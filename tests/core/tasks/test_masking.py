"""What BERT is asked: 15 % of the words, of which 80 % are masked, 10 % exchanged and 10 % left alone."""

from __future__ import annotations

import torch

from core.layers.masks import valid_mask
from core.tasks import task
from core.tasks.language.masked_words import CLS, FIRST_WORD, MASK, SEP, mask, original


def test_shares_over_a_million_tokens():
    which, rng = task("masked words"), torch.Generator().manual_seed(0)
    words = chosen = masked = swapped = kept = 0
    while words < 1_000_000:
        examples = which.draw(8192, rng)
        asked = examples.target > 0
        words += int((original(examples) >= FIRST_WORD).sum())
        chosen += int(asked.sum())
        masked += int((examples.source[asked] == MASK).sum())
        kept += int((examples.source[asked] == examples.target[asked]).sum())
    swapped = chosen - masked - kept
    assert abs(chosen / words - 0.15) < 0.0015
    assert abs(masked / chosen - 0.8) < 0.01
    assert abs(swapped / chosen - 0.1) < 0.01
    assert abs(kept / chosen - 0.1) < 0.01


def test_special_tokens_and_padding_are_never_asked_nor_put_in():
    which = task("masked words", mask_share=0.6)
    examples = which.draw(4000, torch.Generator().manual_seed(1))
    asked = examples.target > 0
    assert (examples.target[asked] >= FIRST_WORD).all()
    assert not asked[~valid_mask(examples.source_lengths, asked.shape[1])].any()
    assert not torch.isin(examples.source[asked], torch.tensor([CLS, SEP, 0, 1, 2])).any()
    assert (examples.source == CLS).sum() == 4000 and (examples.source == SEP).sum() == 8000
    assert asked.any(1).all()


def test_masking_changes_nothing_else():
    rng = torch.Generator().manual_seed(2)
    words = torch.randint(FIRST_WORD, 100, (500, 20), generator=rng)
    source, target = mask(words, torch.full((500,), 20), 0.15, 100, rng)
    assert torch.where(target > 0, target, source).equal(words)
    assert (target > 0).sum(1).eq(3).all()


def test_the_second_sentence_follows_when_it_is_about_the_same():
    which = task("masked words")
    examples = which.draw(1000, torch.Generator().manual_seed(3))
    people = set(which.grammar.lexicon["person"]["en"])
    things = set(which.grammar.lexicon["thing"]["en"])
    for row, follows in zip(original(examples).tolist(), examples.follows.tolist(), strict=True):
        first, second = " ".join(which.show(row)).split("[SEP]")[:2]
        for group in (people, things):
            assert bool(group & set(first.split()) & set(second.split())) == bool(follows)
    assert abs(examples.follows.float().mean() - 0.5) < 0.05
