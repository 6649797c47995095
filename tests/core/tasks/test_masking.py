"""BERT's masking: 15 % of the words are targets, of which 80 % are masked, 10 % swapped and 10 % left alone."""

from __future__ import annotations

import torch

import core
from core.layers.masks import valid_mask
from core.tasks.language.masked_words import CLS, FIRST_WORD, MASK, SEP, mask_words, unmask


def test_shares_over_a_million_tokens():
    task, rng = core.task("masked words"), torch.Generator().manual_seed(0)
    words = targets = masked = kept = 0
    while words < 1_000_000:
        examples = task.draw(8192, rng)
        is_target = examples.target > 0
        words += int((unmask(examples) >= FIRST_WORD).sum())
        targets += int(is_target.sum())
        masked += int((examples.source[is_target] == MASK).sum())
        kept += int((examples.source[is_target] == examples.target[is_target]).sum())
    swapped = targets - masked - kept
    assert abs(targets / words - 0.15) < 0.0015
    assert abs(masked / targets - 0.8) < 0.01
    assert abs(swapped / targets - 0.1) < 0.01
    assert abs(kept / targets - 0.1) < 0.01


def test_special_tokens_and_padding_are_never_targets_nor_put_in():
    task = core.task("masked words", mask_share=0.6)
    examples = task.draw(4000, torch.Generator().manual_seed(1))
    is_target = examples.target > 0
    assert (examples.target[is_target] >= FIRST_WORD).all()
    assert not is_target[~valid_mask(examples.source_lengths, is_target.shape[1])].any()
    assert not torch.isin(examples.source[is_target], torch.tensor([CLS, SEP, 0, 1, 2])).any()
    assert (examples.source == CLS).sum() == 4000 and (examples.source == SEP).sum() == 8000
    assert is_target.any(1).all()


def test_masking_changes_nothing_else():
    rng = torch.Generator().manual_seed(2)
    words = torch.randint(FIRST_WORD, 100, (500, 20), generator=rng)
    source, target = mask_words(words, torch.full((500,), 20), 0.15, 100, rng)
    assert torch.where(target > 0, target, source).equal(words)
    assert (target > 0).sum(1).eq(3).all()


def test_the_second_sentence_follows_when_it_is_about_the_same():
    task = core.task("masked words")
    examples = task.draw(1000, torch.Generator().manual_seed(3))
    people = set(task.grammar.lexicon["person"]["en"])
    things = set(task.grammar.lexicon["thing"]["en"])
    for row, follows in zip(unmask(examples).tolist(), examples.follows.tolist(), strict=True):
        first, second = " ".join(task.show(row)).split("[SEP]")[:2]
        for group in (people, things):
            assert bool(group & set(first.split()) & set(second.split())) == bool(follows)
    assert abs(examples.follows.float().mean() - 0.5) < 0.05
