"""Observers per thread: threads and tasks never mix, captures and edits nest, and both end with their `with`."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from threading import Barrier

import pytest
import torch

import core
from core.capture.edits import scale, set_to, zero_heads
from tests.core.examples import FAMILIES, RECURRENT, batch, loss_of, small

ROUNDS = 40


def snapshot(tape):
    return {name: value.clone() for name, value in tape.items()}


def identical(first, second):
    return first.keys() == second.keys() and all(first[name].equal(second[name]) for name in first)


def observe(model, inputs, patterns, edits=None):
    """The tape and the logits of one run, with or without edits."""
    with torch.no_grad(), core.capture(model, *patterns) as tape:
        if edits is None:
            output = model(**inputs)
        else:
            with core.edit(model, edits):
                output = model(**inputs)
    return {**snapshot(tape), "answer": output.logits}


@pytest.mark.parametrize("family", ["lstm", "seq2seq", "bert", "gpt", "t5"])
def test_threads_never_mix(family):
    """Different inputs and patterns in each thread; one of them edits, one watches nothing."""
    model = small(family)
    point = "*.hidden" if family in ("lstm", "seq2seq") else "*.context"
    work = [
        (batch(model, 1), ["*"]),
        (batch(model, 2, lengths=(5, 2)), [point]),
        (batch(model, 3), ["*"], {point: scale(0.5)}),
        (batch(model, 4), ["nothing"]),
    ]
    alone = [observe(model, *job) for job in work]
    start = Barrier(len(work))

    def repeat(job, expected):
        start.wait()
        return all(identical(observe(model, *job), expected) for _ in range(ROUNDS))

    with ThreadPoolExecutor(len(work)) as pool:
        assert all(pool.map(repeat, work, alone))


def test_gradients_in_two_threads():
    model = small("gru", head="tagger")

    def run(seed):
        inputs = batch(model, seed)
        with core.capture(model, "*.hidden", gradients=True) as tape:
            loss = loss_of(model, model(**inputs), inputs)
        loss.backward()
        return tape.grad("layers.0.fwd.hidden").clone()

    alone = [run(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            for expected, actual in zip(alone, pool.map(run, range(4)), strict=True):
                assert actual.equal(expected)


def test_a_thread_started_inside_a_capture_is_not_seen():
    model = small("gpt")
    with core.capture(model) as tape, ThreadPoolExecutor(1) as pool:
        pool.submit(model, **batch(model)).result()
    assert not tape.names()


def test_tasks_never_mix():
    model = small("gru")
    inputs = [batch(model, seed) for seed in range(4)]
    edits = [None, {"*.reset": set_to(1.0)}, None, {"*.update": scale(0.1)}]
    alone = [observe(model, each, [], edit) for each, edit in zip(inputs, edits, strict=True)]

    async def task(own, edit):
        with core.capture(model) as tape:
            for _ in range(10):
                await asyncio.sleep(0)  # let the others in while this capture is open
                if edit is None:
                    output = model(**own)
                else:
                    with core.edit(model, edit):
                        await asyncio.sleep(0)
                        output = model(**own)
                await asyncio.sleep(0)
        return {**snapshot(tape), "answer": output.logits.detach()}

    async def together():
        return await asyncio.gather(*map(task, inputs, edits))

    for actual, expected in zip(asyncio.run(together()), alone, strict=True):
        assert identical(actual, expected)


@pytest.mark.parametrize("family", ["gru", "gpt"])
def test_edits_and_captures_end_with_their_block(family):
    model = small(family)
    inputs, point = batch(model), "*.hidden" if family in RECURRENT else "*.weights"
    before = model(**inputs).logits
    with core.capture(model) as tape:
        pass
    with core.edit(model, {point: set_to(0.0)}):
        assert not model(**inputs).logits.equal(before)
    assert model(**inputs).logits.equal(before)
    with pytest.raises(ZeroDivisionError), core.capture(model), core.edit(model, {point: set_to(0.0)}):
        model(**inputs)
        raise ZeroDivisionError
    assert model(**inputs).logits.equal(before)

    def explode(tensor):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), core.edit(model, {point: explode}):
        model(**inputs)
    assert model(**inputs).logits.equal(before)
    assert not tape.names()


@pytest.mark.parametrize("family", ["lstm", "bert"])
def test_nested_captures_and_edits(family):
    """Wherever a capture stands, it sees what the model went on with; edits act from the outside in."""
    model = small(family)
    inputs, point = batch(model), "layers.0.fwd.forget" if family == "lstm" else "blocks.0.attn.context"
    with core.capture(model) as plain:
        model(**inputs)
    with (
        core.capture(model) as outer,
        core.edit(model, {point: lambda x: x + 1}),
        core.capture(model, point) as middle,
        core.edit(model, {point: lambda x: x * 3}),
        core.capture(model) as inner,
    ):
        output = model(**inputs)
    first = (slice(None), 0) if family == "lstm" else ...  # later steps feel the edits of earlier ones
    torch.testing.assert_close(inner[point][first], (plain[point][first] + 1) * 3)
    assert identical(outer, inner) and middle.names() == [point] and middle[point].equal(inner[point])
    assert inner["logits"].equal(output.logits)
    with core.capture(model) as again:
        model(**inputs)
    assert identical(again, plain)


@pytest.mark.parametrize("family", FAMILIES)
def test_other_models_are_not_seen(family):
    """A twin runs inside another's capture and edit: neither is touched by the other."""
    watched, twin = small(family), small(family)
    inputs = batch(twin)
    expected = twin(**inputs).logits
    with core.capture(watched) as tape, core.edit(watched, {"logits": set_to(0.0)}):
        assert twin(**inputs).logits.equal(expected)
        assert not tape.names()
        assert not watched(**inputs).logits.any()
    with core.capture(twin) as both, core.capture(watched) as tape:
        twin(**inputs)
    assert both.names() and not tape.names()


@pytest.mark.parametrize("part", ["decoder", "decoder.blocks.0.cross"])
def test_a_part_of_a_model_can_be_watched(part):
    model = small("transformer")
    with core.capture(model.get_submodule(part)) as tape, core.capture(model) as whole:
        model(**batch(model))
    assert tape.names() and all(value.equal(whole[f"{part}.{name}"]) for name, value in tape.items())


@pytest.mark.parametrize(("forward", "backward"), list(product(["outside", "inside", "twin"], repeat=2)))
@pytest.mark.parametrize("family", ["gpt", "t5"])
def test_checkpointing_and_capture(family, forward, backward):
    """Activations computed again in the backward pass are not observed: gradients stay, and no tape gets a second copy."""
    model, plain = small(family, checkpointing=True, dropout=0.1).train(), small(family, dropout=0.1).train()
    inputs = batch(model)
    torch.manual_seed(3)
    expected = torch.autograd.grad(loss_of(plain, plain(**inputs), inputs), list(plain.parameters()))
    watched = {"outside": torch.nn.Module(), "inside": model, "twin": plain}

    torch.manual_seed(3)
    with core.capture(watched[forward]) as tape:
        loss = loss_of(model, model(**inputs), inputs)
    recorded = snapshot(tape)
    with core.capture(watched[backward]) as late:
        gradients = torch.autograd.grad(loss, list(model.parameters()))
    torch.testing.assert_close(gradients, expected, atol=1e-5, rtol=1e-4)
    assert bool(recorded) == (forward == "inside")
    assert identical(snapshot(tape), recorded) and not late.names()


def test_editing_a_checkpointed_model():
    model, plain = small("gpt", checkpointing=True), small("gpt")
    inputs = batch(model)
    for each in (model, plain):
        with core.edit(each, {"blocks.0.attn.context": zero_heads(0)}):
            loss_of(each, each(**inputs), inputs).backward()
    for name, parameter in plain.named_parameters():
        torch.testing.assert_close(model.get_parameter(name).grad, parameter.grad)


def test_the_last_run_is_the_one_kept():
    """Of a run with padding followed by one without, nothing is left: neither its mask nor anything else."""
    model = small("bert", n_layers=1)
    ids = batch(model)["ids"]
    with core.capture(model) as tape:
        model(**batch(model))
        model(ids=ids[:2, :4])
    with core.capture(model) as alone:
        model(ids=ids[:2, :4])
    assert identical(tape, alone)


def test_a_tape_is_a_mapping_that_helps():
    model = small("gpt")
    with core.capture(model, "*.weights") as tape:
        model(**batch(model))
    assert list(tape) == tape.names() == ["blocks.0.attn.weights", "blocks.1.attn.weights"] and len(tape) == 2
    with pytest.raises(core.TapError, match=r"did you mean .*blocks\.0\.attn\.weights"):
        tape["blocks.0.attn.weight"]
    with pytest.raises(core.TapError, match="2 points are on the tape"):
        tape["?"]
    with pytest.raises(core.TapError, match="no pattern asked for it"):
        tape["blocks.0.attn.out"]
    assert not tape["blocks.0.attn.weights"].requires_grad


@pytest.mark.parametrize("name", ["blocks.0.attn.weights", "blocks.0.attn.weigths"])
def test_a_pattern_that_matched_nothing_is_named_and_nothing_is_suggested_that_is_not_there(name):
    model = small("gpt")
    with core.capture(model, "*.weigths", "logits") as tape:
        model(**batch(model))
    with pytest.raises(core.TapError, match=r"'\*\.weigths' matched nothing.*has blocks\.0\.attn\.weights"):
        tape[name]
    with pytest.raises(core.TapError, match="did you mean logits"):
        tape["logit"]


def test_what_keep_let_go_of_is_said_to_be_gone():
    model = small("gpt")
    with core.capture(model, keep=lambda name, tensor: None) as tape:
        model(**batch(model))
    for name in ("blocks.0.attn.weights", "blocks.0.attn.weight"):
        with pytest.raises(core.TapError, match="`keep` kept nothing") as caught:
            tape[name]
        assert "did you mean" not in str(caught.value)
