"""Greedy generation, and that writing several rows at once is the same as writing them one by one."""

import pytest
import torch

import core
from core.models import takes_two

WRITERS = [("gpt", {}), ("lstm", {"head": "lm"}), ("transformer", {}), ("t5", {}), ("seq2seq", {})]


def writer(family, options):
    torch.manual_seed(1)
    return core.build(family, vocab_size=12, **options)


@pytest.mark.parametrize(("family", "options"), WRITERS)
def test_rows_of_different_lengths_are_written_as_if_alone(family, options):
    model = writer(family, options)
    ids, lengths = torch.randint(3, 12, (3, 6)), torch.tensor([6, 3, 1])
    together = core.generate(model, ids, lengths, max_new=7, eos=None)
    for row, length in enumerate(lengths):
        alone = core.generate(model, ids[row : row + 1, :length], max_new=7, eos=None)
        assert torch.equal(alone[0], together[row])


@pytest.mark.parametrize(("family", "options"), WRITERS)
def test_every_token_is_the_likeliest_after_those_before(family, options):
    model = writer(family, options).eval()
    ids = torch.randint(3, 12, (2, 5))
    written = core.generate(model, ids, max_new=6, eos=None)
    if takes_two(model):
        logits = model(ids, torch.cat([torch.ones(2, 1, dtype=torch.long), written[:, :-1]], 1)).logits
    else:
        logits = model(torch.cat([ids, written[:, :-1]], 1)).logits[:, 4:]
    assert torch.equal(logits.argmax(-1), written)


def test_a_row_ends_with_its_end_token_and_padding_follows():
    model = writer("gpt", {})
    ids = torch.randint(3, 12, (4, 5))
    free = core.generate(model, ids, max_new=10, eos=None)
    eos = int(free[0, 2])
    written = core.generate(model, ids, max_new=10, eos=eos)
    for row in written.tolist():
        if eos in row:
            assert set(row[row.index(eos) + 1 :]) <= {0}
    assert eos in written[0].tolist()


def test_the_mode_of_the_model_is_kept_and_bad_strategies_are_refused():
    model = writer("gpt", {"dropout": 0.5}).train()
    assert torch.equal(*(core.generate(model, torch.ones(1, 3, dtype=torch.long)) for _ in range(2)))
    assert model.training
    with pytest.raises(core.ConfigError, match="strategy"):
        core.generate(model, torch.ones(1, 3, dtype=torch.long), strategy="magic")
