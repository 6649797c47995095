"""NumPy numbers are the same options, and the same runs, as Python's own."""

import numpy as np
import pytest
import torch

import core
from core.runs.recipes import make_recipe
from core.runs.run import key_of
from core.seeding import check_seed

PLAIN = {
    "model": {"n_layers": 1, "d_model": 16, "n_heads": 2, "dropout": 0.5, "tie_embeddings": False},
    "task_options": {"max_len": 6, "min_len": 4},
    "training": {"steps": 3, "lr": 0.25, "curriculum": True, "batch_size": 4},
}


def of_numpy(value):
    return {int: np.int64, float: np.float32, bool: np.bool_}[type(value)](value)


def test_the_same_run():
    theirs = {part: {name: of_numpy(value) for name, value in options.items()} for part, options in PLAIN.items()}
    ours, same = make_recipe("gpt", "copy", **PLAIN), make_recipe("gpt", "copy", **theirs)
    assert ours == same and key_of(ours, 0) == key_of(same, 0)
    for part in (same.model, same.task, same.training):
        assert {type(value) for value in part.to_dict().values()} <= {int, float, bool, str, type(None)}


def test_points_and_writing():
    options = {"schedule": "piecewise", "points": {np.int64(5): np.float64(1), np.int32(2): np.float32(0.5)}}
    assert core.Training.make(**options).points == ((2, 0.5), (5, 1.0))
    model, ids = core.build("gpt", vocab_size=12), torch.ones(1, 3, dtype=torch.long)
    written = core.generate(model, ids, max_new=np.int64(3), eos=np.int64(4), pad=np.int32(0))
    assert torch.equal(written, core.generate(model, ids, max_new=3, eos=4, pad=0))


@pytest.mark.parametrize("wrong", [{"n_layers": np.float64(2)}, {"n_layers": np.bool_(True)}, {"bias": np.int64(1)}])
def test_they_must_be_of_the_right_kind_too(wrong):
    with pytest.raises(core.ConfigError, match=next(iter(wrong))):
        core.build("gpt", **wrong)


def test_a_seed_is_a_whole_number():
    assert type(check_seed(np.int64(3))) is int and check_seed(3) == 3
    for wrong in (True, np.bool_(True), 1.0, 2**63, "3", None):
        with pytest.raises(core.ConfigError, match="seed"):
            check_seed(wrong)


def test_a_seed_of_numpys_gives_the_same_run_and_a_truth_value_is_none():
    recipe = core.recipe("lstm", "parity")
    assert core.Run(recipe, seed=np.int64(3)).key == core.Run(recipe, seed=3).key
    with pytest.raises(core.ConfigError, match="seed"):
        core.Run(recipe, seed=True)


def test_a_model_without_memory_is_refused_in_words():
    with pytest.raises((core.ConfigError, core.InputError), match="meta"):
        next(iter(core.train(core.build("lstm", vocab_size=4, device="meta"), core.task("parity"), steps=1)))
