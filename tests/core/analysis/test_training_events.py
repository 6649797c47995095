"""Training events: found at the steps where accuracy and heads change, and nowhere else."""

import pytest
import torch

import core
from core.analysis import measures
from core.analysis.training_events import (
    TrainingEvent,
    compute_head_history,
    describe_role_event,
    find_curve_events,
    find_training_events,
    lasting_start,
)
from core.runs.recipes import make_recipe
from core.training.loop import Step
from tests.words import chinese


@pytest.fixture(scope="module")
def copying() -> core.Run:
    torch.set_num_threads(1)
    model = {"d_model": 32, "n_heads": 2, "n_layers": 1, "norm_placement": "pre", "position": "rope"}
    run = core.Run(
        make_recipe(
            "transformer", "copy", model=model, task_options={"max_len": 6}, training={"steps": 150, "lr": 5e-3}
        )
    )
    for _ in run.train():
        pass
    return run


@pytest.mark.parametrize(
    ("flags", "index"),
    [([], None), ([False, True, False], None), ([True, True], 0), ([True, False, True, True], 2), ([False, True], 1)],
)
def test_an_event_is_where_something_begins_that_lasts(flags, index):
    assert lasting_start(flags) == index


def test_guessing_never_leaves_chance():
    """Forty runs that only toss coins, sixteen at a time."""
    run = core.Run(make_recipe("lstm", "parity", training={"batch_size": 16, "steps": 120}))
    for seed in range(40):
        tossed = torch.randint(2, (120, 16), generator=torch.Generator().manual_seed(seed)).float().mean(1).tolist()
        run.steps = [Step(i, 0.69, accuracy, 1e-3, 1.0, 100) for i, accuracy in enumerate(tossed, start=1)]
        assert not find_curve_events(run)


def test_heads_become_what_the_replayed_model_shows(copying):
    events = [event for event in find_training_events(copying) if event.head and "cross" in event.head]
    assert events, "no alignment head was found in a copying model"
    best = compute_head_history(copying)["decoder.blocks.0.cross.weights"]["agreement"]  # (snapshot, head)
    steps = [snapshot.step for snapshot in copying.snapshots]
    for event in events:
        head, index = int(event.head.rsplit(".", 1)[1]), steps.index(event.step)
        assert best[index:, head].min() >= 0.5 > best[index - 1, head]
        assert "alignment head" in str(event.text) and "对齐头" in chinese(event.text)


@pytest.mark.parametrize(
    ("path", "role", "en", "zh"),
    [
        ("blocks.1.attn.0", "induction", "head 1.0 becomes an induction head", "头 1.0 成为归纳头"),
        (
            "encoder.blocks.0.attn.2",
            "previous",
            "encoder head 0.2 becomes a previous-token head",
            "编码器头 0.2 成为前一词元头",
        ),
        (
            "decoder.blocks.0.cross.3",
            "agreement",
            "decoder cross-attention head 0.3 becomes an alignment head",
            "解码器交叉注意力头 0.3 成为对齐头",
        ),
        (
            "decoder.blocks.1.attn.3",
            "first",
            "decoder self-attention head 1.3 becomes a head that rests on the first token",
            "解码器自注意力头 1.3 成为停在首个词元的头",
        ),
        ("decoder.cross.0", "agreement", "the alignment finds the right source tokens", "对齐找到正确的源词元"),
    ],
)
def test_a_head_is_named_by_its_path(path, role, en, zh):
    text = describe_role_event(path, role)
    assert (str(text), chinese(text)) == (en, zh)


def test_they_are_read_as_sentences(copying):
    event = TrainingEvent(182, describe_role_event("blocks.1.attn.0", "induction"), "blocks.1.attn.0")
    assert repr([event]) == "[step 182: head 1.0 becomes an induction head]"
    assert repr(copying) == "Run(transformer/copy, seed 0, 150 of 150 steps)"
    assert repr(copying.snapshots).startswith("Snapshots(steps 0, 1, 2, ")
    assert repr(copying.snapshots).endswith(", 150)")


def test_agreement_is_the_weight_on_the_right_source_token(copying):
    """Recomputed from the model itself, by loops."""
    examples = copying.task.evaluation(8, length=copying.task.longest)
    batch = copying.task.lay_out(examples, "pairs")
    with core.capture(copying.model.eval(), "*cross.weights") as tape, torch.no_grad():
        copying.model(*batch.inputs)
    weights = tape["decoder.blocks.0.cross.weights"]
    for head in range(2):
        by_hand = sum(float(weights[row, head, t, t]) for row in range(8) for t in range(7)) / 56
        share = compute_head_history(copying)["decoder.blocks.0.cross.weights"]["agreement"][-1, head]
        assert float(share) == pytest.approx(by_hand, abs=2e-3)  # snapshots are float16


@pytest.mark.parametrize("side", [2, 3, 4])
def test_agreement_with_a_pooled_source_is_the_weight_on_the_right_group(side):
    """Copying six tokens and the end of the source, groups of `side` of which are one key."""
    model = {"d_model": 16, "n_heads": 2, "n_layers": 1, "downsample": side}
    run = core.Run(
        make_recipe("transformer", "copy", model=model, task_options={"max_len": 6}, training={"steps": 1})
    )
    batch = run.task.lay_out(run.task.evaluation(8, length=6), "pairs")
    with core.capture(run.model.eval(), "*cross.weights") as tape, torch.no_grad():
        run.model(*batch.inputs)
    weights = tape["decoder.blocks.0.cross.weights"]  # (8, 2, 7, ⌈7 / side⌉)
    by_hand = torch.stack([weights[:, :, t, t // side] for t in range(7)]).mean((0, 1))
    shares = compute_head_history(run)["decoder.blocks.0.cross.weights"]["agreement"][0]
    torch.testing.assert_close(shares, by_hand, atol=2e-3, rtol=0)  # snapshots are float16


def test_accuracy_leaves_chance_where_the_curve_does(copying):
    leaves = next(event for event in find_curve_events(copying) if "chance" in str(event.text))
    before = [s.accuracy for s in copying.steps[: max(1, leaves.step - 5)]]
    after = [s.accuracy for s in copying.steps[leaves.step + 20 :]]
    assert sum(before) / len(before) < sum(after) / len(after)
    assert min(after) > copying.task.chance


def test_replay_shows_the_model_as_it_was(copying):
    ids = torch.randint(3, 10, (1, 5))
    tapes = copying.replay(ids, ids, "*.weights")
    assert len(tapes) == len(copying.snapshots) and copying.snapshots[0].step == 0
    fresh = core.Run(copying.recipe).model.eval()
    for model, tape in ((fresh, tapes[0]), (copying.model.eval(), tapes[-1])):
        with core.capture(model, "*.weights") as own, torch.no_grad():
            model(ids, ids)
        for name in own:
            torch.testing.assert_close(tape[name], own[name], atol=5e-3, rtol=0)


def test_saturation_and_half_life_by_hand():
    gate = torch.tensor([[[0.95, 0.5], [0.05, 0.5]]])  # (1, 2, 2)
    assert measures.saturation(gate).tolist() == [1.0, 0.0]
    assert measures.half_life(torch.full((1, 3, 1), 0.5)).item() == pytest.approx(1.0)
    assert measures.half_life(torch.full((1, 3, 1), 0.5**0.1)).item() == pytest.approx(10.0, rel=1e-4)


def test_the_gradient_through_time_is_autograds_own():
    torch.manual_seed(0)
    model = core.build("lstm", vocab_size=4, d_hidden=6, d_embed=3)
    task = core.task("parity", min_len=5, max_len=5)
    batch = task.lay_out(task.evaluation(4), "label")
    norms = measures.gradient_through_time(model, batch)["layers.0.fwd.hidden"]
    assert norms.shape == (5,) and (norms > 0).all()
    assert all(p.grad is None for p in model.parameters())
    hidden = model.layers[0].fwd
    x = model.token_embedding(batch.inputs[0])
    h, c, states = torch.zeros(4, 6), torch.zeros(4, 6), []
    for t in range(5):
        gates = x[:, t] @ hidden.weight_ih_l0.T + hidden.bias_ih_l0 + h @ hidden.weight_hh_l0.T + hidden.bias_hh_l0
        i, f, g, o = gates.chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        h.retain_grad()
        states.append(h)
    torch.nn.functional.cross_entropy(model.head.proj(h), batch.target).backward()
    by_hand = torch.stack([h.grad.norm(dim=-1).mean() for h in states])
    torch.testing.assert_close(norms, by_hand, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(
    ("family", "task", "model"),
    [
        ("lstm", "parity", {"bidirectional": True}), ("gru", "parity", {"n_layers": 2}),
        ("seq2seq", "copy", {}), ("seq2seq", "copy", {"attention": "luong-dot", "cell": "lstm"}),
    ],
)  # fmt: skip
def test_the_gradient_through_time_is_that_of_the_sequences_that_still_run(family, task, model):
    """Each row of a padded batch by itself, without its padding."""
    problem = core.task(task, max_len=6)
    torch.manual_seed(0)
    options = {**problem.model_options(family), "d_hidden": 6, "d_embed": 3, **model}
    network = core.build(family, **options).double()
    examples = problem.evaluation(8)
    form = problem.form(network)
    rows = [problem.lay_out(examples.pick(torch.tensor([row])), form) for row in range(8)]
    expected, counted = {}, {}
    for row in rows:
        for name, norms in measures.gradient_through_time(network, row).items():
            padded = torch.nn.functional.pad(norms, (0, 8 - len(norms)))
            share = row.target.ne(-100).sum()  # a mean over all that is targets, and one row's part in it
            expected[name] = expected.get(name, 0) + padded * share
            counted[name] = counted.get(name, 0) + (torch.arange(8) < len(norms))
    batch = problem.lay_out(examples, form)
    assert len(set(batch.lengths.tolist())) > 1
    targets = batch.target.ne(-100).sum()
    for name, norms in measures.gradient_through_time(network, batch).items():
        by_hand = expected[name] / targets / counted[name].clamp(min=1)
        torch.testing.assert_close(norms, by_hand[: len(norms)])
