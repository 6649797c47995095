"""Transfers start from the body of a run on another task and are otherwise runs like any other."""

from __future__ import annotations

import json

import pytest
import torch

import core
from core.runs.recipes import make_recipe
from core.runs.run import Run, key_of, recipe_from_dict
from core.runs.store import Store, StoreError
from core.runs.transfer import HEAD_PREFIXES, TransferRecipe, shared_tokens
from tests.words import chinese

TINY = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_ff": 16}
OPTIONS = {"samples": 8, "steps": 12, "batch_size": 4, "lr": 1e-3}


def first_run(text: str = "news", steps: int = 6, seed: int = 3, **training) -> Run:
    training = {"steps": steps, "batch_size": 8, **training}
    return Run(make_recipe("bert", "masked words", model=TINY, task_options={"text": text}, training=training), seed)


def trained(run: Run) -> Run:
    list(run.train())
    return run


def same_weights(first: Run, second: Run) -> bool:
    pairs = zip(first.model.parameters(), second.model.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("text", ["news", "stories"])
def test_the_body_is_the_first_runs_and_the_head_is_new(text):
    parent = trained(first_run(text))
    run = parent.transfer("entities", **OPTIONS)
    scratch = Run(run.recipe.from_scratch, run.seed)
    assert run.model.config == scratch.model.config and run.model.config.head == "tagger"
    known = set(parent.task.tokens)
    assert known.isdisjoint(run.task.tokens) is False and (text == "news") == known.issuperset(run.task.tokens)
    for name, weight in run.model.named_parameters():
        fresh = scratch.model.get_parameter(name)
        if name == "token_embedding.weight":
            for i, token in enumerate(run.task.tokens):
                expected = (
                    parent.model.token_embedding.weight[parent.task.tokens.index(token)]
                    if token in known
                    else fresh[i]
                )
                assert torch.equal(weight[i], expected), token
        else:
            expected = fresh if name.startswith(HEAD_PREFIXES) else parent.model.get_parameter(name)
            assert torch.equal(weight, expected), name
    assert run.parent == parent.key and run.steps == [] and run.trainer.index == 0


def test_it_is_deterministic_and_leaves_its_parent_alone():
    parent = trained(first_run())
    before = [p.detach().clone() for p in parent.model.parameters()]
    first, second = (trained(parent.transfer("entities", dropout=0.2, **OPTIONS)) for _ in range(2))
    assert first.steps == second.steps and same_weights(first, second) and len(first.steps) == 12
    assert all(torch.equal(a, b) for a, b in zip(before, parent.model.parameters(), strict=True))
    assert (first.snapshots[0].step, first.snapshots[-1].step) == (0, 12)
    assert len(first.replay(torch.tensor([[5, 6, 7]]), "*.weights")) == len(first.snapshots)
    assert first.evaluate(16).problems == 16


def test_from_scratch_it_has_the_same_labels_to_learn_from():
    run = trained(first_run()).transfer("entities", seed=5, **OPTIONS)
    scratch = Run(run.recipe.from_scratch, 5)
    assert torch.equal(run.trainer.fixed_examples.source, scratch.trainer.fixed_examples.source)
    batches = [one.trainer.next_batch() for one in (run, scratch)]
    assert torch.equal(batches[0].inputs[0], batches[1].inputs[0])
    assert torch.equal(batches[0].target, batches[1].target)


def test_its_key_is_what_decides_it():
    parent, other = trained(first_run()), trained(first_run(seed=4))
    runs = [
        parent.transfer("entities", **OPTIONS), parent.transfer("entities", 2, **OPTIONS),
        parent.transfer("entities", seed=9, **OPTIONS), parent.transfer("entities", head="crf", **OPTIONS),
        parent.transfer("entities", **{**OPTIONS, "samples": 16}), parent.transfer("sentence classes", **OPTIONS),
        other.transfer("entities", seed=3, **OPTIONS),
    ]  # fmt: skip
    scratch = Run(runs[0].recipe.from_scratch, 3)
    assert len({run.key for run in [*runs, scratch]}) == 8
    assert trained(first_run()).transfer("entities", **OPTIONS).key == runs[0].key == key_of(runs[0].recipe, 3)
    for run in runs:
        restored = recipe_from_dict(json.loads(json.dumps(run.recipe.to_dict())))
        assert restored == run.recipe and isinstance(restored, TransferRecipe)
    with pytest.raises(core.ConfigError, match=parent.key):
        Run(runs[0].recipe)


def test_from_a_snapshot_and_on_to_a_fork():
    parent = trained(first_run())
    early = parent.transfer("entities", 2, **OPTIONS)
    weights = next(s for s in parent.snapshots if s.step == 2).weights
    assert torch.equal(early.model.blocks[0].attn.q_proj.weight, weights["blocks.0.attn.q_proj.weight"].float())
    assert not early.recipe.origin.exact and parent.transfer("entities").recipe.origin.exact
    fork = trained(trained(early).fork(12, steps=15))
    assert fork.parent == early.key and len(fork.steps) == 15


@pytest.mark.parametrize(
    ("family", "first", "second", "options"),
    [
        ("lstm", "entities", "nested names", {"head": "pointer"}),
        ("gru", "sentence classes", "entities", {"head": "crf"}),
        ("gpt", "copy", "reverse", {}),
        ("transformer", "copy", "sort", {}),
        ("t5", "copy", "reverse", {}),
        ("seq2seq", "copy", "reverse", {}),
        ("roformer", "masked words", "sentence classes", {}),
        ("bert", "masked words", "questions", {}),
    ],
)
def test_every_family_can(family, first, second, options):
    sizes = TINY if family in ("gpt", "transformer", "t5", "bert", "roformer") else {"d_embed": 8, "d_hidden": 8}
    parent = trained(Run(make_recipe(family, first, model=sizes, training={"steps": 2, "batch_size": 4})))
    run = parent.transfer(second, steps=2, batch_size=4, **options)
    parent_ids, child_ids = shared_tokens(parent.task, run.task)
    embeddings = [name for name, _ in run.model.named_parameters() if name.endswith("token_embedding.weight")]
    for name in embeddings:
        assert torch.equal(run.model.get_parameter(name)[child_ids], parent.model.get_parameter(name)[parent_ids])
    assert embeddings and len(trained(run).steps) == 2


def test_averaged_weights_begin_there_too():
    run = trained(first_run()).transfer("entities", ema=0.9, **OPTIONS)
    for name, weight in run.trainer.average.shadow.items():
        assert torch.equal(weight, run.model.get_parameter(name))


def transfer_error(run: Run, *arguments, **options) -> core.ConfigError:
    with pytest.raises(core.ConfigError) as caught:
        run.transfer(*arguments, **options)
    assert chinese(caught.value) != str(caught.value)
    return caught.value


def test_errors_name_the_option_and_the_reason():
    run = trained(first_run())
    assert "no word in common" in str(transfer_error(run, "brackets"))
    assert transfer_error(run, "dates").option == "family"
    assert transfer_error(run, "entities", head="qa").option == "head"
    assert transfer_error(run, "nothing").option == "task"
    assert transfer_error(run, "entities", 99).option == "step"
    assert transfer_error(run, None).option == "task"
    assert "Did you mean lr?" in str(transfer_error(run, "entities", lrr=1))
    error = transfer_error(run, "entities", foo=1)
    assert "a transfer has no such option" in str(error) and "迁移没有这个选项" in chinese(error)
    assert "does not fit the weights" in str(transfer_error(run, "entities", d_model=32))
    model = {**TINY, "max_len": 12}
    short = Run(
        make_recipe("gpt", "copy", model=model, task_options={"max_len": 4}, training={"steps": 1, "batch_size": 4})
    )
    error = transfer_error(trained(short), core.task("reverse", max_len=20))
    assert error.option == "max_len" and "has up to 42 tokens" in str(error)
    with pytest.raises(core.ConfigError):
        trained(first_run(seed=8)).derive(run.transfer("entities", **OPTIONS).recipe, 3)


def test_it_is_stored_like_any_run(tmp_path):
    parent, store = trained(first_run()), Store(tmp_path)
    whole, stopped = (parent.transfer("entities", **OPTIONS) for _ in range(2))
    with pytest.raises(StoreError, match="not in the store"):
        store.get(stopped.recipe, stopped.seed)
    store.save(parent)
    begun = store.get(stopped.recipe, stopped.seed)
    for _, _ in zip(range(5), begun.train(), strict=False):
        pass
    path = store.save(begun)
    store.delete(parent.key)
    resumed = trained(Store(tmp_path).load(path.stem))
    assert resumed.steps == trained(whole).steps and same_weights(resumed, whole)
    assert resumed.parent == parent.key and resumed.recipe == whole.recipe
    facts = Store(tmp_path).facts(path.stem)["recipe"]
    assert facts["body"] == {"parent": parent.key, "step": 6, "exact": True} and "origin" not in facts


def test_held_out_sentences_of_the_second_task_are_not_in_the_pretraining_text():
    """Those of its training are, so the texts do overlap."""
    news, entities = core.task("masked words", text="news"), core.task("entities")
    rng = torch.Generator().manual_seed(0)
    pretraining = set()
    for _ in range(20):
        batch = news.gather(500, rng, held_out=False)
        words = torch.where(batch.target > 0, batch.target, batch.source)
        pretraining |= {tuple(news.show(row)[1 : news.show(row).index("[SEP]")]) for row in words.tolist()}
    held_out = entities.gather(20_000, rng, held_out=True)
    trained_on = entities.gather(20_000, rng, held_out=False)
    sentences = [
        {tuple(entities.show([i for i in row if i])) for row in part.source.tolist()}
        for part in (held_out, trained_on)
    ]
    assert not pretraining & sentences[0] and len(pretraining & sentences[1]) > 20
