"""Options have help in two languages, and an impossible one raises an error with reason and remedy."""

import pickle
import re
from dataclasses import FrozenInstanceError, replace

import pytest
import torch

import core
from core.config.families import CONFIGS, Config, RecurrentConfig, TransformerConfig
from tests.core.examples import ATTENTIVE, FAMILIES, RECURRENT, label, small_config
from tests.words import chinese

OPTIONS = [(family, option) for family in FAMILIES for option in CONFIGS[family].options()]
EVERY_OPTION = pytest.mark.parametrize(("family", "option"), OPTIONS, ids=[f"{f}-{o.name}" for f, o in OPTIONS])


def refusal(family, **options):
    with pytest.raises(core.ConfigError) as caught:
        core.configure(family, **options)
    return caught.value


def is_chinese(text):
    return re.search("[\u4e00-\u9fff]", text) is not None


def check_sentences(error, option, value):
    """Names the option and its value, says why and what would work, in both languages."""
    assert (error.option, error.value) == (option, value)
    for render, colon, other in ((str, ": ", False), (chinese, "：", True)):
        text, start = render(error), f"{option} = {value!r}{colon}"
        assert text.startswith(start)
        assert render(error.why) in text and render(error.remedy) in text
        assert is_chinese(text.removeprefix(start)) == other
    assert str(error) == str(error.text)
    assert str(error.why).endswith(".") and re.search(r"[.?]$", str(error.remedy))
    assert chinese(error.why).endswith("。") and re.search("[。？]$", chinese(error.remedy))


@EVERY_OPTION
def test_options_describe_themselves(family, option):
    assert str(option.help).endswith(".") and not is_chinese(str(option.help))
    assert chinese(option.help).endswith("。") and is_chinese(chinese(option.help))
    assert all(str(text) and chinese(text) for text in option.choices.values())
    assert bool(option.choices) == (option.kind is str)
    assert option.low < option.high
    option.check(option.default)
    assert getattr(core.configure(family), option.name) == option.default
    if option.default is None:
        assert option.optional


@EVERY_OPTION
def test_values_of_the_wrong_kind(family, option):
    wrong = {
        int: ["8", 1.5, True, [4], float("nan")],
        float: ["0.1", True, [0.1], float("nan"), float("inf")],
        bool: [0, 1, "yes", 0.0],
        str: ["", "nonsense", 3, ["rope"], True],
    }[option.kind]
    for value in wrong if option.optional else [*wrong, None]:
        if value == value:
            check_sentences(refusal(family, **{option.name: value}), option.name, value)
        else:
            refusal(family, **{option.name: value})


@EVERY_OPTION
def test_values_out_of_range(family, option):
    if option.kind not in (int, float):
        return
    for value in (option.low - 1, option.high + 1):
        value = option.kind(value)
        error = refusal(family, **{option.name: value})
        check_sentences(error, option.name, value)
        for render in (str, chinese):
            bounds = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?", render(error.remedy))]
            assert bounds == [option.low, option.high]
            assert ("None" in render(error.remedy)) == option.optional
    option.check(option.kind(option.low))
    option.check(option.kind(option.high))


def test_ranges_are_written_out():
    """1000000, not 1e+06."""
    assert "1e" not in str(refusal("gpt", vocab_size=0).remedy)
    assert re.search("1[, _]?000[, _]?000", str(refusal("gpt", vocab_size=0).remedy))


@pytest.mark.parametrize(
    ("family", "wrong", "near"),
    [("gpt", "n_head", "n_heads"), ("lstm", "forget_bais", "forget_bias"), ("t5", "max_length", "max_len"),
     ("bert", "drop_out", "dropout"), ("seq2seq", "hidden", "d_hidden")],
)  # fmt: skip
def test_unknown_options_suggest_the_near_one(family, wrong, near):
    error = refusal(family, **{wrong: 3})
    check_sentences(error, wrong, 3)
    assert f"Did you mean {near}?" in str(error.remedy) and f"您是指 {near} 吗" in chinese(error.remedy)
    assert family in str(error.why)
    assert "Did you mean" not in str(refusal(family, zzz=1).remedy)


@pytest.mark.parametrize(("wrong", "near"), [("roap", "rope"), ("learnt", "learned"), ("sinusoid", "sinusoidal")])
def test_unknown_choices_suggest_the_near_one(wrong, near):
    error = refusal("gpt", position=wrong)
    assert f"Did you mean {near}?" in str(error.remedy) and f"您是指 {near} 吗" in chinese(error.remedy)
    assert all(choice in str(error.remedy) for choice in ("sinusoidal", "learned", "rope", "alibi", "t5", "none"))


@pytest.mark.parametrize("placement", ["pre", "post", "none"])
def test_a_placement_given_as_a_norm_points_to_norm_placement(placement):
    error = refusal("gpt", norm=placement)
    assert "norm_placement" in str(error.remedy) and "norm_placement" in chinese(error.remedy)


@pytest.mark.parametrize(
    ("family", "options"),
    [("gpt", {"activation": "none"}), ("bert", {"activation": "tanh"}), ("bert", {"head_activation": "swiglu"})],
)
def test_a_value_of_an_unrelated_option_lists_the_choices(family, options):
    """activation="none" must not suggest position="none"."""
    error = refusal(family, **options)
    assert "is a value of" in str(error.why) and str(error.remedy).startswith("Choose one of: relu, gelu")


def test_options_of_other_families_are_unknown():
    assert refusal("gpt", forget_bias=1.0).option == "forget_bias"
    assert refusal("rnn", n_heads=2).option == "n_heads"
    assert refusal("gru", head="mlm").option == "head"


@pytest.mark.parametrize("name", ["gtp", "", "GPT"])
def test_unknown_models(name):
    error = refusal(name)
    check_sentences(error, "name", name)
    assert all(family in str(error.remedy) for family in FAMILIES) and "bert-base" in chinese(error.remedy)


@pytest.mark.parametrize("shared", [Config, RecurrentConfig, TransformerConfig])
def test_what_families_share_is_none_of_them(shared):
    with pytest.raises(core.ConfigError) as caught:
        core.build(shared())
    check_sentences(caught.value, "config", shared.__name__)
    assert "EncoderDecoderConfig" in str(caught.value.remedy)
    assert shared not in CONFIGS.values() and list(CONFIGS) == core.models()


def test_a_class_without_a_configuration_is_told_so(monkeypatch):
    monkeypatch.delitem(CONFIGS, "gpt")
    error = refusal("gpt")
    check_sentences(error, "name", "gpt")
    assert "family = 'gpt'" in str(error.remedy)


# Every combination that families.py refuses: the family, options that trigger it, and the option it blames.
COMBINATIONS = [
    *[(family, {"head": "lm", "bidirectional": True}, "bidirectional") for family in RECURRENT],
    *[("seq2seq", {"d_hidden": width}, "d_hidden") for width in (1, 7, 16_383)],
    *[(family, {"d_model": 30, "n_heads": 4}, "n_heads") for family in ATTENTIVE],
    *[("gpt", {"d_model": width, "n_heads": heads}, "n_heads") for width, heads in [(4, 8), (127, 2), (131, 100), (1, 128)]],
    *[("gpt", {"n_heads": heads, "n_kv_heads": kv}, "n_kv_heads") for heads, kv in [(4, 3), (4, 8), (1, 2), (64, 48)]],
    *[(family, {"position": "rope", "d_model": 12, "n_heads": 4}, "position") for family in ATTENTIVE],
    *[("gpt", {"position": "rope", "d_head": width}, "position") for width in (1, 7, 1_023)],
    ("roformer", {"d_model": 4_100, "n_heads": 4}, "position"),
    *[("gpt", {"position": "sinusoidal", "d_model": 15, "n_heads": h}, "position") for h in (1, 3, 5, 15)],
    ("transformer", {"d_model": 7, "d_head": 2}, "position"),
    ("transformer", {"d_model": 16_383, "n_heads": 3}, "position"),
    ("roformer", {"d_model": 52, "n_heads": 7}, "n_heads"),
    *[("gpt", {"d_model": width, "n_heads": 4, "n_kv_heads": 2}, "n_heads") for width in (10, 15)],
    *[("t5", {"n_buckets": count}, "n_buckets") for count in (2, 6, 30)],
    *[("t5", {"n_buckets": count}, "max_distance") for count in (256, 4_096)],
    *[("gpt", {"position": "t5", "max_distance": distance}, "max_distance") for distance in (2, 16)],
    *[(family, {"pooler": "none", "head": "classifier"}, "pooler") for family in ("bert", "roformer")],
    *[(family, {"pooler": "none", "next_sentence": True}, "next_sentence") for family in ("bert", "roformer")],
]  # fmt: skip


EVERY_COMBINATION = pytest.mark.parametrize(
    ("family", "options", "blamed"), COMBINATIONS, ids=[f"{family}-{label(o)}" for family, o, _ in COMBINATIONS]
)


@EVERY_COMBINATION
def test_impossible_combinations(family, options, blamed):
    error = refusal(family, **options)
    check_sentences(error, blamed, getattr(CONFIGS[family], blamed) if blamed not in options else options[blamed])
    for render in (str, chinese):
        assert re.search(r"\d|False|tagger|d_head", render(error.remedy))


@EVERY_COMBINATION
@pytest.mark.parametrize("render", [str, chinese], ids=["en", "zh"])
def test_remedies_work(family, options, blamed, render):
    """Every value that the remedy names works."""
    error = refusal(family, **options)
    remedy = render(error.remedy)
    changes = [{name: eval(value)} for name, value in re.findall(r"(\w+) ?= ?('\w+'|\w+)", remedy)]
    if not changes:
        changes = [{blamed: int(number)} for number in re.findall(r"\d+", remedy)]
    assert changes or remedy in ("Set d_head.", "请设置 d_head。")
    for change in changes:
        core.configure(family, **{**options, **change})


def test_t5_buckets_are_what_the_remedy_says():
    """A multiple of 4 less than twice max_distance: all of those work, none of the others do."""
    for buckets in range(2, 80):
        fits = buckets % 4 == 0 and buckets < 2 * 20
        try:
            core.configure("t5", n_buckets=buckets, max_distance=20)
        except core.ConfigError:
            assert not fits
        else:
            assert fits


@pytest.mark.parametrize("family", FAMILIES)
def test_configurations_are_values(family):
    config = small_config(family)
    assert config == small_config(family) and hash(config) == hash(small_config(family))
    with pytest.raises(FrozenInstanceError):
        config.n_layers = 5
    options = config.to_dict()
    assert core.configure(options.pop("family", family), **options) == config
    assert core.build(config).config is config
    assert core.build(config, vocab_size=7).config == replace(config, vocab_size=7)
    with pytest.raises(core.ConfigError, match=r"vocab_siz = 7.*Did you mean vocab_size"):
        core.build(config, vocab_siz=7)
    with pytest.raises(core.ConfigError, match="vocab_size = -7"):
        core.build(config, vocab_size=-7)


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: core.build("gtp"), "gpt"),
        (lambda: core.build("BERT"), "bert"),
        (lambda: core.build("gpt", n_layer=2), "n_layers"),
        (lambda: core.build("gpt", position="ropes"), "rope"),
        (lambda: core.task("inducton"), "induction"),
        (lambda: core.task("parity", maxlen=3), "max_len"),
        (lambda: core.recipe("gpt", "inductoin"), "gpt/induction"),
        (lambda: core.recipe("gpt/inductoin"), "gpt/induction"),
        (lambda: core.recipe("gpt", "induction", "one-layr"), "one-layer"),
        (lambda: core.Training.make(learning_rate=0.1), "lr"),
        (lambda: core.Training.make(bs=8), "batch_size"),
        (lambda: core.text.train_tokenizer("byte", ["text"]), "bytes"),
    ],
)
def test_a_name_spelt_wrong_is_told_the_one_that_is_meant(ask, meant):
    with pytest.raises(core.ConfigError) as caught:
        ask()
    en, zh = str(caught.value), chinese(caught.value)
    assert "Choose one of: " in en and en.endswith(f"Did you mean {meant}?")
    assert "请选择其一：" in zh and zh.endswith(f"您是指 {meant} 吗？")


def test_nothing_is_suggested_where_nothing_is_near():
    with pytest.raises(core.ConfigError) as caught:
        core.task("zzz")
    assert "Did you mean" not in str(caught.value) and "您是指" not in chinese(caught.value)
    with pytest.raises(core.ConfigError, match="There is none to choose"):
        core.task("next sentence", task_option=3)


@pytest.mark.parametrize("device", ["gpu", "cpu:x", 3.5, *([] if torch.cuda.is_available() else ["cuda"])])
def test_devices_that_are_not_there(device):
    with pytest.raises(core.ConfigError, match=r"no such device.*cpu.*meta") as caught:
        core.build("gpt", device=device)
    assert caught.value.option == "device" and "设备" in chinese(caught.value)


def test_errors_cross_process_boundaries():
    error = pickle.loads(pickle.dumps(refusal("gpt", n_heads=3)))
    assert error.option == "n_heads" and chinese(error) == chinese(refusal("gpt", n_heads=3))


def test_a_whole_number_for_a_number_is_the_same_choice():
    whole, exact = core.build("gpt", dropout=0).config, core.build("gpt", dropout=0.0).config
    assert whole == exact and repr(whole) == repr(exact)
