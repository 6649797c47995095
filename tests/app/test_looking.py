"""What is sent to the page is what the model computes."""

import numpy as np
import pytest
import torch

import core
from app import payload, shipped
from app.looking import EXACT_BYTES, compact, look, pooled_to
from app.problem import held_out, typed
from core import InputError
from core.training.optimisers import load_parameters


def test_payload_comes_back_as_it_went():
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([[1], [255]], np.uint8)}
    header, back = payload.unpack(payload.pack({"text": "中文 </script>"}, arrays))
    assert header == {"text": "中文 </script>"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype


@pytest.mark.parametrize("name", shipped.names())
def test_every_snapshot_shows_what_its_weights_compute(name):
    run = shipped.load(name).run
    problem = held_out(run, 2)
    header, arrays = payload.unpack(look(run, problem).pack())
    assert header["steps"] == [snapshot.step for snapshot in run.snapshots]
    for index in (0, len(run.snapshots) // 2, -1):
        load_parameters(run.model, run.snapshots[index].weights)
        with torch.no_grad(), core.capture(run.model.eval()) as tape:
            run.model(*problem.batch.inputs)
        for group in header["heads"]:
            for layer, point in enumerate(group["points"]):
                np.testing.assert_allclose(
                    arrays[f"{group['name']}.weights"][index, layer], tape[point][0], atol=1e-6
                )
        for cells in header["cells"]:
            for point in cells["points"]:
                sent = arrays[f"{cells['name']}.{point}"][index]
                np.testing.assert_allclose(sent, tape[f"{cells['name']}.{point}"][0], atol=1e-6)
    assert header["heads"] or header["cells"]
    for group in header["heads"]:
        rows, columns = (len(header["axes"][group[axis]]) for axis in ("queries", "keys"))
        assert arrays[f"{group['name']}.weights"].shape[-2:] == (rows, columns)


@pytest.mark.parametrize("name", shipped.names())
def test_a_held_out_problem_can_be_typed_again(name):
    run = shipped.load(name).run
    problem = held_out(run, 5)
    again = typed(run, problem.text)
    torch.testing.assert_close(again.batch.inputs[0], problem.batch.inputs[0])
    assert again.alignment == problem.alignment or run.recipe.family == "gpt"


@pytest.mark.parametrize("name", shipped.names())
def test_unreadable_inputs_are_refused_with_a_sentence_in_both_languages(name):
    run = shipped.load(name).run
    hostile = ["", "   ", "</script><img src=x onerror=alert(1)>", "🙂 🙂", "שלום עולם", "\0", "x" * 10_000]
    for text in hostile:
        with pytest.raises(InputError) as refused:
            typed(run, text)
        assert refused.value.text("en") and refused.value.text("zh")


def test_large_maps_travel_in_steps_of_one_255th_and_pooled():
    weights = torch.rand(1, 2, 2, 500, 500)
    assert weights.numel() * 4 > EXACT_BYTES
    assert np.abs(compact(weights) / 255 - weights.numpy()).max() <= 0.5 / 255 + 1e-6
    small, factor = pooled_to(weights, 128)
    assert factor == 4 and small.shape[-2:] == (125, 125)
    assert small[0, 1, 1, 3, 7] == weights[0, 1, 1, 12:16, 28:32].max()
