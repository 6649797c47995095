"""Writing: several rows at once as if alone, with a cache as without, by chance as likely as the model says."""

import pytest
import torch

import core
from core.models import is_encoder_decoder
from tests.words import chinese

WRITERS = [
    ("gpt", {}),
    ("lstm", {"head": "lm", "n_layers": 2}),
    ("gru", {"head": "lm"}),
    ("rnn", {"head": "lm"}),
    ("transformer", {}),
    ("t5", {}),
    ("seq2seq", {}),
    ("seq2seq", {"attention": "luong-general", "cell": "lstm"}),
    ("seq2seq", {"attention": "none", "n_layers": 2}),
]
POSITIONS = ["sinusoidal", "learned", "rope", "alibi", "t5", "none"]


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
    if is_encoder_decoder(model):
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


@pytest.mark.parametrize("family", ["gru", "gpt", "transformer", "seq2seq"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16], ids=str)
def test_whole_numbers_of_every_size_are_gone_on_from(family, dtype):
    model = core.build(family, vocab_size=300, **({"head": "lm"} if family == "gru" else {}))
    ids, lengths, signs = torch.tensor([[7, 8, 9], [5, 6, 0]]), torch.tensor([3, 2]), {"bos": 299, "eos": 298}
    expected = core.generate(model, ids, lengths, max_new=4, **signs)
    found = core.generate(model, ids.to(dtype), lengths.to(dtype), max_new=4, **signs)
    assert found.dtype == torch.long and found.equal(expected)


def test_the_mode_of_the_model_is_kept_and_bad_strategies_are_refused():
    model = writer("gpt", {"dropout": 0.5}).train()
    assert torch.equal(*(core.generate(model, torch.ones(1, 3, dtype=torch.long)) for _ in range(2)))
    assert model.training
    with pytest.raises(core.ConfigError, match="strategy"):
        core.generate(model, torch.ones(1, 3, dtype=torch.long), strategy="magic")


def both_ways(model, ids, lengths=None, **options):
    """The logits of every step and the text, with a cache and without."""
    for cache in (True, False):
        choices = []
        text = core.generate(model, ids, lengths, cache=cache, eos=None, watch=choices.append, **options)
        yield torch.stack([choice.logits for choice in choices]), text


@pytest.mark.parametrize("options", [{}, {"strategy": "beam", "beams": 3}, {"strategy": "sample"}])
@pytest.mark.parametrize(
    ("family", "more"),
    [*WRITERS, *[("gpt", {"position": p, "n_kv_heads": 2}) for p in POSITIONS],
     *[("transformer", {"position": p, "norm_placement": "pre"}) for p in POSITIONS],
     ("gpt", {"attention": "local", "window": 3}), ("gpt", {"causal": False}), ("transformer", {"downsample": 2})],
)  # fmt: skip
def test_a_cache_changes_no_number(family, more, options):
    model = writer(family, more)
    ids = torch.randint(3, 12, (3, 6))
    lengths = torch.tensor([6, 4, 2]) if is_encoder_decoder(model) else None
    (with_cache, text), (without, same) = both_ways(model, ids, lengths, max_new=9, **options)
    torch.testing.assert_close(with_cache, without, atol=1e-5, rtol=0)
    assert torch.equal(text, same)


def test_a_cache_reads_each_token_once():
    model = writer("gpt", {})
    read = []
    model.token_embedding.register_forward_hook(lambda module, inputs, out: read.append(inputs[0].shape[1]))
    core.generate(model, torch.randint(3, 12, (2, 5)), max_new=4, eos=None)
    assert read == [5, 1, 1, 1]


def test_whoever_watches_sees_the_whole_text():
    model = writer("gpt", {})
    with core.capture(model, "*.weights") as tape:
        core.generate(model, torch.randint(3, 12, (1, 5)), max_new=4, eos=None)
    assert tape["blocks.0.attn.weights"].shape[-2:] == (8, 8)


def test_samples_are_as_frequent_as_likely_and_repeat_with_their_seed():
    model = writer("gpt", {})
    ids = torch.full((1, 4), 5)
    expected = model.eval()(ids).logits[0, -1].div(0.7).softmax(-1)
    drawn = core.generate(model, ids.expand(20_000, -1), max_new=1, eos=None, strategy="sample", temperature=0.7)
    shares = drawn[:, 0].bincount(minlength=12) / len(drawn)
    torch.testing.assert_close(shares, expected, atol=0.015, rtol=0)
    again = [core.generate(model, ids, strategy="sample", eos=None, seed=seed).tolist() for seed in (3, 3, 4)]
    assert again[0] == again[1] != again[2]


def test_scores_are_log_likelihoods():
    model = writer("gpt", {}).eval()
    ids = torch.randint(3, 12, (2, 5))
    for options in ({}, {"strategy": "beam", "length_penalty": 0.0}):
        written = core.decoding.write(model, ids, max_new=6, eos=None, **options)
        logits = model(torch.cat([ids, written.tokens[:, :-1]], dim=1)).logits[:, 4:]
        likely = logits.log_softmax(-1).gather(2, written.tokens[..., None]).sum((1, 2))
        torch.testing.assert_close(written.scores, likely, atol=1e-4, rtol=0)


def test_a_wide_beam_finds_the_likeliest_text_of_all():
    model = writer("gpt", {"d_model": 8, "n_heads": 2}).eval()
    ids = torch.randint(3, 12, (1, 4))
    texts = torch.cartesian_prod(*[torch.arange(12)] * 2)
    logits = model(torch.cat([ids.expand(144, -1), texts[:, :1]], dim=1)).logits[:, 3:].log_softmax(-1)
    likeliest = texts[logits.gather(2, texts[..., None]).sum((1, 2)).argmax()]
    found = core.generate(model, ids, max_new=2, eos=None, strategy="beam", beams=12, length_penalty=0.0)
    assert torch.equal(found[0], likeliest)


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_new", 0), ("temperature", 0), ("beams", 0), ("top_p", 1.5), ("n_best", 2), ("top_x", 1)],
)
def test_impossible_ways_are_refused(option, value):
    with pytest.raises(core.ConfigError, match=option):
        core.generate(writer("gpt", {}), torch.ones(1, 3, dtype=torch.long), **{option: value})


@pytest.mark.parametrize(
    ("options", "reader"),
    [({"beams": 4}, "beam"), ({"beams": 5, "strategy": "sample"}, "beam"), ({"n_best": 2}, "beam"),
     ({"length_penalty": 0.0}, "beam"), ({"temperature": 0.5}, "sample"), ({"top_p": 0.9}, "sample"),
     ({"top_k": 3, "strategy": "beam"}, "sample")],
)  # fmt: skip
def test_an_option_that_the_strategy_does_not_read_is_refused(options, reader):
    with pytest.raises(core.ConfigError, match=rf"does not read it\. Use strategy='{reader}'") as caught:
        core.generate(writer("gpt", {}), torch.ones(1, 3, dtype=torch.long), **options)
    assert f"请用 strategy='{reader}'" in chinese(caught.value)


def test_every_option_may_be_given_as_it_is_anyway_and_every_strategy_takes_a_seed():
    model, ids = writer("gpt", {}), torch.ones(1, 3, dtype=torch.long)
    for strategy in ("greedy", "sample", "beam"):
        how = core.decoding.Decoding(strategy=strategy).to_dict()
        assert core.generate(model, ids, **how).equal(core.generate(model, ids, strategy=strategy))
        core.generate(model, ids, strategy=strategy, seed=7)
    core.generate(model, ids, temperature=1, top_k=0, n_best=1)


@pytest.mark.parametrize(
    ("family", "head"), [("bert", "mlm"), ("roformer", "tagger"), ("lstm", "classifier"), ("gpt", "crf")]
)
def test_models_that_do_not_write_are_refused(family, head):
    model = core.build(family, vocab_size=12, head=head)
    with pytest.raises(core.ConfigError, match="does not predict next tokens"):
        core.generate(model, torch.ones(1, 3, dtype=torch.long))
    with pytest.raises(core.InputError, match=r"core\.build"):
        core.generate(torch.nn.Linear(3, 3), torch.ones(1, 3, dtype=torch.long))


@pytest.mark.parametrize(
    ("option", "value"),
    [("bos", 12), ("eos", -1), ("eos", 2.0), ("bos", [2]), ("eos", ["2"]), ("eos", True), ("pad", None)],
)
def test_tokens_that_are_none_of_the_models_are_refused(option, value):
    for family in ("gpt", "transformer"):
        with pytest.raises(core.ConfigError, match=option) as caught:
            core.generate(writer(family, {}), torch.ones(1, 3, dtype=torch.long), **{option: value})
        assert chinese(caught.value) != str(caught.value)


@pytest.mark.parametrize("options", [{}, {"strategy": "beam", "beams": 3}, {"strategy": "sample"}], ids=str)
@pytest.mark.parametrize("family", ["gpt", "transformer", "gru"])
def test_where_every_token_is_ruled_out_the_text_ends(family, options):
    """Twelve tokens, none of them twice: whatever was there before, no more than the others can follow."""
    model = writer(family, {"head": "lm"} if family == "gru" else {})
    ids = torch.tensor([[3, 4, 5, 6], [7, 7, 7, 7]])
    written = core.generate(model, ids, max_new=20, eos=None, pad=0, no_repeat=1, **options).tolist()
    for row, text in zip(written, ([1], [1]) if family == "transformer" else ids.tolist(), strict=True):
        free = set(range(12)) - set(text)
        assert set(row[: len(free)]) == free and set(row[len(free) :]) <= {0}


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("options", [{}, {"strategy": "beam", "beams": 3, "length_penalty": 0.0}], ids=str)
@pytest.mark.parametrize(("family", "more"), [w for w in WRITERS if w[0] in ("transformer", "t5", "seq2seq")])
def test_a_translation_goes_on_from_its_prefix(family, more, options, cache):
    """Begun with the first words of what it would write, it writes the rest."""
    model = writer(family, more)
    ids, lengths = torch.randint(3, 12, (3, 6)), torch.tensor([6, 4, 2])
    how = {"max_new": 7, "eos": None, "cache": cache, **options}
    whole = core.decoding.write(model, ids, lengths, **how)
    rest = core.decoding.write(model, ids, lengths, prefix=whole.tokens[:, :3], **{**how, "max_new": 4})
    if not options:
        assert torch.equal(rest.tokens, whole.tokens[:, 3:])
    begun = torch.cat([torch.ones(3, 1, dtype=torch.long), whole.tokens[:, :3], rest.tokens[:, :-1]], dim=1)
    logits = model(ids, begun, lengths).logits[:, 3:].log_softmax(-1)
    likely = logits.gather(2, rest.tokens[..., None]).sum((1, 2))
    torch.testing.assert_close(rest.scores, likely, atol=1e-4, rtol=0)


def test_a_prefix_that_does_not_fit_is_refused():
    model, ids = writer("transformer", {"max_len": 8}), torch.ones(2, 3, dtype=torch.long)
    for prefix, said in (
        (ids[:1], "one prefix per source"),
        (ids + 20, "from 0 to 11"),
        (torch.ones(2, 8).long(), "max_len"),
    ):
        with pytest.raises(core.InputError, match=said):
            core.generate(model, ids, prefix=prefix)
    assert core.generate(model, ids, prefix=torch.ones(2, 7).long(), eos=None).shape == (2, 1)
    with pytest.raises(core.InputError, match="they are the prefix"):
        core.generate(writer("gpt", {}), ids, prefix=ids)


def test_a_model_that_does_not_write_names_those_that_do():
    ids = torch.ones(1, 3, dtype=torch.long)
    with pytest.raises(core.ConfigError) as refused:
        core.generate(core.build("bert", vocab_size=12), ids)
    for told in (str(refused.value), chinese(refused.value)):
        assert "Build it" not in told and "gpt" in told and "t5" in told and "roformer" not in told
    with pytest.raises(core.ConfigError, match="Build it with head='lm'"):
        core.generate(core.build("gpt", vocab_size=12, head="none"), ids)


def test_any_of_several_tokens_may_end_a_text():
    model, ids = writer("gpt", {}), torch.randint(3, 12, (4, 5))
    free = core.generate(model, ids, max_new=10, eos=None)
    ends = [int(free[0, 2]), int(free[1, 4])]
    written = core.generate(model, ids, max_new=10, eos=ends)
    for row, whole in zip(written.tolist(), free.tolist(), strict=True):
        end = next((i for i, token in enumerate(whole) if token in ends), len(whole))
        assert row[: end + 1] == whole[: end + 1] and set(row[end + 1 :]) <= {0}
    with pytest.raises(core.ConfigError, match="eos = 12"):
        core.generate(model, ids, eos=[3, 12])
