"""Decoding: rows of a batch as if alone, with a cache as without, samples as likely as the model says."""

import pytest
import torch

import core
from core.models import is_encoder_decoder
from tests.words import chinese

MODELS = [
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


def make_model(family, options):
    torch.manual_seed(1)
    return core.build(family, vocab_size=12, **options)


@pytest.mark.parametrize(("family", "options"), MODELS)
def test_rows_of_different_lengths_are_continued_as_if_alone(family, options):
    model = make_model(family, options)
    ids, lengths = torch.randint(3, 12, (3, 6)), torch.tensor([6, 3, 1])
    together = core.generate(model, ids, lengths, max_new=7, eos=None)
    for row, length in enumerate(lengths):
        alone = core.generate(model, ids[row : row + 1, :length], max_new=7, eos=None)
        assert torch.equal(alone[0], together[row])


@pytest.mark.parametrize(("family", "options"), MODELS)
def test_every_token_is_the_likeliest_after_those_before(family, options):
    model = make_model(family, options).eval()
    ids = torch.randint(3, 12, (2, 5))
    tokens = core.generate(model, ids, max_new=6, eos=None)
    if is_encoder_decoder(model):
        logits = model(ids, torch.cat([torch.ones(2, 1, dtype=torch.long), tokens[:, :-1]], 1)).logits
    else:
        logits = model(torch.cat([ids, tokens[:, :-1]], 1)).logits[:, 4:]
    assert torch.equal(logits.argmax(-1), tokens)


def test_a_row_ends_with_its_end_token_and_padding_follows():
    model = make_model("gpt", {})
    ids = torch.randint(3, 12, (4, 5))
    free = core.generate(model, ids, max_new=10, eos=None)
    eos = int(free[0, 2])
    tokens = core.generate(model, ids, max_new=10, eos=eos)
    for row in tokens.tolist():
        if eos in row:
            assert set(row[row.index(eos) + 1 :]) <= {0}
    assert eos in tokens[0].tolist()


@pytest.mark.parametrize("family", ["gru", "gpt", "transformer", "seq2seq"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16], ids=str)
def test_ids_of_every_integer_type_are_continued(family, dtype):
    model = core.build(family, vocab_size=300, **({"head": "lm"} if family == "gru" else {}))
    ids, lengths, special = torch.tensor([[7, 8, 9], [5, 6, 0]]), torch.tensor([3, 2]), {"bos": 299, "eos": 298}
    expected = core.generate(model, ids, lengths, max_new=4, **special)
    tokens = core.generate(model, ids.to(dtype), lengths.to(dtype), max_new=4, **special)
    assert tokens.dtype == torch.long and tokens.equal(expected)


def test_the_mode_of_the_model_is_kept_and_bad_strategies_are_refused():
    model = make_model("gpt", {"dropout": 0.5}).train()
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
    [*MODELS, *[("gpt", {"position": p, "n_kv_heads": 2}) for p in POSITIONS],
     *[("transformer", {"position": p, "norm_placement": "pre"}) for p in POSITIONS],
     ("gpt", {"attention": "local", "window": 3}), ("gpt", {"causal": False}), ("transformer", {"downsample": 2})],
)  # fmt: skip
def test_a_cache_changes_no_number(family, more, options):
    model = make_model(family, more)
    ids = torch.randint(3, 12, (3, 6))
    lengths = torch.tensor([6, 4, 2]) if is_encoder_decoder(model) else None
    (with_cache, text), (without, same) = both_ways(model, ids, lengths, max_new=9, **options)
    torch.testing.assert_close(with_cache, without, atol=1e-5, rtol=0)
    assert torch.equal(text, same)


def test_a_cache_reads_each_token_once():
    model = make_model("gpt", {})
    read = []
    model.token_embedding.register_forward_hook(lambda module, inputs, out: read.append(inputs[0].shape[1]))
    core.generate(model, torch.randint(3, 12, (2, 5)), max_new=4, eos=None)
    assert read == [5, 1, 1, 1]


def test_a_tape_captures_the_full_text():
    model = make_model("gpt", {})
    with core.capture(model, "*.weights") as tape:
        core.generate(model, torch.randint(3, 12, (1, 5)), max_new=4, eos=None)
    assert tape["blocks.0.attn.weights"].shape[-2:] == (8, 8)


def test_samples_are_as_frequent_as_likely_and_repeat_with_their_seed():
    model = make_model("gpt", {})
    ids = torch.full((1, 4), 5)
    expected = model.eval()(ids).logits[0, -1].div(0.7).softmax(-1)
    samples = core.generate(model, ids.expand(20_000, -1), max_new=1, eos=None, strategy="sample", temperature=0.7)
    shares = samples[:, 0].bincount(minlength=12) / len(samples)
    torch.testing.assert_close(shares, expected, atol=0.015, rtol=0)
    again = [core.generate(model, ids, strategy="sample", eos=None, seed=seed).tolist() for seed in (3, 3, 4)]
    assert again[0] == again[1] != again[2]


def test_scores_are_log_likelihoods():
    model = make_model("gpt", {}).eval()
    ids = torch.randint(3, 12, (2, 5))
    for options in ({}, {"strategy": "beam", "length_penalty": 0.0}):
        result = core.decoding.generate_with_scores(model, ids, max_new=6, eos=None, **options)
        logits = model(torch.cat([ids, result.tokens[:, :-1]], dim=1)).logits[:, 4:]
        log_likelihood = logits.log_softmax(-1).gather(2, result.tokens[..., None]).sum((1, 2))
        torch.testing.assert_close(result.scores, log_likelihood, atol=1e-4, rtol=0)


def test_a_wide_beam_finds_the_likeliest_text_of_all():
    model = make_model("gpt", {"d_model": 8, "n_heads": 2}).eval()
    ids = torch.randint(3, 12, (1, 4))
    texts = torch.cartesian_prod(*[torch.arange(12)] * 2)
    logits = model(torch.cat([ids.expand(144, -1), texts[:, :1]], dim=1)).logits[:, 3:].log_softmax(-1)
    likeliest = texts[logits.gather(2, texts[..., None]).sum((1, 2)).argmax()]
    best = core.generate(model, ids, max_new=2, eos=None, strategy="beam", beams=12, length_penalty=0.0)
    assert torch.equal(best[0], likeliest)


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_new", 0), ("temperature", 0), ("beams", 0), ("top_p", 1.5), ("n_best", 2), ("top_x", 1)],
)
def test_impossible_options_are_refused(option, value):
    with pytest.raises(core.ConfigError, match=option):
        core.generate(make_model("gpt", {}), torch.ones(1, 3, dtype=torch.long), **{option: value})


@pytest.mark.parametrize(
    ("options", "reader"),
    [({"beams": 4}, "beam"), ({"beams": 5, "strategy": "sample"}, "beam"), ({"n_best": 2}, "beam"),
     ({"length_penalty": 0.0}, "beam"), ({"temperature": 0.5}, "sample"), ({"top_p": 0.9}, "sample"),
     ({"top_k": 3, "strategy": "beam"}, "sample")],
)  # fmt: skip
def test_an_option_that_the_strategy_does_not_read_is_refused(options, reader):
    with pytest.raises(core.ConfigError, match=rf"does not read it\. Use strategy='{reader}'") as caught:
        core.generate(make_model("gpt", {}), torch.ones(1, 3, dtype=torch.long), **options)
    assert f"请用 strategy='{reader}'" in chinese(caught.value)


def test_every_strategy_takes_all_defaults_and_a_seed():
    model, ids = make_model("gpt", {}), torch.ones(1, 3, dtype=torch.long)
    for strategy in ("greedy", "sample", "beam"):
        defaults = core.decoding.Decoding(strategy=strategy).to_dict()
        assert core.generate(model, ids, **defaults).equal(core.generate(model, ids, strategy=strategy))
        core.generate(model, ids, strategy=strategy, seed=7)
    core.generate(model, ids, temperature=1, top_k=0, n_best=1)


@pytest.mark.parametrize(
    ("family", "head"), [("bert", "mlm"), ("roformer", "tagger"), ("lstm", "classifier"), ("gpt", "crf")]
)
def test_models_that_cannot_generate_are_refused(family, head):
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
            core.generate(make_model(family, {}), torch.ones(1, 3, dtype=torch.long), **{option: value})
        assert chinese(caught.value) != str(caught.value)


@pytest.mark.parametrize("options", [{}, {"strategy": "beam", "beams": 3}, {"strategy": "sample"}], ids=str)
@pytest.mark.parametrize("family", ["gpt", "transformer", "gru"])
def test_where_every_token_is_ruled_out_the_text_ends(family, options):
    """Twelve tokens, none of them twice: only those that are not in the prompt can follow."""
    model = make_model(family, {"head": "lm"} if family == "gru" else {})
    ids = torch.tensor([[3, 4, 5, 6], [7, 7, 7, 7]])
    tokens = core.generate(model, ids, max_new=20, eos=None, pad=0, no_repeat=1, **options).tolist()
    for row, text in zip(tokens, ([1], [1]) if family == "transformer" else ids.tolist(), strict=True):
        free = set(range(12)) - set(text)
        assert set(row[: len(free)]) == free and set(row[len(free) :]) <= {0}


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("options", [{}, {"strategy": "beam", "beams": 3, "length_penalty": 0.0}], ids=str)
@pytest.mark.parametrize(
    ("family", "more"), [model for model in MODELS if model[0] in ("transformer", "t5", "seq2seq")]
)
def test_a_translation_goes_on_from_its_prefix(family, more, options, cache):
    """With the first tokens of its own output as the prefix, it generates the rest."""
    model = make_model(family, more)
    ids, lengths = torch.randint(3, 12, (3, 6)), torch.tensor([6, 4, 2])
    decoding = {"max_new": 7, "eos": None, "cache": cache, **options}
    full = core.decoding.generate_with_scores(model, ids, lengths, **decoding)
    rest = core.decoding.generate_with_scores(
        model, ids, lengths, prefix=full.tokens[:, :3], **{**decoding, "max_new": 4}
    )
    if not options:
        assert torch.equal(rest.tokens, full.tokens[:, 3:])
    target = torch.cat([torch.ones(3, 1, dtype=torch.long), full.tokens[:, :3], rest.tokens[:, :-1]], dim=1)
    logits = model(ids, target, lengths).logits[:, 3:].log_softmax(-1)
    log_likelihood = logits.gather(2, rest.tokens[..., None]).sum((1, 2))
    torch.testing.assert_close(rest.scores, log_likelihood, atol=1e-4, rtol=0)


def test_a_prefix_that_does_not_fit_is_refused():
    model, ids = make_model("transformer", {"max_len": 8}), torch.ones(2, 3, dtype=torch.long)
    for prefix, message in (
        (ids[:1], "one prefix per source"),
        (ids + 20, "from 0 to 11"),
        (torch.ones(2, 8).long(), "max_len"),
    ):
        with pytest.raises(core.InputError, match=message):
            core.generate(model, ids, prefix=prefix)
    assert core.generate(model, ids, prefix=torch.ones(2, 7).long(), eos=None).shape == (2, 1)
    with pytest.raises(core.InputError, match="they are the prefix"):
        core.generate(make_model("gpt", {}), ids, prefix=ids)


def test_a_model_that_cannot_generate_names_those_that_can():
    ids = torch.ones(1, 3, dtype=torch.long)
    with pytest.raises(core.ConfigError) as refused:
        core.generate(core.build("bert", vocab_size=12), ids)
    for message in (str(refused.value), chinese(refused.value)):
        assert "Build it" not in message and "gpt" in message and "t5" in message and "roformer" not in message
    with pytest.raises(core.ConfigError, match="Build it with head='lm'"):
        core.generate(core.build("gpt", vocab_size=12, head="none"), ids)


def test_any_of_several_tokens_may_end_a_text():
    model, ids = make_model("gpt", {}), torch.randint(3, 12, (4, 5))
    free = core.generate(model, ids, max_new=10, eos=None)
    ends = [int(free[0, 2]), int(free[1, 4])]
    tokens = core.generate(model, ids, max_new=10, eos=ends)
    for row, unstopped in zip(tokens.tolist(), free.tolist(), strict=True):
        end = next((i for i, token in enumerate(unstopped) if token in ends), len(unstopped))
        assert row[: end + 1] == unstopped[: end + 1] and set(row[end + 1 :]) <= {0}
    with pytest.raises(core.ConfigError, match="eos = 12"):
        core.generate(model, ids, eos=[3, 12])
