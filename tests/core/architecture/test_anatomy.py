"""The anatomy against the models themselves: every shape as captured, every parameter counted once, every edge real."""

import pytest
import torch
import transformers

import core
from core.architecture.anatomy import Anatomy
from core.architecture.descriptions import describe_module
from core.config.families import CONFIGS
from core.models import is_encoder_decoder
from tests.core.examples import FAMILIES, label, small_config, variants
from tests.words import chinese

TIME, TARGET = 6, 5
NO_EFFECT = ("engine", "dropout", "norm_eps", "checkpointing", "forget_bias")  # options that change no part
VARIANTS = [
    (family, options)
    for family in FAMILIES
    for options in variants(family)
    if all(isinstance(value, str | bool) and name not in NO_EFFECT for name, value in options.items())
]


def run_on_meta(config: core.Config, time: int = TIME, target: int = TARGET) -> tuple[torch.nn.Module, core.Tape]:
    model = core.build(config, device="meta").eval()
    source = torch.zeros(1, min(time, config.max_len), dtype=torch.long, device="meta")
    inputs = [source, source[:, :target]] if is_encoder_decoder(model) else [source]
    with torch.no_grad(), core.capture(model) as tape:
        model(*inputs)
    return model, tape


def check_against_the_model(anatomy: Anatomy) -> None:
    model, tape = run_on_meta(anatomy.config)
    parts = list(anatomy.root.walk())
    assert len({part.node for part in parts}) == len(parts)
    points = {part.path: part for part in parts if part.kind == "point"}
    assert {path: part.shape for path, part in points.items()} == {name: tuple(tape[name].shape) for name in tape}
    for path, part in points.items():
        assert len(part.axes) == len(part.shape), (
            f"core/architecture/descriptions.py does not name the axes of {path}"
        )
    assert anatomy.root.count == sum(weight.numel() for weight in model.parameters())
    modules = dict(model.named_modules())
    for part in parts:
        if part.kind == "module":
            assert part.module == type(modules[part.path]).__name__
            assert {w.name: w.shape for w in part.weights} == {
                name: tuple(weight.shape) for name, weight in modules[part.path].named_parameters(recurse=False)
            }
    nodes = {part.node for part in parts}
    assert all(source.node in nodes for part in parts for source in part.sources)


@pytest.mark.parametrize(
    "name", [*FAMILIES, *(pytest.param(preset, marks=pytest.mark.slow) for preset in core.PRESETS)]
)
def test_families_and_presets_are_drawn_as_they_are(name):
    check_against_the_model(core.anatomy(name, time=TIME, target_time=TARGET))


@pytest.mark.parametrize(
    ("family", "options"),
    [pytest.param(*variant, marks=[pytest.mark.slow] if i % 6 else []) for i, variant in enumerate(VARIANTS)],
    ids=lambda value: value if isinstance(value, str) else label(value),
)
def test_every_option_is_drawn_as_it_is(family, options):
    check_against_the_model(core.anatomy(small_config(family, **options), time=TIME, target_time=TARGET))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layers", [4, pytest.param(5, marks=pytest.mark.slow), 9])
def test_deep_stacks_are_those_of_a_full_pass(family, layers):
    deeper = any(option.name == "n_decoder_layers" for option in CONFIGS[family].options())
    options = {"n_layers": layers, **({"n_decoder_layers": layers + 2} if deeper else {})}
    anatomy = core.anatomy(small_config(family, **options), time=TIME, target_time=TARGET)
    check_against_the_model(anatomy)
    model = core.build(anatomy.config, device="meta")
    stacks = {path: len(m) for path, m in model.named_modules() if isinstance(m, torch.nn.ModuleList)}
    for stack, depth in stacks.items():
        first = between(anatomy, f"{stack}.0", f"{stack}.1")
        assert first and all(
            between(anatomy, f"{stack}.{i}", f"{stack}.{i + 1}") == first for i in range(1, depth - 1)
        )
        assert not any(between(anatomy, f"{stack}.{i}", f"{stack}.{i + 2}") for i in range(depth - 2))


def between(anatomy: Anatomy, before: str, after: str) -> set[tuple[str, str]]:
    """The edges from one layer to another: (source, target), each without the path of its layer."""
    return {
        (source.node.removeprefix(before), part.node.removeprefix(after))
        for part in anatomy.root.walk()
        for source in part.sources
        if source.node.startswith(f"{before}.") and part.node.startswith(f"{after}.")
    }


def sources(anatomy: Anatomy, path: str) -> set[str]:
    return {("~" if source.recurrent else "") + source.node for source in anatomy[path].sources}


def test_edges_of_the_data_flow():
    gpt = core.anatomy(small_config("gpt"))
    assert sources(gpt, "blocks.0.resid_in") == {"embed", "position"}
    assert sources(gpt, "blocks.0.attn.scores") == {"blocks.0.attn.q", "blocks.0.attn.k"}
    assert sources(gpt, "blocks.0.attn.weights") == {"blocks.0.attn.scores", "blocks.0.attn.mask"}
    assert sources(gpt, "blocks.0.attn.context") == {"blocks.0.attn.weights", "blocks.0.attn.v"}
    assert sources(gpt, "blocks.1.resid_mid") == {"blocks.1.resid_in", "blocks.1.attn.out"}, "the residual"
    rotary = core.anatomy(small_config("gpt", position="rope"))
    assert sources(rotary, "blocks.1.attn.q") == {"position()", "blocks.1.attn.q_proj()"}

    post = core.anatomy(small_config("transformer"))
    memory = "encoder.blocks.1.resid_out"
    for layer in range(2):
        assert sources(post, f"decoder.blocks.{layer}.cross.k_proj") == {memory}
        assert sources(post, f"decoder.blocks.{layer}.cross.q_proj") == {f"decoder.blocks.{layer}.resid_mid"}

    lstm = core.anatomy(small_config("lstm", n_layers=1))
    layer = "layers.0.fwd"
    for gate in ("input", "forget", "candidate", "output"):
        assert sources(lstm, f"{layer}.{gate}") == {"embed", f"~{layer}.hidden"}
    assert sources(lstm, f"{layer}.cell") == {
        f"{layer}.input",
        f"{layer}.forget",
        f"{layer}.candidate",
        f"~{layer}.cell",
    }
    assert sources(lstm, f"{layer}.hidden") == {f"{layer}.output", f"{layer}.cell"}
    backwards = core.anatomy(small_config("gru", n_layers=1, bidirectional=True))
    assert f"~{layer[:-3]}bwd.hidden" in sources(backwards, f"{layer[:-3]}bwd.reset"), "from the position after"

    bahdanau = core.anatomy(small_config("seq2seq", n_layers=1, bidirectional=False))
    assert "~decoder.layers.0.fwd.hidden" in sources(bahdanau, "decoder.cross.query_proj")
    assert sources(bahdanau, "decoder.cross.context") == {"encoder.layers.0.fwd.hidden", "decoder.cross.weights"}


def rows(anatomy: Anatomy, path: str) -> list[list[str]]:
    return [[part.path.rpartition(".")[2] for part in row] for row in anatomy[path].rows]


def test_independent_parts_stand_in_one_row():
    gpt = core.anatomy(small_config("gpt", position="alibi"))
    assert rows(gpt, "blocks.0.attn") == [
        ["q_proj", "k_proj", "v_proj"], ["q", "k", "v", "bias"], ["scores", "mask"], ["weights"], ["context"],
        ["out_proj"], ["out"],
    ]  # fmt: skip
    assert rows(core.anatomy("lstm"), "layers.0.fwd") == [
        ["input", "forget", "candidate", "output"], ["cell"], ["hidden"]
    ]  # fmt: skip
    assert rows(core.anatomy("t5"), "")[0] == ["encoder", "decoder"]
    assert rows(core.anatomy("seq2seq"), "encoder.layers.0") == [["fwd", "bwd"]]


def test_shared_tables_are_counted_once_and_said_to_be_shared():
    tied = core.anatomy("gpt2-small")
    (weight,) = tied["head.proj"].weights
    assert (weight.count, weight.same_as, weight.shape) == (0, "token_embedding.weight", (50_257, 768))
    assert tied["token_embedding"].count == 50_257 * 768


def test_every_part_has_a_description():
    for family, config in CONFIGS.items():
        heads = config.options() and next((o.choices for o in config.options() if o.name == "head"), [None])
        for head in heads:
            model = core.build(small_config(family, **({"head": head} if head else {})))
            for part in core.anatomy(model).root.walk():
                assert part.description is not None or part.module == "BidirectionalLayer", (
                    f"core/architecture/descriptions.py does not describe {part.module or part.path} of {family}"
                )
                if part.description:
                    assert str(part.description.meaning) and chinese(part.description.meaning)
    assert describe_module(torch.nn.Dropout()) is None


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("bert-large", lambda: transformers.BertForPreTraining(transformers.BertConfig(
            num_hidden_layers=24, hidden_size=1_024, num_attention_heads=16, intermediate_size=4_096))),
        ("gpt2-xl", lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=48, n_embd=1_600, n_head=25))),
        ("t5-large", lambda: transformers.T5ForConditionalGeneration(transformers.T5Config(
            num_layers=24, d_model=1_024, num_heads=16, d_ff=4_096, d_kv=64, vocab_size=32_128))),
    ],
)  # fmt: skip
def test_the_largest_have_as_many_parameters_as_hugging_faces(name, theirs):
    with torch.device("meta"):
        expected = sum(weight.numel() for weight in theirs().parameters())
    anatomy = core.anatomy(name)
    assert anatomy.root.count == expected
    assert sum(weight.count for part in anatomy.root.walk() for weight in part.weights) == expected
