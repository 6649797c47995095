"""Averaged weights, accumulation, clipping, mixed precision, FGM and weight decay, against the same done by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.optim import swa_utils

import core
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.training import evaluation
from core.training.loop import Trainer
from core.training.optimisers import AveragedWeights, make_optimiser, perturbed_embeddings
from core.training.options import Training
from core.training.schedules import learning_rate


def trainer(family: str = "gru", task: str = "parity", model: dict | None = None, **training) -> Trainer:
    sizes = {"d_embed": 4, "d_hidden": 6} if family in ("rnn", "gru", "lstm") else {"d_model": 8, "n_heads": 2}
    options = {"steps": 20, "batch_size": 4, **training}
    return Run(make_recipe(family, task, model={**sizes, **(model or {})}, training=options), seed=0).trainer


def gradients(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def test_each_step_uses_its_learning_rate():
    run = trainer(schedule="linear", warmup=2, lr=0.1)
    assert [step.lr for step in run.steps()] == [learning_rate(s, run.options) for s in range(20)]


def test_averaged_weights():
    model = nn.Linear(2, 1, bias=False)
    average = AveragedWeights(model, decay=0.15)
    expected = model.weight.detach().clone()
    for update, value in enumerate([1.0, -2.0, 5.0], start=1):
        nn.init.constant_(model.weight, value)
        average.update(model)
        decay = min(0.15, update / (10 + update))
        expected = decay * expected + (1 - decay) * value
    assert torch.allclose(average.shadow["weight"], expected)
    with average.applied_to(model):
        assert torch.equal(model.weight, average.shadow["weight"])
    assert (model.weight == 5.0).all()


def test_a_run_is_judged_by_its_averaged_weights():
    run = Run(make_recipe("gru", "parity", model={"d_hidden": 4}, training={"steps": 5, "ema": 0.9, "lr": 0.5}))
    list(run.train())
    plain = core.training.evaluation.evaluate(run.model, run.task, 64)
    with run.trainer.average.applied_to(run.model):
        averaged = core.training.evaluation.evaluate(run.model, run.task, 64)
    assert run.evaluate(64) == averaged and plain.problems == 64


def test_accumulated_gradients_are_the_mean_of_the_batches():
    run = trainer(accumulate=3)
    twin = trainer()
    loss, _, tokens = run.gradients()
    losses, n_tokens, summed = [], 0, {}
    for _ in range(3):
        batch = twin.next_batch()
        twin.model.zero_grad()
        batch_loss = twin.forward(batch)[1]
        batch_loss.backward()
        losses.append(batch_loss.item())
        n_tokens += int(batch.lengths.sum())
        for name, grad in gradients(twin.model).items():
            summed[name] = summed.get(name, 0) + grad / 3
    assert loss == pytest.approx(sum(losses) / 3) and tokens == n_tokens
    for name, grad in gradients(run.model).items():
        assert torch.allclose(grad, summed[name], atol=1e-7), name


def test_clipping_shortens_and_never_lengthens():
    """The reported length is the one before; the gradient applied is `clip` long, in the same direction."""
    free, tight, loose = trainer(clip=0.0), trainer(clip=0.01), trainer(clip=1e6)
    reported = [run.step().grad_norm for run in (free, tight, loose)]
    assert reported[0] == reported[1] == reported[2] > 0.01
    full, short, same = (gradients(run.model) for run in (free, tight, loose))
    for name in full:
        assert torch.allclose(short[name], full[name] * (0.01 / reported[0]), rtol=1e-3, atol=1e-9)
        assert torch.equal(same[name], full[name])


def test_accumulating_is_one_big_batch():
    """Three batches of 8 problems move the weights as one of 24 does, when each problem counts the same."""
    parts, whole = trainer(accumulate=3, batch_size=8), trainer(batch_size=24)
    drawn = [parts.task.gather(8, parts.data_rng, held_out=False) for _ in range(3)]
    together = drawn[0].join(drawn[1]).join(drawn[2])
    parts.next_batch = iter([parts.task.lay_out(part, parts.form) for part in drawn]).__next__
    whole.next_batch = lambda: whole.task.lay_out(together, whole.form)
    steps = parts.step(), whole.step()
    assert steps[0].loss == pytest.approx(steps[1].loss, rel=1e-6)
    assert steps[0].grad_norm == pytest.approx(steps[1].grad_norm, rel=1e-5)
    assert (steps[0].accuracy, steps[0].tokens) == (steps[1].accuracy, steps[1].tokens)
    for name, parameter in parts.model.named_parameters():
        assert torch.allclose(parameter, whole.model.get_parameter(name), atol=1e-5), name


def test_averaged_weights_over_a_run_are_those_of_torch():
    """`AveragedModel` with the same decay per update; its first update takes the weights as they are."""
    run = trainer(ema=0.3, lr=0.05)
    reference = swa_utils.AveragedModel(
        run.model, avg_fn=lambda mean, weight, n: mean + (weight - mean) * (1 - min(0.3, n / (10 + n)))
    )
    reference.update_parameters(run.model)
    for _ in run.steps():
        reference.update_parameters(run.model)
    assert run.average.updates == 20
    for name, mean in reference.module.named_parameters():
        assert torch.allclose(run.average.shadow[name], mean, atol=1e-6), name
        assert not torch.equal(mean, run.model.get_parameter(name)), "the run has moved on from its average"


@pytest.mark.parametrize(("family", "task"), [("gru", "parity"), ("transformer", "copy")])
def test_mixed_precision_rounds_the_forward_pass_and_nothing_else(family, task):
    """The loss is that of a forward pass under autocast; weights, gradients and Adam's state stay float32."""
    full, mixed, twin = trainer(family, task), trainer(family, task, precision="bfloat16"), trainer(family, task)
    batch = twin.next_batch()
    with torch.autocast("cpu", torch.bfloat16):
        logits = twin.model(*batch.inputs).logits
    counted = batch.target.flatten() != -100
    by_hand = (
        -logits.float()
        .log_softmax(-1)
        .flatten(0, -2)[counted]
        .gather(1, batch.target.flatten()[counted, None])
        .mean()
    )
    steps = full.step(), mixed.step()
    again = trainer(family, task, precision="bfloat16").step()
    assert steps[1].loss == pytest.approx(by_hand.item(), rel=1e-6) and again == steps[1]
    assert steps[1].loss != steps[0].loss and steps[1].loss == pytest.approx(steps[0].loss, rel=0.02)
    assert steps[1].grad_norm == pytest.approx(steps[0].grad_norm, rel=0.1)
    exact, rough = gradients(full.model), gradients(mixed.model)
    cosine = torch.cosine_similarity(*(torch.cat([g.flatten() for g in side.values()]) for side in (exact, rough)), 0)
    assert cosine > 0.99
    tensors = [*mixed.model.parameters(), *rough.values()]
    tensors += [value for fields in mixed.optimiser.state_dict()["state"].values() for value in fields.values()]
    assert all(tensor.dtype == torch.float32 for tensor in tensors)


def test_adversarial_gradient():
    """FGM: the gradient at the embeddings plus the gradient at embeddings moved by size · g / |g|."""
    run, twin = trainer(adversarial=0.7), trainer()
    run.gradients()
    batch = twin.next_batch()
    twin.forward(batch)[1].backward()
    plain = gradients(twin.model)
    embedding = twin.model.token_embedding.weight
    own, gradient = embedding.detach().clone(), plain["token_embedding.weight"]
    embedding.data += 0.7 * gradient / gradient.norm()
    twin.model.zero_grad()
    twin.forward(batch)[1].backward()
    for name, grad in gradients(run.model).items():
        assert torch.allclose(grad, plain[name] + gradients(twin.model)[name], atol=1e-6), name
    assert torch.equal(run.model.token_embedding.weight, own)


@pytest.mark.parametrize(
    ("family", "task", "model"),
    [("gpt", "induction", {"position": "learned"}), ("t5", "copy", {}), ("bert", "masked words", {})],
)
def test_only_token_embeddings_are_perturbed(family, task, model):
    run = trainer(family, task, model)
    own = {name: p.detach().clone() for name, p in run.model.named_parameters()}
    run.gradients()
    with perturbed_embeddings(run.model, 1.0):
        moved = {name for name, p in run.model.named_parameters() if not torch.equal(p, own[name])}
    assert moved and all(name.endswith("token_embedding.weight") for name in moved)


def test_each_of_several_batches_is_perturbed_along_its_own_gradient():
    run, twin = trainer(adversarial=0.7, accumulate=3), trainer(adversarial=0.7)
    run.gradients()
    summed = {}
    for _ in range(3):
        twin.model.zero_grad()
        twin.gradients()
        for name, grad in gradients(twin.model).items():
            summed[name] = summed.get(name, 0) + grad / 3
    for name, grad in gradients(run.model).items():
        assert torch.allclose(grad, summed[name], atol=1e-6), name


def test_perturbed_embeddings_are_restored_after_an_error():
    model = trainer().model
    own = model.token_embedding.weight.detach().clone()
    model.token_embedding.weight.grad = torch.ones_like(own)
    with pytest.raises(KeyError), perturbed_embeddings(model, 1.0):
        assert (model.token_embedding.weight - own).norm().item() == pytest.approx(1.0, rel=1e-4)
        raise KeyError
    assert torch.equal(model.token_embedding.weight, own)


@pytest.mark.parametrize(
    ("family", "task", "model"),
    [("lstm", "parity", {}), ("gpt", "induction", {"tie_embeddings": True}), ("transformer", "copy", {})],
)
def test_decay_spares_embeddings_norms_and_biases(family, task, model):
    run = trainer(family, task, model, weight_decay=0.5)
    decayed, spared = (group["params"] for group in run.optimiser.param_groups)
    assert [group["weight_decay"] for group in run.optimiser.param_groups] == [0.5, 0.0]
    names = {id(p): name for name, p in run.model.named_parameters()}
    assert len(names) == len(decayed) + len(spared)
    assert all(p.dim() == 2 and "embedding" not in names[id(p)] for p in decayed)
    assert all(p.dim() == 1 or "embedding" in names[id(p)] for p in spared)


@pytest.mark.parametrize(
    ("family", "task", "model", "tables"),
    [
        ("lstm", "entities", {"head": "crf"}, {"head.crf.transition"}),
        ("gpt", "induction", {"norm": "conditional", "n_layers": 1}, {"gain", "shift"}),
    ],
)
def test_decay_spares_tables_that_are_no_matrices(family, task, model, tables):
    """And leaves all parameters in the order in which stored runs count them."""
    run = trainer(family, task, model, weight_decay=0.5)
    names = {id(p): name for name, p in run.model.named_parameters()}
    decayed, spared = set(), set()
    for group in run.optimiser.param_groups:
        (decayed if group["weight_decay"] else spared).update(names[id(p)] for p in group["params"])
    assert len(decayed) + len(spared) == len(names)
    for name, parameter in run.model.named_parameters():
        table = name in tables or name.rpartition(".")[2] in tables
        assert (name in decayed) == (parameter.dim() == 2 and "embedding" not in name and not table), name
    counted = [names[id(p)] for group in run.optimiser.param_groups for p in group["params"]]
    dims = {name: p.dim() if "embedding" not in name else 1 for name, p in run.model.named_parameters()}
    assert counted == [name for name in dims if dims[name] == 2] + [name for name in dims if dims[name] == 1]


def test_one_step_of_adam_with_decay():
    """The first step moves every weight by lr towards −sign(gradient), after decay by lr · decay."""
    model = nn.Linear(3, 2)
    optimiser = make_optimiser(model, Training.make(lr=0.1, weight_decay=0.5))
    weight, bias = model.weight.detach().clone(), model.bias.detach().clone()
    model.weight.grad = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])
    model.bias.grad = torch.tensor([7.0, -8.0])
    optimiser.step()
    assert torch.allclose(model.weight, weight * (1 - 0.05) - 0.1 * model.weight.grad.sign())
    assert torch.allclose(model.bias, bias - 0.1 * model.bias.grad.sign())


def test_a_curriculum_skips_batches_without_a_target():
    """A repeated sequence of one token has no target."""
    run = trainer("gpt", "induction", curriculum=True, batch_size=1)
    assert all(math.isfinite(step.loss) for step in run.steps())


def test_many_words_are_evaluated_a_few_problems_at_a_time(monkeypatch):
    task = core.task("parity", max_len=6)
    model, sizes = core.build("lstm", **task.model_options("lstm"), d_embed=4, d_hidden=4), []
    model.register_forward_hook(lambda _, inputs, __: sizes.append(len(inputs[0])))
    at_once = evaluation.evaluate(model, task, 20)
    monkeypatch.setattr(evaluation, "MOST_LOGITS", 100)
    assert evaluation.evaluate(model, task, 20) == at_once
    assert sizes[0] == 20 and max(sizes[1:]) * 6 * task.vocab_size <= 100 and sum(sizes[1:]) == 20
