"""Any set of options either makes a model that runs and learns, or is refused with a `ConfigError`; nothing else.

Options are drawn from their own descriptions, so that a new one is tried as soon as it exists.
"""

from collections import Counter

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import core
from core.config.families import CONFIGS
from tests.core.examples import FAMILIES, batch, loss_of, small_config
from tests.words import chinese

SMALL = 24  # sizes stay below this, so that each example takes milliseconds
SETTINGS = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def within_range(option):
    if option.kind is str:
        strategy = st.sampled_from(list(option.choices))
    elif option.kind is bool:
        strategy = st.booleans()
    elif option.kind is int:
        largest = 3 if option.name.endswith("layers") else SMALL
        strategy = st.integers(int(option.low), int(min(option.high, largest)))
    else:
        strategy = st.floats(option.low, option.high)
    return st.none() | strategy if option.optional else strategy


def out_of_range(option):
    """Just outside, of another kind, or plain nonsense; a few of these are allowed for some options."""
    beyond = [value for value in (option.low - 1, option.high + 1, -option.high) if option.kind in (int, float)]
    nonsense = [
        None,
        True,
        "",
        "8",
        "rope",
        0,
        -1,
        1.5,
        float("nan"),
        float("inf"),
        10**30,
        [],
        {},
        (1, 2),
        b"x",
        object,
    ]
    return st.sampled_from([*beyond, *[int(v) for v in beyond if v == v and abs(v) < 1e9], *nonsense])


@st.composite
def sensible(draw):
    """A family and some of its options within their ranges; together they may still be impossible."""
    family = draw(st.sampled_from(FAMILIES))
    options = CONFIGS[family].options()
    selected = draw(st.lists(st.sampled_from(options), max_size=10, unique_by=lambda option: option.name))
    return family, {option.name: draw(within_range(option)) for option in selected}


@st.composite
def mischievous(draw):
    """The same with something wrong in it."""
    family, options = draw(sensible())
    for option in draw(st.lists(st.sampled_from(CONFIGS[family].options()), max_size=3)):
        options[option.name] = draw(out_of_range(option))
    all_names = sorted({option.name for config in CONFIGS.values() for option in config.options()})
    strange = st.sampled_from([*all_names, "n_head", "heads", "", "family", "name", "cls", "self", "Ω", "__class__"])
    for name in draw(st.lists(strange, min_size=0 if options else 1, max_size=2)):
        options.setdefault(name, draw(st.sampled_from([1, 2, "gru", None, 0.5])))
    return family, options


def outcome(family, options, lengths, seed, training, captured):
    """ "ran" or "refused"; anything else is a failure."""
    try:
        config = small_config(family, **options)
    except core.ConfigError as error:
        assert error.option in str(error) and chinese(error) != str(error)
        return "refused"
    torch.manual_seed(seed)
    model = core.build(config).train(training)
    inputs = batch(model, seed, tuple(lengths))
    if captured:
        with core.capture(model, gradients=True) as tape:
            output = model(**inputs)
        assert "logits" in tape
    else:
        output = model(**inputs)
    loss = loss_of(model, output, inputs)
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    return "ran"


BATCHES = {
    "lengths": st.lists(st.integers(1, 9), min_size=1, max_size=3),
    "seed": st.integers(0, 2**32 - 1),
    "training": st.booleans(),
    "captured": st.booleans(),
}


def tally(requests, count):
    """How many of the examples ran and how many were refused."""
    outcomes = Counter()

    @settings(SETTINGS, max_examples=count)
    @given(request=requests, **BATCHES)
    def check(request, **rest):
        outcomes[outcome(*request, **rest)] += 1

    check()
    return outcomes


def test_sensible_options():
    outcomes = tally(sensible(), 700)
    assert outcomes["ran"] > 300 and outcomes["refused"] > 20


def test_mischievous_options():
    outcomes = tally(mischievous(), 300)
    assert outcomes["refused"] > 150
